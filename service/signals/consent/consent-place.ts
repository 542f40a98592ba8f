import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { type AnswerText, readAnswer, readOptOut } from './consent-answers.ts'
import { findMeaning, normalizeName } from './consent-forms.ts'
import type { CategoryMeanings, NameMeaning } from './consent-names.ts'
import type {
  ConsentMeaning,
  ConsentSource,
  ConsentStatement,
  ConsentStatements,
} from './consent-statement.ts'

/** Where a member is, and what is known from the members around it. */
export interface Place {
  source: ConsentSource
  /** Dotted path of the object; empty for members of the submission itself. */
  path: string
  depth: number
  parent: Subject | null
  codes: ReadonlyMap<string, NameMeaning> | null
  isVendorList: boolean
  /** Whether the object is an item of a list. */
  isItem: boolean
  categories: CategoryMeanings | null
  /** How many members may still be read. Shared by all places of a submission. */
  budget: { members: number }
}

export interface Member {
  name: string
  value: unknown
  meaning: NameMeaning
  field: string
  owner: UntrustedObject
}

type NamePlace = Pick<Place, 'categories' | 'codes' | 'isVendorList'>

/** The meaning of a name by the tracker's categories, by codes, by the table, or by its words. */
export function findMeaningAt(place: NamePlace, name: string): NameMeaning {
  const { categories, codes, isVendorList } = place
  if (categories === null && codes === null) return findNamed(name, isVendorList)
  const normalized = normalizeName(name)
  const known = categories?.get(normalized) ?? codes?.get(normalized)
  return known ?? findNamed(name, isVendorList)
}

/** Among vendors, `meta` is the platform, also beside a word that is not known. */
function findNamed(name: string, isVendorList: boolean): NameMeaning {
  const meaning = findMeaning(name)
  if (!isVendorList || meaning.subject !== null || !META_WORD.test(name)) return meaning
  return { ...findMeaning('meta'), isForm: false, isPlain: false }
}

const META_WORD = /(^|[^a-z])meta($|[^a-z])/i

export function toMember(place: Place, owner: UntrustedObject, name: string): Member {
  const meaning = findMeaningAt(place, name)
  return { name, value: owner[name], meaning, field: toField(place.path, name, meaning), owner }
}

/** Names that may hold identifiers are left out of the path. */
function toField(path: string, name: string, { isPlain }: NameMeaning): string {
  const isSafe = (isPlain && (WORDS.test(name) || LETTERS.test(name))) || SAFE_NAME.test(name)
  const safe = isSafe ? name : '*'
  return path === '' ? safe : `${path}.${safe}`
}

/** Known words without digits, `@` and the like are no identifier. Most are of the first form. */
const WORDS = /^[a-z]+(?:_[a-z]+)*$/
const LETTERS = /^[\p{L}_$][\p{L}\s_$:.&()-]*$/u
const SAFE_NAME = /^\d{1,3}$|^(?=(?:\D*\d){0,6}\D*$)(?!.*[0-9a-f]{16})[A-Za-z_$][\w$-]{0,63}$/

/** The place of the members of a value. */
export function toInside(place: Place, member: Member): Place {
  const { field, meaning } = member
  return {
    ...place,
    path: field,
    depth: place.depth + 1,
    parent: findInnerParent(place, member),
    codes: findCodes(place, member),
    isVendorList: meaning.hasVendors,
    isItem: false,
  }
}

/** IDs of vendors and categories: digits, or hexadecimal digits. */
const OPAQUE_NAME = /^\d+$|^[0-9a-f-]*\d[0-9a-f-]{5,}$/i

function findInnerParent(place: Place, member: Member): Subject | null {
  const { meaning, name } = member
  const { subject } = meaning
  if (PREFERENCES.test(name) && isOfPerson(member)) return place.parent
  if (subject !== null && (subject !== 'everything' || meaning.isNegative)) {
    return resolveSubject(meaning, place.parent)
  }
  const isUnknown = !meaning.isSwitch && subject === null
  // `consent: {value: false}`; but in `consents: {chat: {value: false}}` it is about "chat".
  if (isOfAll(place.parent)) return isUnknown ? null : place.parent
  if (subject === 'everything' && place.parent === null) return toSubject(meaning)
  if (isUnknown && (place.isVendorList || OPAQUE_NAME.test(name))) return UNKNOWN_ITEM
  return place.parent
}

/**
 * `iub.preferences` are choices; beside `statistics` they are a category of cookies. Those of a
 * person are none, and may be a text: `cookie_preferences: "rejected"`.
 */
const PREFERENCES = /^(?:(?:user|privacy|consent|cookies?)[-_ ]?)*preferences?$/i
export const OWN_PREFERENCES = /(?:user|privacy|consent|cookies?)[-_ ]?preferences?$/i

function isOfPerson({ name, owner, value }: Member): boolean {
  if (OWN_PREFERENCES.test(name) && isObject(value)) return true
  const subjects = Object.keys(owner).map(other => other !== name && findMeaning(other).subject)
  return !subjects.some(subject => subject === 'other' || subject === 'advertising')
}

/** Consent as a whole, of which unknown members and the items of lists are a part. */
export function isOfAll(parent: Subject | null): boolean {
  return parent !== null && parent.subject === 'everything' && !parent.isNegative
}

/** Codes reach the objects inside, as in `hu-consent: {categories: {4: true}}`. */
function findCodes(place: Place, { name, value, meaning }: Member): Place['codes'] {
  if (meaning.codes !== null) return meaning.codes
  // iubenda numbers its purposes from 1 to 5; the TCF has more.
  const numbers = /purposes$/i.test(name) && isObject(value) ? Object.keys(value) : []
  if (numbers.includes('5') && numbers.every(key => /^[1-5]$/.test(key))) {
    return findMeaning('iubenda-purposes').codes
  }
  const { subject } = meaning
  return subject === null || subject === 'everything' ? place.codes : null
}

/** Records an answer to a member. */
export function addChoice(
  statements: ConsentStatements,
  place: Place,
  { meaning, field, owner, answer }: Omit<Member, 'name' | 'value'> & { answer: AnswerText },
): void {
  const { source, parent } = place
  const subject = findAnswered(meaning, parent, answer)
  const choice = subject && toChoice(subject, answer, findScope(meaning, owner))
  if (!choice) {
    statements.withOthers.add(source)
    return
  }
  const statement: ConsentStatement = { ...choice, source, field }
  if (choice.subject === 'gpc') statement.gpcCapturedAt = owner.gpc_captured_at
  statements.choices.push(statement)
}

/**
 * The subject that an answer is about. A name without one (`event`, `cookiebot`) is about consent
 * as a whole if the answer refuses in words (`rejected`); any name, if it refuses all.
 */
function findAnswered(
  meaning: NameMeaning,
  parent: Subject | null,
  answer: AnswerText,
): Subject | null {
  const subject = resolveSubject(meaning, parent)
  if (subject.subject === 'tcf_1' && answer.isAboutAll) return { ...subject, ...ALL_COOKIES }
  if (subject.subject !== null) return subject
  const isSaid =
    meaning.isSwitch || meaning.isPlain || meaning.isConsent
      ? answer.isRefusal || answer.isAboutAll
      : isRefusalOfAll(answer) ||
        ((meaning.mayAnswer || answer.isAboutConsent) && isSpokenRefusal(answer))
  if (isSaid) return { ...toSubject(meaning), subject: 'everything', isForm: false }
  // `{label: "Targeting", transaction: "OPTED_OUT"}`
  const isAboutAds = parent !== null && parent.subject !== null && !isOfAll(parent)
  const isRefused = isAboutAds && parent.subject !== 'other' && !parent.isNegative
  return isRefused && isSpokenRefusal(answer) ? parent : null
}

/** `cookies` is Didomi's name of purpose 1; in `cookies: "accept_all"` it is everything. */
const ALL_COOKIES = { subject: 'everything', canGrant: true } as const

/** "Rejected", which is more than "no" and 0, in a name of which not every word is known. */
const isSpokenRefusal = ({ answer, isRefusal }: AnswerText) => answer === 'no' && isRefusal

/** `rejectedAll` refuses, whatever the name of the member. */
export function isRefusalOfAll({ answer, isAboutAll, isRefusal }: AnswerText): boolean {
  return answer === 'no' && isAboutAll && isRefusal
}

/** Records what a subject says that is not an answer, such as an item of a list. */
export function addSubject(
  { choices }: ConsentStatements,
  { source }: Place,
  said: Pick<ConsentStatement, 'field' | 'meaning' | 'refusedAt'> & { subject: Subject },
): void {
  const { subject: about, ...statement } = said
  const { subject, vendor, isForm } = about
  if (subject === null) return
  choices.push({ source, subject, vendor, isForm, why: 'words_denied', ...statement })
}

/** What the members around a member are about, for answers that name no subject (`enabled`). */
export interface Subject
  extends Pick<NameMeaning, 'subject' | 'vendor' | 'isNegative' | 'isForm' | 'canGrant'> {
  isChannel: boolean
}

/** An item of which nothing is known, such as a vendor or a category by its ID. */
export const UNKNOWN_ITEM: Subject = {
  subject: 'other',
  vendor: null,
  isNegative: false,
  isForm: false,
  canGrant: false,
  isChannel: false,
}

/** The subject of a member, given that of the object that it is in. */
export function resolveSubject(meaning: NameMeaning, parent: Subject | null): Subject {
  const own = toSubject(meaning)
  if (parent === null) return own
  // `opt_out: {opted_out: true}` says it twice, and is no double negation.
  const isRepeated = (meaning.isOptOut || meaning.isSpokenRefusal) && parent.isNegative
  const isNegative = isRepeated || meaning.isNegative !== parent.isNegative
  if (meaning.isSwitch) {
    return { ...parent, isNegative, canGrant: parent.canGrant && !meaning.isNegative }
  }
  if (meaning.subject === null || meaning.subject === 'everything') return own
  if (meaning.isPersonalization && parent.subject === 'advertising') {
    return { ...parent, isNegative, canGrant: false }
  }
  // Marketing by email is not advertising, wherever the channel is named.
  if (parent.isChannel && meaning.subject !== 'sale') return UNKNOWN_ITEM
  // Nor is the tracking of an order.
  const isOther = parent.subject === 'other' && parent !== UNKNOWN_ITEM
  if (isOther && meaning.subject === 'tracking') return UNKNOWN_ITEM
  const isConsentMode = meaning.subject.startsWith('ad_')
  const vendor = meaning.vendor ?? (isConsentMode ? null : parent.vendor)
  // `opt_outs: {advertising: true}`: the negation of the parent counts.
  if (!parent.isNegative) return { ...own, vendor }
  return { ...own, vendor, isNegative, canGrant: false }
}

function toSubject(meaning: NameMeaning): Subject {
  const { subject, vendor, isNegative, isForm, canGrant, isChannel } = meaning
  return { subject, vendor, isNegative, isForm, canGrant, isChannel }
}

/** What a name is about. To accept all is an act; that all was accepted is a state. */
type Scope = 'one' | 'all' | 'act_of_all'

/** `{acceptAll: false, rejectAll: false}` is a choice of some. */
function findScope({ isAboutAll, isActOfAll }: NameMeaning, owner: UntrustedObject): Scope {
  if (!isActOfAll) return isAboutAll ? 'all' : 'one'
  const isOfSome = Object.keys(owner).some(name => {
    const other = findMeaning(name)
    return other.isAboutAll && other.isNegative && readAnswer(owner[name]).answer === 'no'
  })
  return isOfSome ? 'all' : 'act_of_all'
}

type Choice = Omit<ConsentStatement, 'source' | 'field' | 'gpcCapturedAt'>

/**
 * What an answer to a subject says; null if it says nothing about advertising. By words alone a
 * value that is no answer says nothing, because the name may be about something else.
 */
function toChoice(subject: Subject, answer: AnswerText, scope: Scope): Choice | null {
  const { subject: about, vendor, isForm, isNegative } = subject
  if (about === null || about === 'other') return null
  if (about === 'gpc') return isNegative ? null : toGpcChoice(subject, answer)
  const meaning = isNegative ? readOptOut(answer) : readPermission(subject, answer, scope)
  if (meaning === null || (!isForm && (meaning === 'unclear' || meaning === 'unset'))) return null
  const why = isNegative ? 'opted_out' : 'words_denied'
  return { subject: about, vendor, meaning, isForm, why }
}

/** Global Privacy Control opts out by being on. Off says nothing. */
function toGpcChoice({ vendor, isForm }: Subject, said: AnswerText): Choice | null {
  const { answer, isOptStatement, isPresence, isAbsence } = said
  if (answer === 'yes' || isPresence || (answer === 'no' && isOptStatement)) {
    return { subject: 'gpc', vendor, meaning: 'refused', isForm: true, why: 'opted_out' }
  }
  if (!isForm) return null
  const meaning = answer === 'no' || isAbsence ? 'permitted' : answer
  return { subject: 'gpc', vendor, meaning, isForm, why: 'opted_out' }
}

function readPermission(
  { subject, canGrant }: Subject,
  { answer, isAboutAll, isRefusal }: AnswerText,
  scope: Scope,
): ConsentMeaning | null {
  if (subject !== 'everything') {
    if (answer === 'yes') return canGrant ? 'granted' : 'permitted'
    return answer === 'no' ? 'refused' : answer
  }
  // "Not all" may be all but one, and "yes" names no advertising, unless it is to everything.
  if (answer === 'no') return scope === 'all' && !isAboutAll && !isRefusal ? null : 'refused'
  return answer === 'yes' && (scope !== 'one' || isAboutAll) ? 'granted' : null
}
