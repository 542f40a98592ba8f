import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAnswer } from './consent-answers.ts'
import { findMeaning } from './consent-forms.ts'
import { addAccepted, addMissingAdvertising, addOtherVendors, readItem } from './consent-lists.ts'
import { addSubject, findMeaningAt, type Place } from './consent-place.ts'
import type { ConsentStatements, ConsentSubject } from './consent-statement.ts'

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
  addLoneRefusal(statements, place, object)
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

const ITEM_MEMBERS_MAX = 6

/**
 * `{nazwa: "reklama", wartosc: false}` is an item with one name of advertising and one answer,
 * whatever its members are called.
 */
function addLoneRefusal(
  statements: ConsentStatements,
  place: Place,
  object: UntrustedObject,
): void {
  const members = Object.entries(object)
  const isItem = members.length > 1 && members.length <= ITEM_MEMBERS_MAX
  if (!isItem || !members.some(([, value]) => readItemAnswer(value) === 'no')) return
  const [named, ...otherNames] = members.flatMap(([name, text]) => findRefusable(place, name, text))
  const [answer, ...otherAnswers] = members.filter(
    ([name, value]) => name !== named?.name && readItemAnswer(value) !== null,
  )
  if (!named || !answer || otherNames.length + otherAnswers.length > 0) return
  const [name, value] = answer
  const { subject, isNegative, isLabel } = findMeaning(name)
  const isOfOther = (subject !== null && subject !== 'everything') || isNegative || isLabel
  if (isOfOther || readItemAnswer(value) !== 'no') return
  addSubject(statements, place, { field: place.path, subject: named.subject, meaning: 'refused' })
}

/** Null for a number, too, which may be a position. */
function readItemAnswer(value: unknown): 'yes' | 'no' | null {
  const { answer } = readAnswer(typeof value === 'number' ? null : value)
  return answer === 'yes' || answer === 'no' ? answer : null
}

const REFUSABLE: ReadonlySet<string | null> = new Set<ConsentSubject>([
  ...(['advertising', 'tracking', 'sale', 'social_media'] as const),
])

function findRefusable(place: Place, name: string, text: unknown) {
  const [item] = typeof text === 'string' ? readItem(place, text) : []
  if (!item || !REFUSABLE.has(item.subject.subject) || item.subject.isNegative) return []
  return [{ name, subject: item.subject }]
}

/** `s3` of consentmanager. */
const LETTER_CODE = /^[a-z]?\d{1,4}$/i

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
function addAllVendors(statements: ConsentStatements, place: Place, object: UntrustedObject): void {
  const all = Object.keys(object).find(name => /^all$/i.test(name))
  if (all === undefined || readAnswer(object[all]).answer !== 'no') return
  const named = Object.keys(object).map(name => findMeaning(name).vendor)
  addOtherVendors(statements, place, { field: `${place.path}.${all}`, named })
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && readAnswer(value).answer === 'unclear'
}

/** A name and the number at its end. */
const NUMBERED = /^(.+?)[.[](\d{1,5})\]?$/

/**
 * Undoes the flattening of numbers, which say something only beside each other: `purposes.1` and
 * `purposes.5` are one object under the name `purposes`.
 */
export function unflatten(object: UntrustedObject): UntrustedObject {
  const nested: Record<string, unknown> = Object.create(null)
  const owners = new Map<string, Record<string, unknown>>()
  for (const name of Object.keys(object)) {
    const [, owner, number] = NUMBERED.exec(name) ?? []
    if (owner === undefined || number === undefined) {
      nested[name] = object[name]
      continue
    }
    const members = owners.get(owner) ?? Object.create(null)
    members[number] = object[name]
    owners.set(owner, members)
  }
  for (const [owner, members] of owners) {
    const known = nested[owner]
    nested[owner] = isObject(known) ? { ...known, ...members } : members
  }
  return nested
}

/** The items of a list that is written as an object, `{0: "cookies", 1: "ads"}`; or null. */
export function toItems(object: UntrustedObject): unknown[] | null {
  if (!Object.hasOwn(object, '0')) return null
  const values = Object.values(object)
  const isList = Object.keys(object).every((name, index) => name === String(index))
  return isList && values.every(isName) ? values : null
}
