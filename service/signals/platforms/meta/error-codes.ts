import type { SendOutcome } from '../platform.ts'

/** The members of the Graph API's error object that are used. */
export interface MetaCode {
  code: number
  subcode: number | null
  isTransient: boolean
}

export interface AnswerClass {
  outcome: Exclude<SendOutcome, 'accepted'>
  /** The minimum wait after such a response, in seconds. */
  waitSecondsMin: number
}

const ACCESS_SUBCODE = 33
const THROTTLED: AnswerClass = { outcome: 'throttle', waitSecondsMin: 60 }
const THROTTLE_CODES = new Set([4, 17, 32, 613])
const RETRY_CODES = new Set([1, 2, 5_000])
/** Temporary, but not soon over: 341 application limit, 368 blocked for policy or abuse. */
const SLOW_RETRY_SECONDS = new Map([
  [341, 600],
  [368, 3_600],
])
const CONFIG_CODES = new Set([3, 10, 104, 803, 2_500, 2_635])
const PERMANENT_CODES = new Set([100, 506])

/**
 * What Meta's error code means (Graph API, Handling Errors; Marketing API, Error Codes and Rate
 * Limiting). Only code and subcode count: text, `type` and the HTTP status are not reliable.
 */
export function classifyErrorCode({ code, subcode, isTransient }: MetaCode): AnswerClass {
  // A token does not recover by itself, even when `is_transient` is set.
  if (code === 190) return soon('auth')
  if (THROTTLE_CODES.has(code) || (code >= 80_000 && code <= 80_014)) return THROTTLED
  const slowSeconds = SLOW_RETRY_SECONDS.get(code)
  if (slowSeconds !== undefined) return { outcome: 'retry', waitSecondsMin: slowSeconds }
  if (isTransient || code < 0 || RETRY_CODES.has(code)) return soon('retry')
  if (code === 102) return soon('auth')
  if (CONFIG_CODES.has(code) || (code >= 200 && code <= 299)) return soon('config')
  if (code === 100 && subcode === ACCESS_SUBCODE) return soon('config')
  return soon(PERMANENT_CODES.has(code) ? 'permanent' : 'unknown')
}

/**
 * Classifies a response without an error code. It comes from a proxy, not from the Graph API, so
 * its HTTP status is not about the events. Two statuses reject the request unread (RFC 9110
 * 15.5.14, RFC 6585 4):
 * - 413: this body is always too large; half of it may not be.
 * - 429: there were too many requests.
 * After any other status the platform may have the events, even after 503, whose `Retry-After` is
 * honored.
 */
export function classifyHttpStatus(status: number): AnswerClass {
  switch (status) {
    case 413:
      return soon('permanent')
    case 429:
      return THROTTLED
    default:
      return soon('unknown')
  }
}

function soon(outcome: AnswerClass['outcome']): AnswerClass {
  return { outcome, waitSecondsMin: 0 }
}
