import { isObject, type UntrustedObject } from '../../runtime/util/is-object.ts'
import { readAnswer } from './consent-answers.ts'
import { findMeaning } from './consent-forms.ts'
import { addAccepted, addMissingAdvertising, addOtherVendors, readItem } from './consent-lists.ts'
import { addSubject, findMeaningAt, isOfAll, type Member, type Place } from './consent-place.ts'
import type { ConsentStatements, ConsentSubject } from './consent-statement.ts'
import { isNecessaryOnly } from './consent-words.ts'

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
  addSharingSettings(statements, place, values)
  if (names.length === 0 || place.isVendorList) return
  const isKnown = names.some(name => place.codes?.get(name)?.subject === 'advertising')
  if (!isKnown && (isRefusalOfCodes(names, values) || isNoneAccepted(place, names, values))) {
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

/** Where a person came from is no name of an item: `{source: "facebook", medium: "off"}`. */
const ORIGIN_NAME =
  /(?:^|[_-])(?:source|medium|campaign|referr?er|origin|country|locale|currency)$/i

function findRefusable(place: Place, name: string, text: unknown) {
  const [item] = typeof text === 'string' && !ORIGIN_NAME.test(name) ? readItem(place, text) : []
  if (!item || !REFUSABLE.has(item.subject.subject) || item.subject.isNegative) return []
  return [{ name, subject: item.subject }]
}

/** `{level: 1, label: "necessary"}` is a choice of no more than that; an item is one of several. */
export function addNecessaryLevel(
  statements: ConsentStatements,
  place: Place,
  object: UntrustedObject,
): void {
  if (place.isItem || place.isVendorList) return
  const isNecessary = Object.entries(object).some(
    ([name, value]) =>
      LABEL_NAME.test(name) && typeof value === 'string' && isNecessaryLevel(value),
  )
  if (!isNecessary) return
  const isLevel = LEVEL_NAME.test(place.path) || Object.keys(object).some(n => LEVEL_NAME.test(n))
  if (isLevel) addMissingAdvertising(statements, place, { field: place.path, isForm: false })
}

const LABEL_NAME =
  /^(?:(?:cookie|consent|privacy|level|choice|option)s?[-_ ]?)*(?:label|name|text|title|key|type)$/i
const LEVEL_NAME = new RegExp(
  '(?:^|\\.)(?:(?:cookie|consent|privacy|user|your)s?[-_ ]?)*' +
    '(?:level|choice|selection|selected|decision|answer)$',
  'i',
)

function isNecessaryLevel(text: string): boolean {
  return isNecessaryOnly(text) || /^(?:basic|minimal|functional only)$/i.test(text)
}

/** `s3` of consentmanager. */
const LETTER_CODE = /^-?[a-z]?\d{1,4}$/i

const ID = /^[0-9a-f-]{4,}$/i

/** `{1: 1, 2: 0, 3: 0}`: of categories that have numbers, only the first ones are accepted. */
function isRefusalOfCodes(names: string[], values: unknown[]): boolean {
  const isCode = (name: string) => LETTER_CODE.test(name) && findMeaning(name).subject === null
  if (names.length < 2 || !names.every(isCode)) return false
  const numbers = names.map((name, index) => ({ number: Number(name), value: values[index] }))
  const answers = numbers
    .sort((left, right) => left.number - right.number)
    .map(({ value }) => readAnswer(value).answer)
  const refused = answers.filter(answer => answer === 'no').length
  return refused >= 2 && (refused >= names.length - 1 || isRefusedFrom(answers))
}

/** `{1: 1, 2: 0, 3: 0, 4: 0}`: those after the first ones are refused, and they are the most. */
function isRefusedFrom(answers: string[]): boolean {
  const first = answers.indexOf('no')
  return answers.slice(first).every(answer => answer === 'no') && first * 2 < answers.length
}

/** `user_allowed_save_cookie: {1: 0}` has the sites that a person accepted by their numbers. */
function isNoneAccepted({ path }: Place, names: string[], values: unknown[]): boolean {
  const { list, subject, isNegative } = findMeaning(path.split('.').at(-1) ?? '')
  if (list !== 'accepted' || subject !== 'everything' || isNegative) return false
  return (
    names.every(name => LETTER_CODE.test(name)) &&
    values.every(value => readAnswer(value).answer === 'no')
  )
}

/** Adjust's `partner_sharing_settings: {facebook: {sessions: false, events: false}}`. */
function addSharingSettings(statements: ConsentStatements, place: Place, values: unknown[]): void {
  const { parent, path } = place
  if (parent?.subject !== 'advertising' || parent.vendor === null || parent.isNegative) return
  const isRefused = values.length > 0 && values.every(value => readAnswer(value).answer === 'no')
  if (!isRefused || !/shar(?:e|ing)[\w-]*\./i.test(path)) return
  addSubject(statements, place, { field: path, subject: parent, meaning: 'refused' })
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

/** Content systems keep a value for each language: `{"en-US": false}`. */
const LOCALE = /^[a-z]{2}[-_][A-Z]{2}$/

/** `{ad_storage: {default: false, update: true}}`, as the Google tag keeps its states. */
export function toStateMember({ parent, path }: Place, member: Member): Member {
  const isOfMode = parent?.subject?.startsWith('ad_') === true
  const isState = isOfMode && /^(?:default|update)$/.test(member.name)
  const isOfLanguage = parent !== null && !isOfAll(parent) && LOCALE.test(member.name)
  if (isState || isOfLanguage) return { ...member, meaning: findMeaning('value') }
  const isOfAds = parent?.subject === 'advertising' && ADS_PATH.test(path)
  if (isOfAds && UNSUBSCRIBED.test(member.name)) {
    return { ...member, meaning: findMeaning('opted_out') }
  }
  return isBranded(member) ? { ...member, meaning: { ...member.meaning, canGrant: true } } : member
}

/** `ads: {unsubscribed: true}`; marketing may be that by email. */
const ADS_PATH = /(?:^|[._])(?:ads?|advert\w*|retargeting)$/i
const UNSUBSCRIBED = /^(?:is_?)?unsubscribed?$/i

/** `{cg_marketing: 1, cg_essential: 1, cg_stats: 0}`: a word before all of them names no part. */
function isBranded({ name, meaning, owner }: Member): boolean {
  if (meaning.subject !== 'advertising' || meaning.isNegative || meaning.canGrant) return false
  const [, brand, rest] = BRANDED.exec(name) ?? []
  if (brand === undefined || rest === undefined || !findMeaning(rest).canGrant) return false
  const others = Object.keys(owner).filter(other => other !== name && other.startsWith(brand))
  return others.some(other => findMeaning(other.slice(brand.length)).subject === 'other')
}

const BRANDED = /^([a-z]{2,12}[-_.])(.+)$/i

/** Of a history of answers with times, the latest one counts; without times, all of them do. */
export function selectCurrent({ name, value }: { name: string; value: unknown[] }): unknown[] {
  if (!HISTORY.test(name) || value.length < 2 || !value.every(isObject)) return value
  const times = value.map(readTime)
  if (times.includes(null)) return value
  const latest = times.reduce<number>((found, time) => Math.max(found, time ?? 0), 0)
  return value.filter((_item, index) => times[index] === latest)
}

const HISTORY = /^(?:[a-z]+[-_]?)?history$/i
const TIME_NAME = /^(?:ts|at|date|time|timestamp|.*[a-z](?:At|_at|Time|Date|_time|_date|stamp))$/

function readTime(item: UntrustedObject): number | null {
  const name = Object.keys(item).find(each => TIME_NAME.test(each))
  const time = name === undefined ? null : item[name]
  const read = typeof time === 'number' ? time : Date.parse(typeof time === 'string' ? time : '')
  return Number.isFinite(read) ? read : null
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

/** Ketch's `legalBasis: {data_sales: "consent_optout"}` says by which law a purpose is asked. */
export function isLegalBasis(name: string, value: unknown): boolean {
  if (!/bas[ei]s$/i.test(name) || !isObject(value)) return false
  return Object.values(value).every(basis => typeof basis === 'string' && LEGAL_BASIS.test(basis))
}

/** No word of an answer: `consent_denied` is one. */
const LEGAL_BASIS =
  /^(?:consent(?:_opt_?(?:in|out))?|disclosure|contract|(?:legal|legitimate|vital|public)_[a-z]+)$/i

/** The same members without the one of this name. */
export function omitPrototypeMember(members: UntrustedObject): UntrustedObject {
  return Object.fromEntries(Object.entries(members).filter(([name]) => name !== '__proto__'))
}
