import { retryAfterSeconds, WAIT_SECONDS_MAX } from '../client.ts'
import type { SendOutcome } from '../platform.ts'

/** Where the Graph API is, and how long to wait for it. */
export interface MetaOptions {
  /** The Graph API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `v26.0`. */
  version: string
  timeoutMilliseconds: number
  /** Decides which days Meta still counts: a day beyond that looks like one without events. */
  now: () => Date
}

export const UNWRITABLE_MESSAGE =
  'The access token or the dataset id holds characters that no request can carry: enter it again.'

/** Null when no URL can carry the path. The error would quote it. */
export function buildGraphUrl(
  { baseUrl, version }: MetaOptions,
  path: readonly string[],
  query: Record<string, string> = {},
): URL | null {
  try {
    const url = new URL(`${baseUrl}/${[version, ...path.map(encodeURIComponent)].join('/')}`)
    url.search = new URLSearchParams(query).toString()
    return url
  } catch {
    return null
  }
}

/** How long the headers of an answer ask the client to wait, in seconds; 0 without a request. */
export function readWaitSeconds({ headers }: Pick<Response, 'headers'>): number {
  const header = (name: string) => headers.get(name)
  return Math.max(usageWaitSeconds(header), retryAfterSeconds(header))
}

/** Meta throttles at 100 percent; the destination slows down a little before that. */
const FULL_PERCENT = 100
const NEARLY_FULL_PERCENT = 90
const FULL_WAIT_SECONDS = 60
const NEARLY_FULL_WAIT_SECONDS = 10

const USAGE_PERCENTS = ['call_count', 'total_time', 'total_cputime', 'acc_id_util_pct']

/**
 * How long Meta's rate-limit headers ask the client to wait, in seconds (Meta: Marketing API Rate
 * Limiting). `X-Business-Use-Case-Usage` counts in minutes, `X-Ad-Account-Usage` in seconds,
 * `X-App-Usage` names only percentages. 0 without a request; a header that cannot be read counts as
 * absent.
 */
export function usageWaitSeconds(header: (name: string) => string | null): number {
  const app = parse(header('x-app-usage'))
  const account = parse(header('x-ad-account-usage'))
  const businesses = Object.values(parse(header('x-business-use-case-usage'))).flat()

  const percent = Math.max(...[app, account, ...businesses].map(percentOf))
  const minutes = businesses.map(usage => numberMember(usage, 'estimated_time_to_regain_access'))
  const reset = percentOf(account) >= FULL_PERCENT ? seconds(account) : 0
  const requested = Math.max(reset, waitOfPercent(percent), ...minutes.map(value => value * 60))
  return Math.min(requested, WAIT_SECONDS_MAX)
}

function waitOfPercent(percent: number): number {
  if (percent >= FULL_PERCENT) return FULL_WAIT_SECONDS
  return percent >= NEARLY_FULL_PERCENT ? NEARLY_FULL_WAIT_SECONDS : 0
}

function percentOf(usage: unknown): number {
  return Math.max(...USAGE_PERCENTS.map(name => numberMember(usage, name)))
}

function seconds(account: unknown): number {
  return numberMember(account, 'reset_time_duration')
}

function parse(text: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function numberMember(value: unknown, name: string): number {
  const member = (value as Record<string, unknown> | null)?.[name]
  return typeof member === 'number' && member > 0 ? member : 0
}

/** The members of the Graph API's error object that are used. */
interface MetaCode {
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
