/** One key of `user_data` that takes part in the score. */
export interface MatchKey {
  key: string
  /** What Meta calls it in `match_key_feedback`. */
  identifier: string
  /** Points of the ten that an event name gets when all its events carry the key. */
  points: number
  /** Shown also when no event carries it, with what it would bring. */
  isAdvised: boolean
}

/**
 * What each key is worth. Meta publishes no weights; these are ours, in the order in which Meta's
 * "Customer Information Parameters" recommends the keys. Together they make the ten points.
 */
export const MATCH_KEYS: readonly MatchKey[] = [
  { key: 'em', identifier: 'email', points: 2.5, isAdvised: true },
  { key: 'ph', identifier: 'phone', points: 1.5, isAdvised: true },
  { key: 'fbc', identifier: 'fbc', points: 1.5, isAdvised: true },
  { key: 'external_id', identifier: 'external_id', points: 1, isAdvised: true },
  { key: 'fbp', identifier: 'fbp', points: 1, isAdvised: true },
  { key: 'client_ip_address', identifier: 'ip_address', points: 0.8, isAdvised: true },
  { key: 'client_user_agent', identifier: 'user_agent', points: 0.7, isAdvised: true },
  { key: 'fn', identifier: 'fn', points: 0.2, isAdvised: false },
  { key: 'ln', identifier: 'ln', points: 0.2, isAdvised: false },
  { key: 'zp', identifier: 'zp', points: 0.2, isAdvised: false },
  { key: 'ct', identifier: 'ct', points: 0.1, isAdvised: false },
  { key: 'st', identifier: 'st', points: 0.1, isAdvised: false },
  { key: 'country', identifier: 'country', points: 0.1, isAdvised: false },
  { key: 'db', identifier: 'db', points: 0.05, isAdvised: false },
  { key: 'ge', identifier: 'ge', points: 0.05, isAdvised: false },
]

/** The places in MATCH_KEYS of the keys that a valid event carries. */
export function matchKeysOf(userData: Record<string, unknown>): number[] {
  const places: number[] = []
  for (const [index, { key }] of MATCH_KEYS.entries())
    if (isGiven(userData[key])) places.push(index)
  return places
}

function isGiven(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isGiven)
  return value !== undefined && value !== null && value !== ''
}
