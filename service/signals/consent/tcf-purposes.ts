import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAnswer } from './consent-answers.ts'
import type { Member, Place } from './consent-place.ts'
import type { ConsentStatements } from './consent-statement.ts'
import { splitWords } from './consent-words.ts'
import { addCode, isScalar, type Said } from './iab-codes.ts'

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

const PURPOSES_WORD = /^purposes?$/
const TCF_WORD = /^(?:tcf(?:eu)?v?\d?|tc|iab|iabtcf\d?|iabeurope)$/
/** These are in a name of its purposes; any other word makes it the name of something else. */
const PURPOSES_NAME_WORD = new RegExp(
  '^(?:purposes?|tcf(?:eu)?v?\\d?|tc|iab|iabtcf\\d?|iabeurope|bits?|bitfield|bitmask|bitstring|' +
    'gdpr|eu|v\\d?|cmp|user|users|my|with|by|ids?|list|' +
    'numbers?|string|is|are|to|for|has|status|state|all|data|ad|ads|advertising|' +
    'consent(?:s|ed|ing)?|grant(?:s|ed)?|given|allow(?:s|ed)?|accept(?:s|ed)?|approved|agreed|' +
    'permitted|enabled|selected|active|opt(?:ed)?in|authori[sz]ed)$',
)
const ANSWER_NAME = /^(?:consent(?:s|ed)?|grant(?:s|ed)|accepted|allowed|denied|refused|rejected)$/i
const REFUSED_PURPOSES_WORD = new RegExp(
  '^(?:den(?:y|ied)|refused?|reject(?:s|ed)?|declined|disabled|disallowed|revoked|withdrawn|' +
    'opt(?:ed)?out)$',
)

/** What a name such as `tcfPurposesGranted` or `purposes_denied` lists by numbers; or null. */
export interface NumberedPurposes {
  isRefused: boolean
  /** Whether the purposes are certainly those of the TCF. Otherwise they may be of your own. */
  isOfTcf: boolean
}

/**
 * The purposes that a name lists by its words. `tcf`, in the name or around it, says whose purposes
 * they are; without it the name must say what they are for (`acceptedPurposes`).
 */
export function findNumberedPurposes(
  { path, source }: Place,
  { name, value }: Member,
): NumberedPurposes | null {
  if (listIds(value) === null) return null
  // `userPurposes: {granted: "1,2"}` and `tcf: {granted: [1, 2]}`
  const owner = path.split('.').at(-1) ?? ''
  const isInside = ANSWER_NAME.test(name) && (/purposes?$/i.test(owner) || TCF_PATH.test(path))
  const spaced = name.replace(/(\d)(?=purpose)/i, '$1 ')
  const words = splitWords(isInside ? `${owner} ${name}` : spaced)
  const isOfPurposes = words.some(word => PURPOSES_WORD.test(word))
  // `tcfGranted: [1, 2, 7]`
  const isShort =
    words.length === 2 && TCF_WORD.test(`${words[0]}`) && ANSWER_NAME.test(`${words[1]}`)
  if (!isOfPurposes && !isInside && !isShort) return null
  const refused = words.filter(word => REFUSED_PURPOSES_WORD.test(word))
  const others = words.filter(word => !REFUSED_PURPOSES_WORD.test(word))
  if (!others.every(word => PURPOSES_NAME_WORD.test(word))) return null
  const isNamed = words.some(word => TCF_WORD.test(word)) || PURPOSE_BITS.test(String(value))
  const isOfTcf = isOfPurposes && (isNamed || source === 'tcf' || TCF_IN_PATH.test(path))
  if (!isOfTcf && (words.length < 2 || isNumberedObject(value))) return null
  return { isRefused: refused.length % 2 === 1, isOfTcf }
}

const TCF_IN_PATH = /(?:^|\.)(?:tcf\w*|tc_?data|iab_?tcf\w*)(?:\.|$)/i

/**
 * Purposes by their numbers: a list, a text such as `1`, `1,3,7` and `1|7`, bits, or an answer for
 * each number, `{1: true, 4: false}` and `[{id: 1, granted: true}]`. Null for anything else.
 */
function listIds(value: unknown): number[] | null {
  if (isNumberedObject(value)) {
    return Object.keys(value)
      .filter(key => isYes(value[key]))
      .map(Number)
  }
  if (Array.isArray(value)) {
    if (value.length > 0 && value.every(isPurposeId)) return value.map(Number)
    return isListOfItems(value) ? value.filter(readItem).map(({ id }) => Number(id)) : null
  }
  const text = isScalar(value) ? `${value}` : ''
  if (PURPOSE_BITS.test(text)) return readBits(text)
  return NUMBER_LIST.test(text) ? (text.match(/\d+/g) ?? []).map(Number) : null
}

function isNumberedObject(value: unknown): value is UntrustedObject {
  if (!isObject(value)) return false
  const keys = Object.keys(value)
  const isAnswered = (key: string) => ['yes', 'no'].includes(readAnswer(value[key]).answer)
  return keys.length > 0 && keys.every(key => isPurposeId(key) && isAnswered(key))
}

function isYes(value: unknown): boolean {
  return readAnswer(value).answer === 'yes'
}

/**
 * Records purposes by their numbers. A refused one is refused by itself. Of accepted purposes that
 * may be your own, only those count that leave out both purposes of personalized ads, 3 and 4.
 */
export function addNumberedPurposes(
  statements: ConsentStatements,
  place: Place,
  { member, found }: { member: Member; found: NumberedPurposes },
): void {
  const { field, value } = member
  const { isRefused, isOfTcf } = found
  const ids = listIds(value) ?? []
  statements.withOthers.add(place.source)
  if (isRefused) {
    for (const id of ids) {
      const said: Said = { subject: `tcf_${id}`, meaning: 'refused', isForm: isOfTcf }
      addCode(statements, place, { field, said })
    }
  } else if (isOfTcf) {
    statements.tcPurposes.push({
      field,
      consented: new Set(ids),
      implied: new Set(),
      isBlank: false,
    })
  } else if (!ids.includes(3) && !ids.includes(4) && ids.every(id => id <= PURPOSE_ID_MAX)) {
    const said: Said = { subject: 'advertising', meaning: 'refused', isForm: false }
    addCode(statements, place, { field, said })
  }
}

/** The last purpose of the TCF. */
const PURPOSE_ID_MAX = 11

/** `[{id: 1, consent: true}]`, as Usercentrics and others have the purposes. */
function isListOfItems(value: unknown): value is UntrustedObject[] {
  return Array.isArray(value) && value.length > 0 && value.every(item => readItem(item) !== null)
}

/** The answer of a purpose by its number; null where it has none. */
function readItem(item: unknown): boolean | null {
  if (!isObject(item) || !isPurposeId(item.id)) return null
  const { id: _id, ...members } = item
  const answers = Object.values(members).map(member => readAnswer(member).answer)
  if (answers.includes('no')) return false
  return answers.includes('yes') ? true : null
}

function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0
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

const NUMBER_LIST = /^[\s,;|[]*\d{1,2}(?:[\s,;|-]+\d{1,2})*[\s,;|\]]*$/

function readBits(bits: string): number[] {
  return [...bits].flatMap((bit, index) => (bit === '1' ? [index + 1] : []))
}

function listConsented(name: string, value: unknown): number[] | null {
  // "1" under a name in the plural is a list of one; in the singular it may be a yes.
  const isList = typeof value === 'string' && NUMBER_LIST.test(value)
  if (isList && (/[,;|-]/.test(value) || /purposes/i.test(name))) {
    return value.match(/\d+/g)?.map(Number) ?? []
  }
  // `NONE`, as Sourcepoint says of all purposes.
  if (typeof value === 'string' && readAnswer(value).answer === 'no') return []
  // The key of a mobile app has a bit for each purpose up to the last one that is consented.
  const bits = /iabtcf/i.test(name) ? /^[01]{1,24}$/ : PURPOSE_BITS
  if (typeof value === 'string' && bits.test(value)) return readBits(value)
  if (isListOfBooleans(value)) {
    return value.flatMap((consent, index) => (consent ? [index + 1] : []))
  }
  if (Array.isArray(value) && value.length === 0) return []
  if (isListOfItems(value)) return value.filter(readItem).map(({ id }) => Number(id))
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
