import { SUBMISSION_MEMBERS } from '@signalbox/contract/submissions.ts'
import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAnswer } from './consent-answers.ts'
import { readCoded, readCodedText } from './consent-codes.ts'
import { findMeaning, normalizeName } from './consent-forms.ts'
import { readList } from './consent-lists.ts'
import type { CategoryMeanings } from './consent-names.ts'
import {
  addNecessaryLevel,
  isLegalBasis,
  omitPrototypeMember,
  readListedObject,
  selectCurrent,
  toItems,
  toStateMember,
  unflatten,
} from './consent-objects.ts'
import {
  addChoice,
  findMeaningAt,
  isOfAll,
  type Member,
  type Place,
  resolveSubject,
  type Subject,
  toInside,
  toMember,
  UNKNOWN_ITEM,
} from './consent-place.ts'
import type { ConsentStatements } from './consent-statement.ts'
import {
  addUnread,
  isSignalName,
  isTextPair,
  readChoiceNumber,
  readCodesInText,
  readMemberAnswer,
  readTextList,
  readWholeText,
} from './consent-texts.ts'
import { readTimeOfRefusal } from './consent-times.ts'
import { decodeCookieValue, parseCookieText } from './cookie-text.ts'

/** The objects of a submission that are read, and the members beside them. */
export interface ConsentObjects {
  consent?: unknown
  consent_mode?: unknown
  tcf?: unknown
}

/** What is deeper, or beyond the limit of members, is not read, and then nothing grants. */
const DEPTH_MAX = 8
const MEMBERS_MAX = 2_000

const NUMBER = /^\d+$/

const ROOT_KIND = { isVendorList: false, isItem: false }

const SOURCES = ['consent', 'tcf', 'consent_mode'] as const

/**
 * Reads everything that a submission says about consent, once. Names are read by the table of forms
 * and by their words, in objects, lists and cookie texts. Pure, and never throws.
 */
export function readConsent(
  inputs: ConsentObjects,
  categories: CategoryMeanings | null = null,
): ConsentStatements {
  const statements: ConsentStatements = {
    choices: [],
    tcStrings: [],
    tcPurposes: [],
    tcVendors: [],
    additionalConsents: [],
    gdprApplies: true,
    isOutsideGdpr: false,
    withOthers: new Set(),
  }
  const budget = { members: MEMBERS_MAX }
  const root = { depth: 0, parent: null, codes: null, ...ROOT_KIND, categories, budget }
  for (const source of SOURCES) {
    const object = inputs[source]
    if (isObject(object)) visitObject(statements, object, { ...root, source, path: source })
  }
  for (const name of Object.keys(inputs)) {
    if (!isPrivacyMember(name)) continue
    const place: Place = { ...root, source: 'consent', path: '' }
    visitValue(statements, place, toMember(place, inputs as UntrustedObject, name))
  }
  return statements
}

/**
 * Whether a member beside the three objects is read: Global Privacy Control and GPP strings, which
 * browsers and tag managers put anywhere.
 */
export function isPrivacyMember(name: string): boolean {
  if (SUBMISSION_MEMBERS.has(name)) return false
  const { subject, coded } = findMeaning(name)
  return subject === 'gpc' || coded === 'gpp'
}

/** `purposes.5` and `consents[0].granted` of flattened objects. */
const NUMBERED_NAME = /[.[]\d{1,5}(?:$|[\].])/

function visitObject(statements: ConsentStatements, given: UntrustedObject, place: Place): void {
  // No consent platform uses this name. A notice says that the member does not count.
  const own = Object.hasOwn(given, '__proto__') ? omitPrototypeMember(given) : given
  const isFlattened = Object.keys(own).some(name => NUMBERED_NAME.test(name))
  const object = isFlattened ? unflatten(own, NUMBERED_NAME) : own
  const names = Object.keys(object)
  // Decoded TC objects have a thousand vendors by their numbers, which cost nothing.
  place.budget.members -= names.filter(name => !NUMBER.test(name)).length
  if (place.depth > DEPTH_MAX || place.budget.members < 0) {
    addUnread(statements, place)
    return
  }
  if (isTcVendors(place, names)) statements.tcVendors.push({ field: place.path, consents: object })
  const named = findNamedItem(object, names, place)
  const inside = named === null ? place : { ...place, parent: named.subject }
  const isUpdated = names.some(name => name === 'update' || name === 'updated')
  for (const name of names) {
    // Consent Mode: the choice of the person replaces the default of the page.
    if (isUpdated && (name === 'default' || name === 'defaults')) continue
    if (name === named?.member) statements.withOthers.add(place.source)
    else visitValue(statements, inside, toStateMember(inside, toMember(inside, object, name)))
  }
  readStoredItem(statements, place, object)
  addNecessaryLevel(statements, place, object)
  if (place.depth > 0) readListedObject(statements, place, object)
}

/** `tcf.vendor.consents`, which a platform reads by its own number. */
function isTcVendors({ source, path }: Place, names: readonly string[]): boolean {
  const isOfVendors = source === 'tcf' && /vendor/i.test(path) && !/legitimate/i.test(path)
  return isOfVendors && names.some(name => NUMBER.test(name))
}

/** `{name: "notice_preferences", value: "0:"}` is a cookie, or an item of a storage. */
function readStoredItem(
  statements: ConsentStatements,
  place: Place,
  { name, value }: UntrustedObject,
): void {
  if (typeof name !== 'string' || typeof value !== 'string') return
  const { codes, coded } = findMeaning(name)
  if (codes === null && coded === null) return
  visitValue(statements, place, toMember(place, { [name]: value }, name))
}

/** Members by which an item says what it is, as in `{purpose: "advertising", granted: false}`. */
const NAMING_MEMBER = new RegExp(
  '^(_?id|k|name|key|type|label|title|slug|code|group)$|' +
    '(purpose|category|vendor|service|provider|processor|dps)' +
    '([-_ ]?(id|name|key|type|code|slug))?$|' +
    '(group|consent|cookie|template)[-_ ]?(?:type[-_ ]?)?(id|name|key|type|code)$',
  'i',
)

/** Of an item of a list: `gtm_key`. */
const ITEM_NAME = /[-_a-z](?:[-_](?:name|key|slug|label)|Name|Key|Slug|Label)$/

interface NamedItem {
  /** The member with the name. */
  member: string
  subject: Subject
}

function findNamedItem(object: UntrustedObject, names: string[], place: Place): NamedItem | null {
  for (const name of names) {
    if (!NAMING_MEMBER.test(name) && !(place.isItem && ITEM_NAME.test(name))) continue
    // `{purpose: {name: "advertising"}, choice: "reject"}`
    const value = isObject(object[name]) ? object[name].name : object[name]
    if (typeof value !== 'string') continue
    const codes = findMeaning(name).codes
    const meaning = codes?.get(normalizeName(value)) ?? findMeaningAt(place, value)
    if (meaning.subject === null || meaning.subject === 'everything') continue
    return { member: name, subject: resolveSubject(meaning, place.parent) }
  }
  return null
}

/** Reads a value under a name, also one that a text or a list holds. */
function visitValue(statements: ConsentStatements, place: Place, member: Member): void {
  const { value, meaning } = member
  if (readCoded(statements, place, member)) return
  if (readTimeOfRefusal(statements, place, member)) return
  if (typeof value === 'string') visitText(statements, place, member)
  else if (typeof value === 'number' && meaning.codes !== null) {
    readTextList(statements, place, { ...member, value: String(value) })
  } else if (Array.isArray(value)) visitList(statements, place, { ...member, value })
  else if (isObject(value)) {
    const items = toItems(value)
    if (items !== null) visitList(statements, place, { ...member, value: items })
    else if (!isSkipped(member)) visitObject(statements, value, toInside(place, member))
    statements.withOthers.add(place.source)
  } else if (meaning.isLabel) statements.withOthers.add(place.source)
  else if (!readChoiceNumber(statements, place, member))
    addChoice(statements, place, { ...member, answer: readMemberAnswer(place, member) })
}

/** Objects that describe the purposes and do not answer for them. */
const DESCRIPTIONS = new RegExp(
  '(legitimate_?interests?|texts?|labels?|translations?|urls?|links?|required|shown|versions?|' +
    'implied_?consent|publisher|special_?feature_?opt_?ins|vendor_?list|consent_?map|hosts)$|' +
    '^(?:previous|former|old)(?![a-z])',
  'i',
)

function isSkipped({ name, meaning, value }: Member): boolean {
  return meaning.isLabel && (DESCRIPTIONS.test(name) || isLegalBasis(name, value))
}

function visitList(
  statements: ConsentStatements,
  place: Place,
  member: Member & { value: unknown[] },
): void {
  if (isSkipped(member)) return
  place.budget.members -= member.value.length
  if (place.budget.members < 0) {
    addUnread(statements, place)
    return
  }
  if (!member.meaning.isLabel) readList(statements, place, member)
  const inside = toInside(place, member)
  for (const item of selectCurrent(member)) {
    if (isObject(item)) {
      visitObject(statements, item, { ...toItemPlace(inside, item), isItem: true })
    } else if (isSignalName(item)) visitText(statements, place, { ...member, value: item })
    else if (isTextPair(item)) visitText(statements, inside, { ...member, value: item })
    else if (typeof item === 'string') readCodedText(statements, place, { ...member, value: item })
    else if (isPair(item)) {
      // Adjust: `[["ad_user_data", "0"]]`.
      visitValue(statements, inside, toMember(inside, { [item[0]]: item[1] }, item[0]))
    } else if (Array.isArray(item)) {
      visitList(statements, place, { ...member, value: item, field: member.field })
    }
  }
}

/**
 * The answers of an item whose name is not known are about something unknown; an item without a
 * name is a record of the whole: `records: [{status: "rejected"}]`.
 */
function toItemPlace(inside: Place, item: UntrustedObject): Place {
  const { parent } = inside
  const isOfPart = parent !== null && !isOfAll(parent) && parent.subject !== 'tcf_1'
  const isRecord = parent?.subject !== 'tcf_1' && !inside.isVendorList && !hasName(item)
  return isOfPart || isRecord ? inside : { ...inside, parent: UNKNOWN_ITEM }
}

function hasName(item: UntrustedObject): boolean {
  return Object.entries(item).some(([name, value]) => {
    const isText = typeof value === 'string'
    const isAnswer = isText && (readAnswer(value).answer !== 'unclear' || MANNER.test(value))
    return NAMING_MEMBER.test(name) && value !== null && !isAnswer
  })
}

/** How an answer was given, as in `{action: "onDenyAllServices", type: "explicit"}`. */
const MANNER = /^(?:explicit|implicit|implied|asserted)$/i

function isPair(item: unknown): item is [string, unknown] {
  if (!Array.isArray(item) || item.length !== 2 || typeof item[0] !== 'string') return false
  const isAnswer = ['yes', 'no'].includes(readAnswer(item[1]).answer)
  return isAnswer && findMeaning(item[0]).subject !== null && item[0] !== 'consent'
}

/** TrustArc's `1:cb8350a2759273dccf1e483791e6f8fd` and `0::implied,eu`. */
const LEVELS = /^\d(?:[,|]\d)*:(?:[\da-f]{16,}|:.*)$/i

function visitText(statements: ConsentStatements, place: Place, member: Member): void {
  const { meaning } = member
  const raw = member.value as string
  const text = decodeCookieValue(raw)
  const decoded = { ...member, value: text }
  const answer = readMemberAnswer(place, decoded)
  // "1" is an answer, or the number of a category.
  const isCode = meaning.subject === null && meaning.codes?.has(text) === true
  const isAnswer = !meaning.isLabel && !isCode && answer.answer !== 'unclear'
  // No other text is a "yes".
  const isYes = isAnswer && answer.answer === 'yes'
  if (!isYes && readWholeText(statements, place, { ...decoded, answer })) return
  if (isAnswer) {
    addChoice(statements, place, { ...member, answer })
    return
  }
  // A text such as "0,1,2:" lists codes, and Didomi's `c:meta-x,google` the names of vendors.
  const isCodeList =
    (meaning.codes !== null && (!/[:=]\s*["'\w[{]/.test(text) || LEVELS.test(text))) ||
    (meaning.hasVendors && /(?:^|,)c:/.test(text))
  const parsed = isCodeList ? null : parseCookieText(raw)
  if (parsed !== null) visitValue(statements, place, { ...member, value: parsed })
  else if (readCodesInText(statements, place, decoded)) return
  else if (meaning.isLabel) statements.withOthers.add(place.source)
  else if (!readTextList(statements, place, decoded)) {
    addChoice(statements, place, { ...member, answer })
  }
}
