import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import type { SeededRandom } from '../../fixtures/seeded-random.ts'

/** What a fault rule can match. */
export interface FaultTargets {
  datasetIds: readonly string[]
  eventIds: readonly string[]
  eventNames: readonly string[]
}

/** A few rules that make the platform fail in the ways a sender must handle. */
export function randomFaults(random: SeededRandom, targets: FaultTargets): FaultRule[] {
  return Array.from({ length: random.integer(1, 4) }, () => {
    const isRare = random.random() < 0.5
    const match = randomMatch(random, targets)
    return {
      ...(match && { match }),
      ...(isRare && {
        probability: random.pick([0.2, 0.5, 0.8]),
        seed: random.integer(1, 1_000),
      }),
      ...(!isRare && { times: random.integer(1, 4) }),
      ...randomFailure(random, match?.event_id !== undefined),
    }
  })
}

type Failure = Partial<FaultRule>

/** Rejects a request for its content; one matching event is enough. */
export const CONTENT_REJECTED: Failure = { respond: { status: 400, code: 100, subcode: 2_804_048 } }
const BROKEN_RESPONSES: readonly Failure[] = [
  { abort: 'before_response' },
  { abort: 'after_store' },
  { abort: 'after_store', delay_ms: 10 },
  { truncate: 0 },
  { truncate: 20 },
  { keep_events: 0 },
  { keep_events: 1 },
  { keep_events: 3 },
]
const ERROR_RESPONSES: readonly Failure[] = [
  { respond: { status: 503, code: 2, is_transient: true } },
  { respond: { status: 500, code: 1 } },
  { respond: { status: 502, body: '<html>Bad Gateway</html>' } },
  { respond: { status: 200, body: '{"events_rec' } },
  { respond: { status: 200, body: '{"events_received":9999}' } },
  { respond: { status: 302, headers: { location: 'http://127.0.0.1:9/' } } },
  { respond: { status: 400, code: 4 } },
  { respond: { status: 400, code: 368 } },
  { respond: { status: 429, body: '', headers: { 'retry-after': '120' } } },
  { respond: { status: 400, code: 999_999 } },
]
const DESTINATION_ERRORS: readonly Failure[] = [
  { respond: { status: 400, code: 190, subcode: 463 } },
  { respond: { status: 400, code: 10 } },
]
/** Longer than the timeout of the tests' workers. Once, because the worker does wait. */
const TOO_SLOW: Failure = { delay_ms: 400, times: 1 }
const HARMLESS_CHANGES: readonly Failure[] = [
  { delay_ms: 5 },
  { headers: { 'x-app-usage': '{"call_count":95}' } },
]

function randomFailure(random: SeededRandom, isAimedAtOne: boolean): Failure {
  // A single rejected event makes the service split its batch.
  if (isAimedAtOne && random.random() < 0.7) return CONTENT_REJECTED
  const kind = random.weighted({
    broken: 6,
    error: 6,
    destination: 2,
    content: 2,
    slow: 1,
    harmless: 1,
  })
  switch (kind) {
    case 'broken':
      return random.pick(BROKEN_RESPONSES)
    case 'slow':
      return TOO_SLOW
    case 'error':
      return random.pick(ERROR_RESPONSES)
    case 'content':
      return CONTENT_REJECTED
    case 'destination':
      return random.pick(DESTINATION_ERRORS)
    case 'harmless':
      return random.pick(HARMLESS_CHANGES)
  }
}

function randomMatch(
  random: SeededRandom,
  { datasetIds, eventIds, eventNames }: FaultTargets,
): FaultRule['match'] {
  const aim = random.weighted({ all: 4, dataset: 4, event: 4, name: 1, test: 1 })
  switch (aim) {
    case 'all':
      return undefined
    case 'dataset':
      return { dataset: random.pick(datasetIds) }
    case 'event':
      return eventIds.length === 0 ? undefined : { event_id: random.pick(eventIds) }
    case 'name':
      return { event_name: random.pick(eventNames) }
    case 'test':
      return { test: random.random() < 0.5 }
  }
}
