import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAnswer } from './consent-answers.ts'
import { findMeaning } from './consent-forms.ts'
import { addAccepted, addMissingAdvertising, addOtherVendors, readItem } from './consent-lists.ts'
import { addSubject, findMeaningAt, type Place } from './consent-place.ts'
import type { ConsentStatements } from './consent-statement.ts'

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

const REFUSABLE: ReadonlySet<string | null> = new Set([
  ...['advertising', 'tracking', 'sale', 'social_media'],
])
const ITEM_MEMBERS_MAX = 6

/**
 * `{nazwa: "reklama", wartosc: false}`: an item with one name of advertising and one answer, whatever
 * the names of its members are.
 */
function addLoneRefusal(
  statements: ConsentStatements,
  place: Place,
  object: UntrustedObject,
): void {
  const members = Object.entries(object)
  const isSmall = members.length > 1 && members.length <= ITEM_MEMBERS_MAX
  if (!isSmall || !members.some(([, value]) => isRefusal(value))) return
  const named = members.flatMap(([name, text]) => {
    const [item] = typeof text === 'string' ? readItem(place, text) : []
    return item && REFUSABLE.has(item.subject.subject) ? [{ name, subject: item.subject }] : []
  })
  const answers = members.filter(([name, value]) => name !== named[0]?.name && isAnswer(value))
  const [[name, value] = ['', null]] = answers
  const { subject, isNegative, isLabel } = findMeaning(name)
  const isOfOther = (subject !== null && subject !== 'everything') || isNegative || isLabel
  if (named.length !== 1 || answers.length !== 1 || isOfOther || !isRefusal(value)) return
  const [item] = named
  if (!item || item.subject.isNegative) return
  addSubject(statements, place, { field: place.path, subject: item.subject, meaning: 'refused' })
}

function isRefusal(value: unknown): boolean {
  return typeof value !== 'number' && readAnswer(value).answer === 'no'
}

/** Not a number, which may be a position. */
function isAnswer(value: unknown): boolean {
  return typeof value !== 'number' && ['yes', 'no'].includes(readAnswer(value).answer)
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
  for (const name of Object.keys(object)) {
    const [, owner, number] = NUMBERED.exec(name) ?? []
    if (owner === undefined || number === undefined) nested[name] = object[name]
    else nested[owner] = { ...toMembers(nested[owner]), [number]: object[name] }
  }
  return nested
}

function toMembers(value: unknown): object {
  return isObject(value) ? value : {}
}

/** The items of a list that is written as an object, `{0: "cookies", 1: "ads"}`; or null. */
export function toItems(object: UntrustedObject): unknown[] | null {
  if (!Object.hasOwn(object, '0')) return null
  const values = Object.values(object)
  const isList = Object.keys(object).every((name, index) => name === String(index))
  return isList && values.every(isName) ? values : null
}
