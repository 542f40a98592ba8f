import type { LookupDigests } from '../identity/lookup-digests.ts'
import { LOOKUP_KEYS } from '../identity/lookup-forms.ts'

/**
 * Groups of lookup digests. A digest that is also among those of the default platform is stored as
 * its place there, and a group of it alone is left out. Undefined when no group is left: most
 * events have one digest for each value, and add nothing. Earlier versions ignore the member.
 */
export function encodeLookup(
  lookup: LookupDigests | undefined,
  digests: Record<string, string[]>,
): EncodedLookup | undefined {
  const encoded: EncodedLookup = {}
  for (const [key, groups] of Object.entries(lookup ?? {})) {
    const known = digests[key] ?? []
    const others = groups
      .map(group =>
        group.map(one => (known.includes(one) ? known.indexOf(one) : encodeDigest(one))),
      )
      .filter(([first, ...rest]) => typeof first === 'string' || rest.length > 0)
    if (others.length > 0) encoded[key] = others
  }
  return Object.keys(encoded).length === 0 ? undefined : encoded
}

/** The stored groups, and a group for each other digest of the default platform. */
export function decodeLookup(
  encoded: EncodedLookup,
  digests: Record<string, string[]>,
): LookupDigests {
  const lookup: Record<string, string[][]> = {}
  for (const key of [...LOOKUP_KEYS, 'visitor_id']) {
    const known = digests[key] ?? []
    const groups = (encoded[key] ?? []).map(group =>
      group.map(one => (typeof one === 'number' ? (known[one] as string) : decodeDigest(one))),
    )
    const rest = known.filter(one => !groups.some(group => group.includes(one)))
    if (groups.length + rest.length > 0) lookup[key] = [...groups, ...rest.map(one => [one])]
  }
  return lookup
}

export type EncodedLookup = Record<string, (string | number)[][]>

export function recodeDigests(
  digests: Record<string, string[]>,
  recode: (digest: string) => string,
): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(digests).map(([key, values]) => [key, values.map(recode)]),
  )
}

const HEX_DIGEST = /^[0-9a-f]{64}$/
const BASE64URL_DIGEST = /^[\w-]{43}$/

export function encodeDigest(digest: string): string {
  return HEX_DIGEST.test(digest) ? Buffer.from(digest, 'hex').toString('base64url') : digest
}

export function decodeDigest(digest: string): string {
  return BASE64URL_DIGEST.test(digest) ? Buffer.from(digest, 'base64url').toString('hex') : digest
}
