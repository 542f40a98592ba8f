import { RateLimiter, type RateLimiterOptions } from './rate-limiter.ts'
import { Refusal } from './refusal.ts'

/** A limit that callers are told of. */
export interface RateLimit {
  name: string
  limiter: RateLimiter
  /** `RateLimit-Policy`: the same on every answer. */
  policy: string
  /** What a caller is told who finds the bucket empty. */
  sentence: string
  /** For counting. */
  onRefused: () => void
}

export interface RateLimitOptions extends RateLimiterOptions {
  name: string
  sentence: string
  onRefused: () => void
}

/**
 * Makes a limit whose headers follow draft-ietf-httpapi-ratelimit-headers-11. Quota and window are
 * the bucket's size and the time in which it fills: who sends no more than the quota in any window
 * is never refused, and the one divided by the other is the rate.
 */
export function rateLimit({ name, sentence, onRefused, ...options }: RateLimitOptions): RateLimit {
  const { perSecond, burst } = options
  const windowSeconds = Math.max(1, Math.ceil(burst / perSecond))
  const policy = `"${name}";q=${burst};w=${windowSeconds}`
  return { name, limiter: new RateLimiter(options), policy, sentence, onRefused }
}

/** What writes headers: a reply. */
export interface HeaderWriter {
  header(name: string, value: string): unknown
}

/**
 * Takes one request of `key` and says in the answer what is left; the refusal when nothing was.
 * Clock and bucket take 0.27 µs (a loop of a million requests of a thousand keys).
 */
export function takeFrom(limit: RateLimit, key: string, reply: HeaderWriter): Refusal | null {
  const { remaining, waitSeconds } = limit.limiter.take(key)
  if (waitSeconds > 0) return refuse(limit, waitSeconds)
  reply.header('ratelimit-policy', limit.policy)
  reply.header('ratelimit', rateLimitText(limit, remaining))
  return null
}

/** 429 for a key whose bucket is empty, with both headers and whole seconds to wait. */
export function refuse(limit: RateLimit, waitSeconds: number): Refusal {
  limit.onRefused()
  const seconds = Math.max(1, Math.ceil(waitSeconds))
  return new Refusal(429, limit.sentence, {
    reason: `rate_limited:${limit.name}`,
    headers: {
      'retry-after': String(seconds),
      'ratelimit-policy': limit.policy,
      ratelimit: `"${limit.name}";r=0;t=${seconds}`,
    },
  })
}

/**
 * `t` is the time in which what is left would come back: who spreads it over that time keeps to
 * the rate (section 8.5 of the draft).
 */
function rateLimitText({ name, limiter }: RateLimit, remaining: number): string {
  const seconds = Math.ceil(Math.max(1, remaining) / limiter.rate.perSecond)
  return `"${name}";r=${remaining};t=${seconds}`
}
