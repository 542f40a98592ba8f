import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'

type Failure = Pick<
  FaultRule,
  'respond' | 'headers' | 'keep_events' | 'delay_ms' | 'abort' | 'truncate'
>

/**
 * Every failure that the simulator can cause (graph-simulator/README.md), by the name that a report
 * shows. The only failures that end a delivery are those of `REJECTS_CONTENT`.
 */
const PLATFORM_FAILURES = {
  'no connection before storing': { abort: 'before_response' },
  'no connection after storing': { abort: 'after_store' },
  'late and no connection after storing': { abort: 'after_store', delay_ms: 200 },
  'a response without its body': { truncate: 0 },
  'half a response': { truncate: 20 },
  'no event received': { keep_events: 0 },
  'one event received': { keep_events: 1 },
  'three events received': { keep_events: 3 },
  'more events received than sent': { respond: { status: 200, body: '{"events_received":9999}' } },
  'an empty body': { respond: { status: 200, body: '' } },
  'truncated JSON': { respond: { status: 200, body: '{"events_rec' } },
  'the page of a proxy': { respond: { status: 502, body: '<html>Bad Gateway</html>' } },
  unavailable: { respond: { status: 503, code: 2, is_transient: true } },
  'an unknown error': { respond: { status: 500, code: 1 } },
  'an unknown code': { respond: { status: 400, code: 999_999 } },
  'a negative code': { respond: { status: 400, code: -3 } },
  'a redirect': { respond: { status: 302, headers: { location: 'http://127.0.0.1:9/' } } },
  throttled: { respond: { status: 400, code: 4 } },
  'throttled with Retry-After': {
    respond: { status: 429, body: '', headers: { 'retry-after': '3' } },
  },
  'throttled until a date': {
    respond: {
      status: 429,
      code: 613,
      headers: {
        date: 'Sat, 21 Nov 2026 12:00:00 GMT',
        'retry-after': 'Sat, 21 Nov 2026 12:00:05 GMT',
      },
    },
  },
  'throttled with usage': {
    respond: {
      status: 400,
      code: 80_000,
      headers: { 'x-app-usage': '{"call_count":100,"total_time":25,"total_cputime":25}' },
    },
  },
  'blocked for policy reasons': { respond: { status: 400, code: 368 } },
  'an expired token': { respond: { status: 400, code: 190, subcode: 463 } },
  'a missing permission': { respond: { status: 400, code: 10 } },
  'slow responses': { delay_ms: 800 },
  'close to the limit': { headers: { 'x-app-usage': '{"call_count":95}' } },
  'refused content': { respond: { status: 400, code: 100, subcode: 2_804_048 } },
} as const satisfies Record<string, Failure>

/**
 * What every part of the simulator can do beside the Graph API: answers of a proxy, lost ones and
 * the platform's own errors, which follow the status. None of them ends a delivery.
 */
const COMMON_FAILURES: Readonly<Record<string, Failure>> = {
  'no connection before storing': PLATFORM_FAILURES['no connection before storing'],
  'no connection after storing': PLATFORM_FAILURES['no connection after storing'],
  'late and no connection after storing': PLATFORM_FAILURES['late and no connection after storing'],
  'a response without its body': PLATFORM_FAILURES['a response without its body'],
  'half a response': PLATFORM_FAILURES['half a response'],
  'the page of a proxy': PLATFORM_FAILURES['the page of a proxy'],
  'a redirect': PLATFORM_FAILURES['a redirect'],
  'throttled with Retry-After': PLATFORM_FAILURES['throttled with Retry-After'],
  'slow responses': PLATFORM_FAILURES['slow responses'],
  unavailable: { respond: { status: 503 } },
  'an unknown error': { respond: { status: 500 } },
  throttled: { respond: { status: 429 } },
  'an expired token': { respond: { status: 401 } },
}
const COMMON_NAMES = Object.keys(COMMON_FAILURES)

export type PlatformFailure = keyof typeof PLATFORM_FAILURES

export const PLATFORM_FAILURE_NAMES = Object.keys(PLATFORM_FAILURES) as PlatformFailure[]

/** A failure that ends deliveries: it only strikes requests with an event of this name. */
const REJECTS_CONTENT: PlatformFailure = 'refused content'
export const REJECTED_EVENT_NAME = 'Lead'

export function toFaultRule(failure: PlatformFailure, seed: number): FaultRule {
  const match = failure === REJECTS_CONTENT ? { event_name: REJECTED_EVENT_NAME } : undefined
  return { ...(match && { match }), probability: 0.7, seed, ...PLATFORM_FAILURES[failure] }
}

/**
 * The same trouble at a platform beside the Graph API, in the errors of its own part: the failure
 * of this name where the part has it, and else one that the seed chooses.
 */
export function toPartRule(failure: PlatformFailure, seed: number) {
  const name = Object.hasOwn(COMMON_FAILURES, failure)
    ? failure
    : (COMMON_NAMES[seed % COMMON_NAMES.length] as string)
  return { probability: 0.7, seed, ...COMMON_FAILURES[name] }
}
