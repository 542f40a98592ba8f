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

/** A longer path is a name like any other. */
const STEPS_MAX = 8

/**
 * Undoes the flattening of names with a number, which says something only beside its siblings:
 * `purposes.1` and `purposes.5` are one object, `consents[0].granted` is a member of an item.
 */
export function unflatten(object: UntrustedObject, isFlattened: RegExp): UntrustedObject {
  const root: Members = new Map()
  for (const [name, value] of Object.entries(object)) {
    const steps = isFlattened.test(name) ? name.split(/[.[\]]+/).filter(step => step !== '') : []
    const last = steps.pop()
    if (last === undefined || steps.length > STEPS_MAX) root.set(name, value)
    else steps.reduce(enterStep, root).set(last, value)
  }
  return toObject(root)
}

type Members = Map<string, unknown>

/** The members of a step, with those that the caller has there as an object. */
function enterStep(owner: Members, step: string): Members {
  const known = owner.get(step)
  if (known instanceof Map) return known
  const members: Members = new Map(isObject(known) ? Object.entries(known) : [])
  owner.set(step, members)
  return members
}

function toObject(members: Members): UntrustedObject {
  const entries = [...members].map(([name, value]): [string, unknown] => {
    if (!(value instanceof Map)) return [name, value]
    const inside = toObject(value)
    return [name, toItems(inside) ?? inside]
  })
  return Object.fromEntries(entries)
}

/** The items of a list that is written as an object, `{0: "cookies", 1: "ads"}`; or null. */
export function toItems(object: UntrustedObject): unknown[] | null {
  if (!Object.hasOwn(object, '0')) return null
  const values = Object.values(object)
  const isList = Object.keys(object).every((name, index) => name === String(index))
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  const isOfItems = values.every(value => isObject(value) || isText(value))
  // `{0: "1"}` is an answer about category 0.
  const hasItem = values.some(value => isObject(value) || isName(value) || value === 'all')
  return isList && isOfItems && hasItem ? values : null
}
