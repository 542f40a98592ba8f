import { APIConnectionError, APIError, RateLimitError } from './errors.ts'

/** 520 to 527 are those of Cloudflare, which could not reach the service behind it. */
const RETRIED_STATUSES = new Set([
  ...[408, 429, 500, 502, 503, 504],
  ...[520, 521, 522, 523, 524, 525, 526, 527],
])
const FIRST_DELAY_MILLISECONDS = 500
const DELAY_MILLISECONDS_MAX = 8_000
export const RETRY_AFTER_SECONDS_MAX = 60

/**
 * Milliseconds before the next attempt, or null when there must be none. `attempt` counts from 1.
 *
 * Exponential with jitter, so that clients that failed together do not return together. The service
 * knows better: Retry-After replaces the delay, and one above a minute is for the caller to decide.
 */
export function planRetry(error: unknown, attempt: number): number | null {
  if (!isRetried(error)) return null
  const seconds = error instanceof APIError ? error.retryAfter : null
  if (seconds !== null && seconds > RETRY_AFTER_SECONDS_MAX) return null
  if (seconds !== null && seconds > 0) return seconds * 1_000
  const delay = Math.min(FIRST_DELAY_MILLISECONDS * 2 ** (attempt - 1), DELAY_MILLISECONDS_MAX)
  return delay * (1 - Math.random() * 0.25)
}

function isRetried(error: unknown): error is APIError | APIConnectionError {
  if (error instanceof APIConnectionError) return true
  if (!(error instanceof APIError)) return false
  const hint = error.headers.get('x-should-retry')?.toLowerCase()
  if (hint === 'false') return false
  const canHint = error instanceof RateLimitError || error.status >= 500
  return RETRIED_STATUSES.has(error.status) || (hint === 'true' && canHint)
}
