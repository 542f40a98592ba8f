import { isObject } from '../../runtime/util/is-object.ts'
import { DROP_REASONS, type DropReason, FIELD_VALUES_MAX, MEMBERS_MAX } from './dropped-fields.ts'

/** The keys of `user_data` whose values leave this service only as digests. */
export type HashedKey =
  | 'em'
  | 'ph'
  | 'fn'
  | 'ln'
  | 'ge'
  | 'db'
  | 'ct'
  | 'st'
  | 'zp'
  | 'country'
  | 'external_id'
  | 'fi'
  | 'f5first'
  | 'f5last'
  | 'doby'
  | 'dobm'
  | 'dobd'
  | 'app_user_id'

/** The keys of `user_data` that are sent as they are, to the platforms that take them. */
export type PlainKey =
  | 'client_ip_address'
  | 'client_user_agent'
  | 'fbc'
  | 'fbp'
  | 'subscription_id'
  | 'fb_login_id'
  | 'lead_id'
  | 'anon_id'
  | 'madid'
  | 'page_id'
  | 'page_scoped_user_id'
  | 'ctwa_clid'
  | 'ig_account_id'
  | 'ig_sid'
  | 'whatsapp_business_account_id'

export type UserDataKey =
  | { kind: 'plain'; key: PlainKey }
  | { kind: 'hashed'; key: HashedKey; digestOnly: boolean; isForeignDigest?: true }

/**
 * The names under which callers send each hashed field; the first is the key itself. Case, - and
 * _ do not count, so `firstName` and `first-name` are `first_name`. With `hashed_` or `sha256_`
 * before a name, or `_hash`, `_hashed` or `_sha256` after it, the value must be a digest already.
 */
const HASHED_NAMES: Record<HashedKey, string[]> = {
  em: ['em', 'email', 'mail', 'e_mail', 'email_address'],
  ph: ['ph', 'phone', 'phone_number', 'mobile', 'mobile_phone'],
  fn: ['fn', 'first_name', 'given_name'],
  ln: ['ln', 'last_name', 'family_name', 'surname'],
  ge: ['ge', 'gender'],
  db: ['db', 'dob', 'date_of_birth', 'birth_date', 'birthdate', 'bday', 'born', 'born_on'],
  ct: ['ct', 'city'],
  st: ['st', 'state', 'state_code', 'province', 'province_code', 'region'],
  zp: ['zp', 'zip', 'zip_code', 'postal_code', 'postcode'],
  country: ['country', 'country_code'],
  external_id: ['external_id'],
  fi: ['fi', 'first_initial'],
  f5first: ['f5first'],
  f5last: ['f5last'],
  doby: ['doby', 'birth_year'],
  dobm: ['dobm', 'birth_month'],
  dobd: ['dobd', 'birth_day'],
  app_user_id: ['app_user_id'],
}

/**
 * Names under which other platforms take a digest of another form of the value, so that it matches
 * no one at ours: Google and X digest a phone number with its + ("Enhanced conversions", "Web
 * conversions"). The digest still finds the person for an erasure.
 */
const FOREIGN_DIGEST_NAMES = ['sha256_phone_number', 'hashed_phone_number']

const PLAIN_NAMES: Record<PlainKey, string[]> = {
  client_ip_address: ['client_ip_address', 'ip', 'ip_address', 'client_ip'],
  client_user_agent: ['client_user_agent', 'user_agent'],
  fbc: ['fbc', '_fbc'],
  fbp: ['fbp', '_fbp'],
  subscription_id: ['subscription_id'],
  fb_login_id: ['fb_login_id'],
  lead_id: ['lead_id'],
  anon_id: ['anon_id'],
  madid: ['madid'],
  page_id: ['page_id'],
  page_scoped_user_id: ['page_scoped_user_id'],
  ctwa_clid: ['ctwa_clid'],
  ig_account_id: ['ig_account_id'],
  ig_sid: ['ig_sid'],
  whatsapp_business_account_id: ['whatsapp_business_account_id', 'waba_id'],
}

/** The member of `user_data` with a postal address, as Segment and Google send it. */
const ADDRESS_NAME = 'address'

/** Names of a whole birth date or of its day: `birthday` and `birth_day` are one name here. */
const BIRTHDAY_NAME = 'birthday'
const DAY_OF_MONTH = /^\s*\d{1,2}\s*$/

/** The key of a member. One name needs its value: the day of a birth date, or all of it. */
export function findMemberKey(name: string, value: unknown): UserDataKey | null {
  const known = findUserDataKey(name)
  if (known?.key !== 'dobd' || !normalizeKeyName(name).includes(BIRTHDAY_NAME)) return known
  const [first] = Array.isArray(value) ? value : [value]
  if (known.kind !== 'hashed' || known.digestOnly) return known
  return DAY_OF_MONTH.test(String(first)) ? known : { ...known, key: 'db' }
}

/** Members that callers send and no platform takes, by name, with the reason. */
const REFUSED_NAMES = new Map([
  ['partnerid', DROP_REASONS.partner],
  ['partnername', DROP_REASONS.partner],
])

/** Why a member that is not known here is dropped. */
export function findRefusalReason(name: string): DropReason {
  const known =
    name.length > KEY_NAME_CHARACTERS_MAX ? null : REFUSED_NAMES.get(normalizeKeyName(name))
  return known ?? DROP_REASONS.unknown
}

const KEYS = buildKeyIndex()
const KEY_NAME_CHARACTERS_MAX = 64

/** Finds what a member of `user_data` means, or null when its name is not known here. */
export function findUserDataKey(name: string): UserDataKey | null {
  return (
    KEYS.get(name) ??
    (name.length > KEY_NAME_CHARACTERS_MAX ? null : (KEYS.get(normalizeKeyName(name)) ?? null))
  )
}

function buildKeyIndex(): Map<string, UserDataKey> {
  const keys = new Map<string, UserDataKey>()
  const add = (name: string, key: UserDataKey) =>
    keys.set(name, key).set(normalizeKeyName(name), key)
  for (const [key, names] of Object.entries(PLAIN_NAMES) as [PlainKey, string[]][])
    for (const name of names) add(name, { kind: 'plain', key })
  for (const [key, names] of Object.entries(HASHED_NAMES) as [HashedKey, string[]][]) {
    for (const name of names) {
      add(name, { kind: 'hashed', key, digestOnly: false })
      for (const form of [`hashed_${name}`, `sha256_${name}`])
        add(form, { kind: 'hashed', key, digestOnly: true })
      for (const form of [`${name}_hash`, `${name}_hashed`, `${name}_sha256`])
        add(form, { kind: 'hashed', key, digestOnly: true })
    }
  }
  for (const name of FOREIGN_DIGEST_NAMES)
    add(name, { kind: 'hashed', key: 'ph', digestOnly: true, isForeignDigest: true })
  return keys
}

function normalizeKeyName(name: string): string {
  return name.toLowerCase().replace(/[_-]+/g, '')
}

/**
 * Names the first member of `user_data` that carries identity, as a dotted path, or null when
 * none does. Used for consent ("is identity present?") and for the rule that an event on
 * legitimate interest carries no identity.
 *
 * Every known key counts, the address and the user agent too, since both are personal data. A
 * value need not be valid: a broken email address was meant to name a person. Null,
 * blank text and empty lists carry nothing, and unknown members are never kept, so they do not
 * count. `exceptKeys` are not looked for.
 */
export function findIdentityMember(
  userData: unknown,
  exceptKeys: readonly string[] = [],
): string | null {
  if (typeof userData !== 'object' || userData === null || Array.isArray(userData)) return null
  for (const [name, value] of Object.entries(userData).slice(0, MEMBERS_MAX)) {
    const known = hasValue(value) ? findUserDataKey(name) : null
    if (known !== null && !exceptKeys.includes(known.key)) return `user_data.${name}`
    if (!isAddressName(name)) continue
    const member = listAddresses(value)
      .map(findAddressMember)
      .find(found => found !== null)
    if (member) return `user_data.${name}.${member}`
  }
  return null
}

/** Whether a member of `user_data` holds addresses; case, - and _ do not count. */
export function isAddressName(name: string): boolean {
  return name.length <= KEY_NAME_CHARACTERS_MAX && normalizeKeyName(name) === ADDRESS_NAME
}

/** The addresses of a member: one object, or a list of them. */
export function listAddresses(value: unknown): Record<string, unknown>[] {
  const values: unknown[] = Array.isArray(value) ? value.slice(0, FIELD_VALUES_MAX) : [value]
  return values.filter(isObject)
}

/** An address has hashed keys alone: an IP address or a user agent in it is no part of one. */
export function findAddressKey(name: string): (UserDataKey & { kind: 'hashed' }) | null {
  const key = findUserDataKey(name)
  return key?.kind === 'hashed' ? key : null
}

function findAddressMember(address: Record<string, unknown>): string | null {
  const members = Object.entries(address).slice(0, MEMBERS_MAX)
  const found = members.find(([name, value]) => hasValue(value) && findAddressKey(name) !== null)
  return found?.[0] ?? null
}

function hasValue(value: unknown): boolean {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return values.some(
    one => typeof one === 'number' || (typeof one === 'string' && one.trim() !== ''),
  )
}
