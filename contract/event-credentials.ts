import Type from 'typebox'

/** OpenAPI, Security Requirement: any one of these. */
export const EVENT_CREDENTIALS: readonly Record<string, readonly string[]>[] = [
  { trackerSecret: [] },
  { publishableKey: [] },
  { publishableKeyInQuery: [] },
]

export const KeyInQuery = Type.String({
  pattern: '^sbx_pk_[0-9a-f]{72}$',
  description: 'A publishable key, for beacons, which cannot set a header. Never a tracker secret.',
})
