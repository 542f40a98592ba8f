import { DROP_REASONS } from '../../identity/dropped-fields.ts'
import type { FieldRules } from '../../identity/field-rules.ts'
import { normalizeEmail } from '../../identity/identifier-formats.ts'
import {
  COMMON_PLAIN_RULES,
  hashIdentifier,
  OTHER_HASHED_RULES,
  type PlatformIdentity,
} from '../../identity/normalize-user-data.ts'
import type { AcceptedIdentity, MatchKey, SeenClickIds, SubmittedIdentity } from '../platform.ts'
import { acceptIdentity, hasDigestOf, joinByName } from '../shared-identity.ts'

/** How the address of the network is sent. */
export type IpAddressForm = 'plain' | 'hashed' | 'none'

/** Normalizes and hashes identity by Reddit's rules. The result contains no raw identifier. */
export function normalizeRedditIdentity(
  submitted: SubmittedIdentity,
  ipAddress: IpAddressForm,
): AcceptedIdentity {
  const accepted = acceptIdentity(submitted, RULES)
  const { client_ip_address: address, ...rest } = accepted.plain
  if (address === undefined || ipAddress === 'plain') return accepted
  const { digests } = accepted
  const hashed = ipAddress === 'hashed' && { client_ip_address: [hashIdentifier(address)] }
  return { ...accepted, digests: { ...digests, ...hashed }, plain: rest }
}

/**
 * Callers digest an email address with its dots and a phone number without its +, so their digests
 * match no one at Reddit.
 */
const RULES: FieldRules = {
  hashed: {
    em: { normalize: normalizeRedditEmail, reason: DROP_REASONS.email, takesNoDigests: true },
    ph: OTHER_HASHED_RULES.ph,
    external_id: OTHER_HASHED_RULES.external_id,
  },
  plain: COMMON_PLAIN_RULES,
}

const IS_ASCII = /^[\0-\x7f]+$/

/**
 * At every domain, what follows the first + is no part of the mailbox, and all of it but letters
 * and digits goes. A mailbox with other letters gets no digest: without them it may be of another
 * person.
 */
export function normalizeRedditEmail(prepared: string): string | null {
  const address = normalizeEmail(prepared)
  if (address === null) return null
  const at = address.lastIndexOf('@')
  const mailbox = address.slice(0, at).replace(/\+.*$/s, '')
  const letters = mailbox.replace(/[^a-z0-9]+/g, '')
  return IS_ASCII.test(mailbox) && letters !== '' ? `${letters}${address.slice(at)}` : null
}

/** The parameter of Reddit's links, also in a cookie of its script. */
const CLICK = 'rdt_cid'
/** The cookie of Reddit's script: a time, a dot and the ID of the browser. */
const BROWSER = 'rdt_uuid'
const BROWSER_COOKIE = /^(?:\d+\.)?([\w-]{1,100})$/

export function joinRedditClick(seen: SeenClickIds): Record<string, string> {
  const { cookie = '', ...click } = joinByName(seen, { [CLICK]: 'click_id', [BROWSER]: 'cookie' })
  const uuid = BROWSER_COOKIE.exec(cookie)?.[1]
  return { ...click, ...(uuid !== undefined && { uuid }) }
}

const IDENTIFYING_DIGESTS = ['em', 'ph', 'external_id', 'client_ip_address']
const IDENTIFYING_PLAIN = ['client_ip_address', 'click_id', 'uuid']

/** Reddit asks for at least one identifier. The user agent alone is none. */
export function canMatchPerson(
  { digests, plain }: PlatformIdentity,
  clickIds: Record<string, string> = {},
): boolean {
  const hasDigest = hasDigestOf({ digests, plain }, IDENTIFYING_DIGESTS)
  const hasPlain = IDENTIFYING_PLAIN.some(key => Boolean(plain[key]))
  return hasDigest || hasPlain || Boolean(clickIds[CLICK] ?? clickIds[BROWSER])
}

/** The identifiers that Reddit matches, the strongest first. */
export const MATCH_KEYS: readonly MatchKey[] = [
  {
    key: 'click_id',
    from: '`click_ids.rdt_cid`, or the whole address of the page as `event_source`',
    enoughPercent: 10,
  },
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
  { key: 'uuid', from: '`click_ids.rdt_uuid`, the cookie `_rdt_uuid`', enoughPercent: 50 },
  { key: 'client_ip_address', from: '`user_data.client_ip_address`', enoughPercent: 90 },
  { key: 'client_user_agent', from: '`user_data.client_user_agent`', enoughPercent: 90 },
  { key: 'external_id', from: '`user_data.external_id`', enoughPercent: 80 },
  { key: 'ph', from: '`user_data.ph`', enoughPercent: 50 },
]
