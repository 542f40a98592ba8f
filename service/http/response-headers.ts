import { randomUUID } from 'node:crypto'

/**
 * Sent with every answer. The service answers JSON only, so a browser may do nothing with it; and
 * every answer may hold an event or a credential, so nobody may keep it.
 */
export const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/**
 * CORS for the one route that pages call (Fetch standard, CORS protocol). Never with credentials:
 * a publishable key stands in the request itself, and cookies mean nothing here.
 */
const PREFLIGHT_SECONDS = 7_200

/** On an answer to a page, also on a refusal: a page that cannot read it cannot tell why. */
export function corsHeaders(origin: string): Record<string, string> {
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers':
      'Location, Idempotency-Key, Request-Id, Retry-After, RateLimit, RateLimit-Policy',
    'cross-origin-resource-policy': 'cross-origin',
    vary: 'Origin',
  }
}

/**
 * On the answer to a preflight. Every origin passes, because the key is not known yet: the request
 * that follows is judged by it, with an answer that the page can read.
 */
export function preflightHeaders(origin: string): Record<string, string> {
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key',
    'access-control-max-age': String(PREFLIGHT_SECONDS),
    vary: 'Origin',
  }
}

/** Names one request in its answer and in our log. */
export function generateRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`
}
