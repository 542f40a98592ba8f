import { isObject } from '../../runtime/util/is-object.ts'
import {
  DROP_REASONS,
  type DroppedField,
  formatMemberPath,
  MEMBERS_MAX,
  recordDropped,
} from './dropped-fields.ts'
import type { EventTimes, FieldContext } from './field-rules.ts'
import { normalizeIdentifier, normalizeVisible } from './identifier-formats.ts'
import { normalizeCountry, normalizeExactCountry } from './normalize-country.ts'
import {
  findAddressKey,
  findMemberKey,
  findRefusalReason,
  isAddressName,
  listAddresses,
  type UserDataKey,
} from './user-data-keys.ts'

export interface UserDataMember {
  /** Dotted, as in `user_data.address.city`. */
  path: string
  meaning: UserDataKey
  values: unknown[]
  /** Members of one address share it; those of `user_data` itself have none. */
  address: Record<string, unknown> | null
}

/** Longer than any real identifier. Unhashed values have limits of their own. */
export const VALUE_CHARACTERS_MAX = 512

/** The members of `user_data` whose names are known; the others are recorded as dropped. */
export function selectKnownMembers(userData: unknown, dropped: DroppedField[]): UserDataMember[] {
  if (!isObject(userData)) return []
  const members: UserDataMember[] = []
  const names = Object.keys(userData)
  for (let index = 0; index < names.length && index < MEMBERS_MAX; index += 1) {
    const name = names[index] as string
    const value = userData[name]
    if (value === null || value === undefined) continue
    const meaning = findMemberKey(name, value)
    if (meaning !== null) {
      const values = Array.isArray(value) ? value : [value]
      members.push({ path: `user_data.${name}`, meaning, values, address: null })
    } else if (isAddressName(name)) addAddressMembers(members, { name, value, dropped })
    else recordDropped(dropped, formatMemberPath('user_data', name), findRefusalReason(name))
  }
  if (names.length > MEMBERS_MAX) recordDropped(dropped, 'user_data', DROP_REASONS.tooManyMembers)
  return members
}

/** The members of postal addresses, which mean what they mean in `user_data` itself. */
function addAddressMembers(
  members: UserDataMember[],
  { name, value, dropped }: { name: string; value: unknown; dropped: DroppedField[] },
): void {
  const path = `user_data.${name}`
  const addresses = listAddresses(value)
  if (addresses.length === 0) recordDropped(dropped, path, DROP_REASONS.wrongKind)
  for (const address of addresses) {
    for (const [part, partValue] of Object.entries(address).slice(0, MEMBERS_MAX)) {
      if (partValue === null || partValue === undefined) continue
      const meaning = findAddressKey(part)
      const values: unknown[] = Array.isArray(partValue) ? partValue : [partValue]
      if (meaning !== null) members.push({ path: `${path}.${part}`, meaning, values, address })
      else recordDropped(dropped, formatMemberPath(path, part), DROP_REASONS.unknown)
    }
  }
}

/** Each address has its own country, else the first country that is named anywhere. */
export function createContexts(
  members: UserDataMember[],
  { eventTime, observedAt }: EventTimes,
): (address: UserDataMember['address']) => FieldContext {
  const usual: FieldContext = { eventTime, observedAt, country: null }
  const byAddress = new Map<UserDataMember['address'], FieldContext>()
  for (const member of members) {
    const found = readCountry(member)
    if (found === null) continue
    if (usual.country === null) Object.assign(usual, found)
    if (byAddress.has(member.address)) continue
    byAddress.set(member.address, { eventTime, observedAt, ...found })
  }
  return address => byAddress.get(address) ?? usual
}

type ReadCountry = Pick<FieldContext, 'country' | 'isNewlyRead'>

function readCountry({ meaning, values }: UserDataMember): ReadCountry | null {
  if (meaning.key !== 'country') return null
  const [value] = values
  if (typeof value !== 'string' || value.length > VALUE_CHARACTERS_MAX) return null
  const prepared = normalizeIdentifier(value)
  const country = normalizeCountry(prepared)
  if (country === null) return null
  return normalizeExactCountry(normalizeVisible(value)) === country
    ? { country }
    : { country, isNewlyRead: true }
}
