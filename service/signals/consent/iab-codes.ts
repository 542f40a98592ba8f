import { isObject } from '../../runtime/util/is-object.ts'
import type { CodedForm } from './consent-names.ts'
import type { Member, Place } from './consent-place.ts'
import type {
  ConsentMeaning,
  ConsentStatement,
  ConsentStatements,
  ConsentSubject,
} from './consent-statement.ts'
import { decodeGppSection, decodeGppString } from './gpp-string.ts'

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
  const decoded = decodeText(field, text)
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

/** A mobile SDK has each section under its number, `IABGPP_7_String`, also without the header. */
const SECTION_FIELD = /(?:^|\.)iabgpp[-_]?(\d{1,2})[-_]?string$/i

function decodeText(field: string, text: unknown) {
  if (typeof text !== 'string' || text === '') return null
  const id = SECTION_FIELD.exec(field)?.[1]
  return id === undefined || text.startsWith('D')
    ? decodeGppString(text)
    : decodeGppSection(Number(id), text)
}

const US_MEANINGS = { refused: 'refused', allowed: 'permitted', absent: 'unset' } as const

/** Objects are not converted to text: one of them may have its own idea of `toString`. */
export function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
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
