import { FIELD_VALUES_MAX } from './dropped-fields.ts'
import type { EventTimes, FieldContext } from './field-rules.ts'
import { isPlaceholderDigest } from './field-rules.ts'
import { EMPTY_DIGEST, parseSuppliedDigest } from './identifier-formats.ts'
import { LOOKUP_KEYS, type LookupKey, listLookupForms } from './lookup-forms.ts'
import { hashIdentifier, readUserData } from './normalize-user-data.ts'
import { VALUE_CHARACTERS_MAX } from './user-data-members.ts'

/**
 * The digests by which the ledger finds a person, whatever the platforms: for each key a group for
 * each value, its normal form first. They are compared and never sent. `visitor_id` has a group
 * only if the visitor ID is an email address or a phone number. The groups of `free_text` are keyed
 * digests (`computeKeyedDigest`) of what stands in free text and URLs: it may be a third person.
 */
export type LookupDigests = Partial<Record<LookupKey | 'visitor_id' | 'free_text', string[][]>>

/** The lookup digests of `user_data`. Never throws; a value that identifies no one has none. */
export function computeLookupDigests(
  userData: Record<string, unknown> | undefined,
  times: EventTimes,
): LookupDigests {
  const lookup: LookupDigests = {}
  const { members, contextOf } = readUserData(userData, times)
  for (const { meaning, values, address } of members) {
    if (meaning.kind !== 'hashed' || !isLookupKey(meaning.key)) continue
    const { key } = meaning
    const context = contextOf(address)
    for (let index = 0; index < values.length && index < FIELD_VALUES_MAX; index += 1) {
      addGroup(lookup, key, digestValue(key, values[index], { meaning, context }))
    }
  }
  return lookup
}

function isLookupKey(key: string): key is LookupKey {
  return (LOOKUP_KEYS as readonly string[]).includes(key)
}

interface ValueReading {
  meaning: { digestOnly: boolean }
  context: FieldContext
}

function digestValue(
  key: LookupKey,
  value: unknown,
  { meaning: { digestOnly }, context }: ValueReading,
): string[] {
  const text = toIdentifierText(key, value)
  if (text === null || text.length > VALUE_CHARACTERS_MAX) return []
  const supplied = parseSuppliedDigest(text)
  if (supplied !== null) return identifiesSomeone(supplied) ? [supplied] : []
  return digestOnly ? [] : listLookupForms(key, text, context).map(hashIdentifier)
}

/** An email address is never a number. */
function toIdentifierText(key: LookupKey, value: unknown): string | null {
  if (typeof value === 'string') return value
  const isNumber = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
  return isNumber && key !== 'em' ? String(value) : null
}

function identifiesSomeone(digest: string): boolean {
  return digest !== EMPTY_DIGEST && !isPlaceholderDigest(digest)
}

function addGroup(lookup: LookupDigests, key: LookupKey, group: string[]): void {
  const [first] = group
  if (first === undefined) return
  const groups = lookup[key]
  if (groups === undefined) {
    lookup[key] = [group]
    return
  }
  // A value that is sent twice, or as text and as its digest, has the longer of the two groups.
  const known = groups.findIndex(one => one[0] === first)
  if (known === -1 && groups.length < FIELD_VALUES_MAX) groups.push(group)
  else if (known !== -1 && (groups[known]?.length ?? 0) < group.length) groups[known] = group
}
