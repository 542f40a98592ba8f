import type { LookupDigests } from '../identity/lookup-digests.ts'
import { LOOKUP_KEYS } from '../identity/lookup-forms.ts'

const GRANTED = [
  '"ad_user_data":"granted"',
  '"ad_personalization":"granted"',
  '"ad_storage":"granted"',
  '"analytics_storage":"granted"',
]
const BY_CONSENT =
  '"decision":{"outcome":"granted","reason":"granted_by_consent","granted_by":["consent"],' +
  '"denied_by":[],"inputs":{"consent":{"state":"granted","why":"words_granted","field":"consent.'

const CONSENT = [
  `{${GRANTED.join(',')},"captured_at":`,
  `{${GRANTED.join(',')}`,
  `,${BY_CONSENT}ad_user_data","captured_at":`,
  BY_CONSENT,
  '}},"rules_version":"1","captured_at":',
  ...GRANTED,
  '"denied"',
  '"granted"',
  '"captured_at":',
  '"decision":{"outcome":',
  '"reason":"attested_by_basis","granted_by":[],"denied_by":[],"inputs":{',
  '"reason":"legitimate_interest","granted_by":[],"denied_by":[],"inputs":{',
  '"reason":',
  '"granted_by":["',
  '"denied_by":[],"inputs":{',
  '{"state":"granted","why":"',
  '{"state":"unknown","why":"',
  'words_granted","field":"consent.',
  'tc_ad_purposes_granted","field":"tcf',
  '"consent_mode":{',
  '"tcf":{',
]

const VALUE = [
  '{"value":"',
  '","currency":"',
  ',"order_id":"',
  ',"contents":[{"id":"',
  '","title":"',
  '","quantity":',
  ',"quantity":',
  ',"item_price":"',
  '"},{"id":"',
  '"}],"num_items":',
  '","category":"',
]

const USER_DATA = [
  '{"digests":{"em":["',
  '{"digests":{"',
  '"],"ph":["',
  '"],"fn":["',
  '"],"ln":["',
  '"],"ct":["',
  '"],"st":["',
  '"],"zp":["',
  '"],"country":["',
  '"],"external_id":["',
  '"]},"plain":{"client_ip_address":"',
  '"]},"plain":{"',
  '","client_user_agent":"Mozilla/5.0 (',
  'client_user_agent":"Mozilla/5.0 (',
  ',"fbp":0',
  ',"fbc":0',
  'Windows NT 10.0; Win64; x64',
  'Macintosh; Intel Mac OS X 10_15_7',
  'X11; Linux x86_64',
  'Linux; Android ',
  'iPhone; CPU iPhone OS ',
  ') AppleWebKit/537.36 (KHTML, like Gecko) Chrome/',
  ') AppleWebKit/605.1.15 (KHTML, like Gecko) Version/',
  ' like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ',
  '.0.0.0 Safari/537.36',
  '.0.0.0 Mobile Safari/537.36',
  ' Mobile/15E148',
  ' Safari/604.1',
  ' Safari/605.1.15',
  ' Edg/',
]

const CLICK_IDS = [
  '{"fbc":"fb.1.',
  '","fbp":"fb.1.',
  '{"fbp":"fb.1.',
  '"fbclid":"',
  '"gclid":"',
  '"}',
]

/**
 * The common phrases of each column, as `JSON.stringify` writes them. Rows hold indexes into these
 * lists, so phrases never move and new ones go to the end.
 */
export const COLUMN_DICTIONARIES = {
  consent: CONSENT,
  value: VALUE,
  userData: USER_DATA,
  clickIds: CLICK_IDS,
} as const satisfies Record<string, readonly string[]>

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
        group.map(one => {
          const place = known.indexOf(one)
          return place === -1 ? encodeDigest(one) : place
        }),
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
  for (const key of [...LOOKUP_KEYS, 'visitor_id', 'free_text']) {
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

export function recodeDigests<From, To>(
  digests: Record<string, From[]>,
  recode: (digest: From, key: string) => To,
): Record<string, To[]> {
  const recoded: Record<string, To[]> = {}
  for (const key of Object.keys(digests)) {
    recoded[key] = (digests[key] as From[]).map(one => recode(one, key))
  }
  return recoded
}

const DIGEST_BYTES = 32
const BASE64URL_DIGEST = /^[\w-]{43}$/

/** One buffer for all, so that nothing is allocated but the text. */
const scratch = Buffer.alloc(DIGEST_BYTES)

/** Hexadecimal digests are in lower case. Bytes are written up to the first other character. */
export function encodeDigest(digest: string): string {
  const isHex = digest.length === 2 * DIGEST_BYTES && scratch.write(digest, 'hex') === DIGEST_BYTES
  return isHex ? scratch.toString('base64url') : digest
}

export function decodeDigest(digest: string): string {
  if (!BASE64URL_DIGEST.test(digest)) return digest
  scratch.write(digest, 'base64url')
  return scratch.toString('hex')
}
