import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAnswer } from './consent-answers.ts'
import { findMeaning } from './consent-forms.ts'
import type { NameMeaning } from './consent-names.ts'
import {
  addChoice,
  addSubject,
  findMeaningAt,
  type Member,
  type Place,
  resolveSubject,
  type Subject,
  toInside,
} from './consent-place.ts'
import type { ConsentStatements } from './consent-statement.ts'
import { VENDOR_NAMES } from './consent-vocabulary.ts'

type ListMember = Omit<Member, 'value'> & { value: unknown[] }

/**
 * Reads a list of purposes, services or vendors that were accepted or rejected, or of answers. The
 * objects in it that answer by themselves are read by the caller. False if nothing else in it has
 * a meaning.
 */
export function readList(statements: ConsentStatements, place: Place, member: ListMember): boolean {
  const { meaning } = member
  // `[""]` is an empty list.
  const value = member.value.filter(item => item !== '')
  const inside = toInside(place, member)
  const items = value.flatMap(item => readItem(inside, item))
  const list = findList(meaning, inside)
  if (isListOfAnswers(value, meaning)) {
    for (const item of value) addChoice(statements, place, { ...member, answer: readAnswer(item) })
    return true
  }
  statements.withOthers.add(place.source)
  if (addOptOutsInList(statements, place, { field: member.field, items, meaning })) return true
  if (list === 'rejected' && items.length === 0 && isListOfCodes(member)) {
    addMissingAdvertising(statements, place, { field: member.field, isForm: false })
    return true
  }
  if (list === null || (value.length > 0 && items.length === 0)) {
    return isListOfUnknownServices(member) && addServices(statements, place, member)
  }
  if (list === 'rejected') addRejected(statements, place, { field: member.field, items })
  else addAccepted(statements, place, { member: { ...member, value }, items, list })
  return true
}

/** `privacy_flags: ["do_not_sell"]` and `["LDU"]` say so under any name that describes nothing. */
function addOptOutsInList(
  statements: ConsentStatements,
  place: Place,
  { field, items, meaning }: { field: string; items: Item[]; meaning: NameMeaning },
): boolean {
  const optOuts = items.filter(({ subject, isOptOut }) => isOptOut && subject.isNegative)
  if (optOuts.length === 0 || meaning.subject !== null || meaning.list === 'rejected') return false
  for (const { subject } of optOuts) {
    addSubject(statements, place, { field, subject, meaning: 'refused' })
  }
  return true
}

/** Rejected categories by their numbers: one of them may be advertising. */
function isListOfCodes({ value, meaning }: ListMember): boolean {
  return !meaning.hasVendors && value.length > 0 && value.every(item => CODE.test(String(item)))
}

const CODE = /^\d{1,4}$/
/** `s3` of consentmanager. */
const LETTER_CODE = /^[a-z]?\d{1,4}$/i

/** What an item of a list is about. */
interface Item {
  subject: Subject
  isForm: boolean
  isAboutAll: boolean
  isOptOut: boolean
}

/** An item is a name, or an object that has a name and no answer of its own. */
function readItem(place: Place, item: unknown): Item[] {
  const name = isObject(item) ? findItemName(item) : item
  if (typeof name !== 'string' && typeof name !== 'number') return []
  const meaning = findMeaningAt(place, String(name))
  const isAll = meaning.subject === null && meaning.isAboutAll
  if (meaning.subject === null && !isAll) return []
  const subject = resolveSubject(meaning, null)
  const { isForm, isAboutAll, isOptOut } = meaning
  const about = isAll ? { ...subject, ...EVERYTHING } : subject
  return [{ subject: about, isForm, isAboutAll, isOptOut }]
}

const EVERYTHING = { subject: 'everything', canGrant: true } as const

/** `{_id, name, vendorType}` of Sourcepoint; an item with an answer is read as an object. */
function findItemName(item: UntrustedObject): unknown {
  const isAnswered = Object.values(item).some(
    value => typeof value === 'boolean' || readAnswer(value).answer === 'no',
  )
  if (isAnswered) return null
  return item.name ?? item.id ?? item.purpose ?? item.category ?? item.vendor ?? item.key
}

/** `fbq: ["consent", "revoke"]` has answers, and `accepted: ["marketing"]` names. */
function isListOfAnswers(items: unknown[], { subject }: NameMeaning): boolean {
  if (subject === null || subject === 'everything') return false
  return items.some(item => {
    const { answer } = readAnswer(item)
    return answer === 'no' || answer === 'yes'
  })
}

/** A list inside of a list of rejected items has the polarity of its own name, or of its parent. */
function findList(meaning: NameMeaning, { parent }: Place): NameMeaning['list'] {
  if (meaning.list === 'rejected' || meaning.list === 'accepted') return meaning.list
  if (parent?.isNegative) return 'rejected'
  return meaning.list ?? (meaning.subject === 'advertising' ? 'accepted' : null)
}

/** Services of a category of which we know none: `marketing: ["own-pixel"]`. */
function isListOfUnknownServices({ value, meaning }: ListMember): boolean {
  return meaning.canGrant && value.some(item => typeof item === 'string' && item !== '')
}

function addServices(
  statements: ConsentStatements,
  place: Place,
  { field, meaning, value }: ListMember,
): boolean {
  // A text is a list only if its items are known.
  if (value.length < 2 && meaning.isForm) return false
  const subject = resolveSubject(meaning, place.parent)
  addSubject(statements, place, { field, subject, meaning: 'permitted' })
  return true
}

interface Rejected {
  field: string
  items: Item[]
}

function addRejected(
  statements: ConsentStatements,
  place: Place,
  { field, items }: Rejected,
): void {
  for (const { subject } of items) {
    if (subject.subject === 'other') continue
    const meaning = subject.isNegative ? 'permitted' : 'refused'
    addSubject(statements, place, { field, subject, meaning })
  }
}

interface AcceptedList {
  member: ListMember
  items: Item[]
  list: 'accepted' | 'listed'
}

/**
 * What is listed was accepted. A list of purposes without advertising refuses it, and so does an
 * empty list of what was accepted; a list of vendors says nothing about those that it leaves out.
 */
function addAccepted(
  statements: ConsentStatements,
  place: Place,
  { member, items, list }: AcceptedList,
): void {
  const { meaning, field, value } = member
  const about = items.filter(isAboutAdvertising)
  for (const { subject } of about) {
    const accepted = subject.canGrant ? 'granted' : 'permitted'
    addSubject(statements, place, {
      field,
      subject,
      meaning: subject.isNegative ? 'refused' : accepted,
    })
  }
  // Of vendors, and of messages to the person, only an empty list speaks of all.
  const isPartial = meaning.hasVendors || place.parent?.isChannel === true
  const isEmpty = value.length === 0 && (list === 'accepted' || meaning.subject === 'advertising')
  const leavesOut = !isPartial && items.some(isOther) && !about.some(isOfAdvertising)
  // `services: {marketing: []}` has no service of advertising.
  const isCategory = isEmpty && meaning.subject === 'advertising' && meaning.vendor === null
  if (!(isEmpty || leavesOut) || (place.isVendorList && !isCategory)) return
  addMissingAdvertising(statements, place, {
    field,
    isForm: meaning.isForm && items.length > 0 && items.filter(isOther).every(isInForm),
  })
}

/** Social media are not all of advertising. */
function isOfAdvertising({ subject }: Item): boolean {
  return subject.subject !== 'social_media'
}

function isOther({ subject }: Item): boolean {
  return subject.subject === 'other'
}

function isInForm({ isForm }: Item): boolean {
  return isForm
}

/** "Cookies" in a list is not everything, unless it says so. */
function isAboutAdvertising({ subject, isAboutAll }: Item): boolean {
  if (subject.subject !== 'everything') return subject.subject !== 'other'
  return isAboutAll || subject.isNegative
}

/** What is accepted leaves out advertising. */
export function addMissingAdvertising(
  { choices }: ConsentStatements,
  { source }: Place,
  { field, isForm }: { field: string; isForm: boolean },
): void {
  choices.push({
    source,
    field,
    subject: 'advertising',
    vendor: null,
    meaning: 'refused',
    isForm,
    why: 'words_denied',
  })
}

/**
 * Reads two shapes of accepted purposes that are objects: Borlabs lists the services of each
 * category, and leaves out a category that was not accepted; CCM19 has a name for each ID.
 */
export function readListedObject(
  statements: ConsentStatements,
  place: Place,
  object: UntrustedObject,
): void {
  const names = Object.keys(object)
  const values = Object.values(object)
  if (place.isVendorList) addAllVendors(statements, place, object)
  if (names.length === 0 || place.isVendorList) return
  const isKnown = names.some(name => place.codes?.has(name))
  if (!isKnown && isRefusalOfCodes(names, values)) {
    addMissingAdvertising(statements, place, { field: place.path, isForm: false })
  }
  if (values.every(Array.isArray)) {
    const meanings = names.map(name => findMeaningAt(place, name))
    const hasAdvertising = meanings.some(({ subject }) => subject === 'advertising')
    const hasOthers = meanings.some(({ subject }) => subject === 'other')
    if (hasOthers && !hasAdvertising) {
      addMissingAdvertising(statements, place, { field: place.path, isForm: false })
    }
  } else if (names.every(name => ID.test(name)) && values.every(isName)) {
    const items = values.flatMap(value => readItem(place, value))
    const meaning = { ...findMeaningAt(place, 'purposes') }
    const member = { name: '', value: values, meaning, field: place.path, owner: object }
    if (items.length > 0) addAccepted(statements, place, { member, items, list: 'listed' })
  }
}

const ID = /^[0-9a-f-]{4,}$/i

/** `{1: 1, 2: 0, 3: 0}`: of categories that have numbers, at most the necessary one is accepted. */
function isRefusalOfCodes(names: string[], values: unknown[]): boolean {
  const isCode = (name: string) => LETTER_CODE.test(name) && findMeaning(name).subject === null
  if (names.length < 2 || !names.every(isCode)) return false
  const answers = values.map(value => readAnswer(value).answer)
  const refused = answers.filter(answer => answer === 'no').length
  return refused >= 2 && refused >= names.length - 1
}

/** Segment's `{All: false, "Google Ads": true}` refuses every vendor that it does not name. */
function addAllVendors(
  { choices }: ConsentStatements,
  { source, path }: Place,
  object: UntrustedObject,
): void {
  const all = Object.keys(object).find(name => /^all$/i.test(name))
  if (all === undefined || readAnswer(object[all]).answer !== 'no') return
  const named = Object.keys(object).map(name => findMeaning(name).vendor)
  for (const vendor of VENDOR_NAMES) {
    if (named.includes(vendor)) continue
    const said = { source, field: `${path}.${all}`, subject: 'advertising', vendor } as const
    choices.push({ ...said, meaning: 'refused', isForm: false, why: 'words_denied' })
  }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && readAnswer(value).answer === 'unclear'
}
