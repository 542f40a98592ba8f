import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAnswer } from './consent-answers.ts'
import type { CodedForm } from './consent-names.ts'
import type { Member, Place } from './consent-place.ts'
import type {
  ConsentMeaning,
  ConsentStatement,
  ConsentStatements,
  ConsentSubject,
} from './consent-statement.ts'
import { decodeGppString } from './gpp-string.ts'

/** What a code says. */
export type Said = Pick<ConsentStatement, 'subject' | 'meaning'> &
  Partial<Pick<ConsentStatement, 'why' | 'isForm'>>

/** Records what a code says. */
export function addCode(
  { choices }: ConsentStatements,
  { source }: Place,
  { field, said }: { field: string; said: Said },
): true {
  choices.push({ vendor: null, isForm: true, why: 'words_denied', ...said, source, field })
  return true
}

/** A GPP string, or an object that has it beside its decoded sections. */
export function readGpp(statements: ConsentStatements, place: Place, member: Member): boolean {
  const { value, field } = member
  if (!isObject(value)) {
    addGppString(statements, place, { field, text: value })
    return true
  }
  if (typeof value.string === 'string') {
    addGppString(statements, place, { field: `${field}.string`, text: value.string })
  }
  return false
}

interface NamedText {
  field: string
  text: unknown
}

export function addGppString(
  statements: ConsentStatements,
  place: Place,
  { field, text }: NamedText,
): void {
  const decoded = typeof text === 'string' && text !== '' ? decodeGppString(text) : null
  const why = 'gpp_opt_out'
  if (decoded === null) {
    const meaning = text === null || text === undefined || text === '' ? 'unset' : 'unclear'
    addCode(statements, place, { field, said: { subject: 'sale', meaning, why } })
    return
  }
  const { usOptOut, tcString, canadaPurposes, hasUnreadSection } = decoded
  if (tcString !== null) statements.tcStrings.push({ field, text: tcString })
  if (canadaPurposes !== null)
    statements.tcPurposes.push({ field, ...canadaPurposes, isBlank: false })
  const isRead = tcString !== null || canadaPurposes !== null
  const meaning = usOptOut === 'refused' || !hasUnreadSection ? US_MEANINGS[usOptOut] : 'unclear'
  if (meaning !== 'unset' || !isRead) {
    addCode(statements, place, { field, said: { subject: 'sale', meaning, why } })
  }
}

const US_MEANINGS = { refused: 'refused', allowed: 'permitted', absent: 'unset' } as const

/** The purposes of a TC object: `purpose.consents`, or a list or an object of their numbers. */
export function isPurposeConsents({ path, source }: Place, name: string, value: unknown): boolean {
  const isInPurpose = /(^|\.)purposes?$/i.test(path) && /^consents?$/i.test(name)
  // The TCF leaves out a purpose without consent, so an empty map refuses all of them.
  if (isInPurpose && isEmptyObject(value)) return !/s$/i.test(path) || source === 'tcf'
  if (isInPurpose && typeof value === 'string') return PURPOSE_BITS.test(value)
  const isTcfPurposes = (source === 'tcf' || TCF_PATH.test(path)) && /^purposes?$/i.test(name)
  if (isTcfPurposes && isListOfItems(value)) return true
  if (!hasNumbers(value)) return false
  if (isInPurpose || isTcfPurposes) return true
  const isList = Array.isArray(value) || hasTcfNumbers(value as UntrustedObject)
  return /^purposes$/i.test(name) && isList
}

const TCF_PATH = /(?:^|\.)(?:tcf\w*|tc_?data|iab_?tcf\w*)$/i

/** `[{id: 1, consent: true}]`, as Usercentrics and others have the purposes. */
function isListOfItems(value: unknown): value is UntrustedObject[] {
  const isItem = (item: unknown) =>
    isObject(item) && isPurposeId(item.id) && Object.hasOwn(item, 'consent')
  return Array.isArray(value) && value.length > 0 && value.every(isItem)
}

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0
}

/** Objects are not converted to text: one of them may have its own idea of `toString`. */
export function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

function isPurposeId(value: unknown): boolean {
  return isScalar(value) && /^\d{1,2}$/.test(`${value}`)
}

function hasNumbers(value: unknown): boolean {
  const keys = Array.isArray(value) ? value : isObject(value) ? Object.keys(value) : []
  return keys.some(isPurposeId)
}

/** iubenda numbers its own purposes, from 1 to 5; without a fifth one, they are of the TCF. */
function hasTcfNumbers(value: UntrustedObject): boolean {
  return Object.keys(value).some(key => Number(key) > 5) || !Object.hasOwn(value, '5')
}

/** IDs in an object, a list or a text, or the bits of the mobile key `IABTCF_PurposeConsents`. */
export function readTcfPurposes(
  statements: ConsentStatements,
  { field, value, owner, name }: Member,
): boolean {
  const consented = listConsented(name, value)
  if (consented === null) return false
  const implied = /express/i.test(name) ? listConsented(name, owner.PurposesImpliedConsent) : null
  statements.tcPurposes.push({
    field,
    consented: new Set(consented),
    implied: new Set(implied ?? []),
    isBlank: isEmptyObject(value),
  })
  return true
}

/** A bit for each purpose, as mobile SDKs have them. */
export const PURPOSE_BITS = /^[01]{4,24}$/

const NUMBER_LIST = /^[\s,|]*\d{1,2}(?:[\s,|]+\d{1,2})*[\s,|]*$/

function listConsented(name: string, value: unknown): number[] | null {
  if (typeof value === 'string' && /[,|]/.test(value) && NUMBER_LIST.test(value)) {
    return value.match(/\d+/g)?.map(Number) ?? []
  }
  // `NONE`, as Sourcepoint says of all purposes.
  if (typeof value === 'string' && readAnswer(value).answer === 'no') return []
  // The key of a mobile app has a bit for each purpose up to the last one that is consented.
  const bits = /iabtcf/i.test(name) ? /^[01]{1,24}$/ : PURPOSE_BITS
  if (typeof value === 'string' && bits.test(value)) {
    return [...value].flatMap((bit, index) => (bit === '1' ? [index + 1] : []))
  }
  if (isListOfBooleans(value)) {
    return value.flatMap((consent, index) => (consent ? [index + 1] : []))
  }
  if (Array.isArray(value) && value.length === 0) return []
  if (isListOfItems(value)) {
    const consents = value.filter(({ consent }) => readAnswer(consent).answer === 'yes')
    return consents.map(({ id }) => Number(id))
  }
  if (isEmptyObject(value)) return []
  if (!hasNumbers(value)) return null
  if (Array.isArray(value)) return value.filter(isPurposeId).map(Number)
  return Object.entries(value as UntrustedObject)
    .filter(([, consent]) => readAnswer(consent).answer === 'yes')
    .map(([purpose]) => Number(purpose))
}

function isListOfBooleans(value: unknown): value is boolean[] {
  return Array.isArray(value) && value.length > 3 && value.every(item => typeof item === 'boolean')
}

const ATT_MEANINGS: Readonly<Record<string, ConsentMeaning>> = {
  1: 'refused',
  2: 'refused',
  3: 'granted',
}
/** Zero is the number of "not determined", and in `att: 0` a no. */
const ATT_NUMBER = /(?:atts|status|state)$/i
const GPP_MEANINGS: Readonly<Record<string, ConsentMeaning>> = {
  0: 'unset',
  1: 'refused',
  2: 'permitted',
}

/** `ConsentModePurposeStatusEnum` of Google's Privacy and messaging API. */
const STATUS_MEANINGS: Readonly<Record<string, ConsentMeaning>> = {
  0: 'unset',
  1: 'granted',
  2: 'refused',
  3: 'unset',
  4: 'unset',
}
const NUMBER_MEANINGS: Partial<Record<CodedForm, Readonly<Record<string, ConsentMeaning>>>> = {
  att: ATT_MEANINGS,
  gpp_opt_out: GPP_MEANINGS,
  purpose_status: STATUS_MEANINGS,
}

function findSignal(name: string): ConsentSubject {
  if (/storage/i.test(name)) return 'ad_storage'
  return /user_?data/i.test(name) ? 'ad_user_data' : 'ad_personalization'
}

/**
 * Numbers of Apple's authorization status, and of the opt-outs in a decoded GPP section. Other
 * answers are read like those of any other name.
 */
export function readNumber(
  statements: ConsentStatements,
  place: Place,
  member: Member & { coded: CodedForm },
): boolean {
  const { coded, field, value } = member
  if (!isScalar(value)) return false
  const isNotAsked = coded === 'att' && value === 0 && ATT_NUMBER.test(member.name)
  const meaning = isNotAsked ? 'unset' : NUMBER_MEANINGS[coded]?.[value]
  if (meaning === undefined) return false
  if (coded === 'purpose_status') {
    return addCode(statements, place, {
      field,
      said: { subject: findSignal(member.name), meaning },
    })
  }
  const said: Said =
    coded === 'att'
      ? { subject: 'advertising', meaning }
      : { subject: 'sale', meaning, why: 'gpp_opt_out' }
  return addCode(statements, place, { field, said })
}
