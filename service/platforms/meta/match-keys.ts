import type { PlatformIdentity } from '../../identity/normalize-user-data.ts'
import type { MatchKey } from '../platform.ts'

/**
 * The keys by what they usually weigh, the heaviest first (Meta, Best Practices for Conversions
 * API, "Customer information parameters": email, phone, click id and external id before the rest).
 */
export const MATCH_KEYS: readonly MatchKey[] = [
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
  { key: 'ph', from: '`user_data.ph`', enoughPercent: 50 },
  {
    key: 'fbc',
    from: '`user_data.fbc`, or the whole address of the page as `event_source`',
    enoughPercent: 0.1,
  },
  { key: 'external_id', from: '`user_data.external_id`', enoughPercent: 80 },
  { key: 'fbp', from: '`user_data.fbp` (the cookie _fbp)', enoughPercent: 60 },
  { key: 'client_ip_address', from: '`user_data.client_ip_address`', enoughPercent: 90 },
  { key: 'client_user_agent', from: '`user_data.client_user_agent`', enoughPercent: 90 },
  { key: 'fn', from: '`user_data.fn`', enoughPercent: 50 },
  { key: 'ln', from: '`user_data.ln`', enoughPercent: 50 },
  { key: 'zp', from: '`user_data.zp`', enoughPercent: 50 },
  { key: 'ct', from: '`user_data.ct`', enoughPercent: 50 },
  { key: 'st', from: '`user_data.st`', enoughPercent: 50 },
  { key: 'country', from: '`user_data.country`', enoughPercent: 50 },
]

/** Key sets too broad to point at a person. Meta refuses them since v13 (100/2804050). */
const INSUFFICIENT_KEY_SETS = [
  ['ct', 'country', 'st', 'zp', 'ge', 'client_user_agent'],
  ['db', 'client_user_agent'],
  ['fn', 'ge'],
  ['ln', 'ge'],
].map(keys => new Set(keys))

/**
 * Whether these `user_data` keys are enough for Meta to look for a person at all: the keys must
 * not all lie within one of the too-broad sets ("Best Practices - Conversions API"). One refused
 * event costs its whole batch, so this is checked before sending. No keys are not enough.
 */
export function hasSufficientMatchKeys(keys: string[]): boolean {
  return !INSUFFICIENT_KEY_SETS.some(tooBroad => keys.every(key => tooBroad.has(key)))
}

/** Whether Meta would look for a person at all, as far as the event alone tells. */
export function canMatchPerson(
  { digests, plain }: PlatformIdentity,
  clickIds: Record<string, string>,
): boolean {
  const cookies = ['fbc', 'fbp'].filter(name => Object.hasOwn(clickIds, name))
  return hasSufficientMatchKeys([...Object.keys(digests), ...Object.keys(plain), ...cookies])
}
