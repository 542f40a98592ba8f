/**
 * On every answer of the sandbox: any page may use it, since it holds nobody's data and its keys
 * open nothing else. Never with credentials, which browsers refuse beside `*`.
 */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'Request-Id, Retry-After, RateLimit, RateLimit-Policy, X-Should-Retry',
} as const

const PREFLIGHT_SECONDS = 7_200

/** On the answer to a preflight (Fetch standard, CORS protocol), for a path with these methods. */
export function preflightHeaders(methods: readonly string[]): Record<string, string> {
  return {
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key',
    'access-control-max-age': String(PREFLIGHT_SECONDS),
  }
}
