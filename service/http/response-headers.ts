import { randomUUID } from 'node:crypto'

/**
 * The headers of every JSON response. A browser must not render, frame or embed it, and no cache
 * may store it, because any response may contain an event or a credential.
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
 * the request carries its publishable key, and no cookie is used.
 */
const PREFLIGHT_SECONDS = 7_200

/**
 * The headers of a response to a page, including refusals, so that the page can read the reason.
 */
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
 * The headers of a preflight response. Every origin passes, because the key is not known yet: the
 * request that follows is checked, with a response that the page can read.
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

/** Identifies a request in its response and in the log. */
export function generateRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`
}
