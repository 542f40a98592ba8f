import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAnswer } from './consent-answers.ts'
import { isActiveGroups } from './consent-forms.ts'
import type { NameMeaning } from './consent-names.ts'
import {
  addChoice,
  addSubject,
  findMeaningAt,
  isRefusalOfAll,
  type Member,
  type Place,
  resolveSubject,
  type Subject,
  toInside,
} from './consent-place.ts'
import type { ConsentStatements } from './consent-statement.ts'
import { UNNAMED_VENDOR, VENDOR_NAMES } from './consent-vocabulary.ts'
import { isListOfConsents } from './consent-words.ts'
import { isScalar } from './iab-codes.ts'

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
  const isOfCodes =
    items.length === 0 &&
    ((list === 'rejected' && isListOfCodes(inside, member)) ||
      (list === 'accepted' && isFirstCodeAlone(inside, { ...member, value })))
  if (isOfCodes || (isRefusalAlone(value) && list === null && !meaning.isLabel)) {
    addMissingAdvertising(statements, place, { field: member.field, isForm: false })
    return true
  }
  const hasAdvertising = items.some(({ subject }) => subject.subject === 'advertising')
  if (list !== 'rejected' && isActiveGroups(value) && !hasAdvertising) {
    const isForm = meaning.isForm && items.every(isInForm)
    addMissingAdvertising(statements, place, { field: member.field, isForm })
    return true
  }
  if (list === null || (value.length > 0 && items.length === 0)) {
    return isListOfUnknownServices(member) && addServices(statements, place, member)
  }
  if (list === 'rejected') addRejected(statements, place, { field: member.field, items })
  else addAccepted(statements, place, { member: { ...member, value }, items, list })
  return true
}

/** `actions: ["reject_all"]`, and not the two buttons of a banner. */
function isRefusalAlone(value: unknown[]): boolean {
  const answers = value.map(item => readAnswer(typeof item === 'string' ? item : null))
  return answers.some(isRefusalOfAll) && !answers.some(({ answer }) => answer === 'yes')
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

/** Rejected categories by their numbers: one of them may be advertising, if no list accepts it. */
function isListOfCodes(inside: Place, { value, meaning, owner }: ListMember): boolean {
  if (meaning.hasVendors || value.length === 0) return false
  const isAccepted = Object.values(owner)
    .flatMap(list => (Array.isArray(list) && list !== value ? list : []))
    .some(item => readItem(inside, item).some(({ subject }) => subject.subject === 'advertising'))
  return !isAccepted && value.every(item => isScalar(item) && CODE.test(`${item}`))
}

const CODE = /^\d{1,4}$/

/** `purposes: {allowed: [1]}`: of what has numbers, the first one is what is necessary. */
function isFirstCodeAlone({ codes }: Place, { field, meaning, value }: ListMember): boolean {
  const isOfPurposes = !meaning.hasVendors && /purpose|categor|group|consent/i.test(field)
  const isFirst = value.length === 1 && isScalar(value[0]) && /^[01]$/.test(`${value[0]}`)
  return isOfPurposes && isFirst && codes?.has(`${value[0]}`) !== true
}

/** What an item of a list is about. */
interface Item {
  subject: Subject
  isForm: boolean
  isAboutAll: boolean
  isOptOut: boolean
}

/** An item is a name, or an object that has a name and no answer of its own. */
export function readItem(place: Place, item: unknown): Item[] {
  const name = isObject(item) ? findItemName(item) : item
  if (typeof name !== 'string' && typeof name !== 'number') return []
  const meaning = findMeaningAt(place, name === '*' ? 'all' : String(name))
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
  for (const { subject, isOptOut } of items) {
    if (subject.subject === 'other') continue
    // `limited_data_use: "LDU"` says it twice.
    const meaning = subject.isNegative && !isOptOut ? 'permitted' : 'refused'
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
export function addAccepted(
  statements: ConsentStatements,
  place: Place,
  accepted: AcceptedList,
): void {
  const { member, items, list } = accepted
  const { meaning, field, value } = member
  const about = items.filter(isAboutAdvertising)
  for (const { subject } of about) {
    const yes = subject.canGrant ? 'granted' : 'permitted'
    const said = { field, subject, meaning: subject.isNegative ? 'refused' : yes } as const
    addSubject(statements, place, said)
  }
  if (meaning.hasVendors && list === 'accepted') addUnlistedVendors(statements, place, accepted)
  // Of vendors, and of messages to the person, only an empty list speaks of all.
  const isPartial = meaning.hasVendors || meaning.isChannel || place.parent?.isChannel === true
  const isOfConsent = meaning.isConsent || meaning.subject === 'everything'
  const isOfPerson =
    list === 'accepted' ||
    (isOfConsent && isListOfConsents(field.slice(field.lastIndexOf('.') + 1)))
  const isEmpty = value.length === 0 && (isOfPerson || meaning.subject === 'advertising')
  const leavesOut = !isPartial && items.some(isOther) && !about.some(isOfAdvertising)
  const isStorageOnly = /purposes/i.test(field) && items.length > 0 && items.every(isOfStorage)
  // `services: {marketing: []}` has no service of advertising.
  const isCategory = isEmpty && meaning.subject === 'advertising' && meaning.vendor === null
  if (!(isEmpty || leavesOut || isStorageOnly) || (place.isVendorList && !isCategory)) return
  addMissingAdvertising(statements, place, {
    field,
    isForm: meaning.isForm && items.length > 0 && items.filter(isOther).every(isInForm),
  })
}

/** A vendor's name, not an ID that says nothing. */
const VENDOR_NAME = /^[\p{L}][\p{L}\s_.,()&-]+$/u

/**
 * `axeptio_authorized_vendors: ",google_analytics,"` leaves out every other vendor, if all of the
 * list is names, and one of them is known.
 */
function addUnlistedVendors(
  statements: ConsentStatements,
  place: Place,
  { member: { value, field }, items }: AcceptedList,
): void {
  const isOfNames = value.every(item => typeof item === 'string' && VENDOR_NAME.test(item))
  const isOfAll = items.some(
    ({ subject }) => subject.vendor === null && subject.subject !== 'other',
  )
  if (!isOfNames || isOfAll || items.length === 0) return
  addOtherVendors(statements, place, { field, named: items.map(({ subject }) => subject.vendor) })
}

/** Refuses every vendor that is not named, and every receiver without a name. */
export function addOtherVendors(
  { choices }: ConsentStatements,
  { source }: Place,
  { field, named }: { field: string; named: (string | null)[] },
): void {
  for (const vendor of [...VENDOR_NAMES, UNNAMED_VENDOR]) {
    if (named.includes(vendor)) continue
    const said = { source, field, subject: 'advertising', vendor } as const
    choices.push({ ...said, meaning: 'refused', isForm: false, why: 'words_denied' })
  }
}

/** Social media are not all of advertising, and neither is the storage that it needs. */
function isOfAdvertising({ subject }: Item): boolean {
  return subject.subject !== 'social_media' && subject.subject !== 'tcf_1'
}

/** Didomi's `purposes: ["cookies"]` is purpose 1 alone. */
function isOfStorage({ subject }: Item): boolean {
  return subject.subject === 'tcf_1'
}

/** A list of channels says nothing about purposes. */
function isOther({ subject }: Item): boolean {
  return subject.subject === 'other' && !subject.isChannel
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
