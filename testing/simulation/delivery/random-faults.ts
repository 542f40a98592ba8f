import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import type { SeededRandom } from '../../fixtures/seeded-random.ts'

/** What there is to aim at. */
export interface FaultTargets {
  datasetIds: readonly string[]
  eventIds: readonly string[]
  eventNames: readonly string[]
}

/** A few rules that make the platform fail in all the ways that a sender has to live with. */
export function randomFaults(choices: SeededRandom, targets: FaultTargets): FaultRule[] {
  return Array.from({ length: choices.integer(1, 4) }, () => {
    const isRare = choices.random() < 0.5
    const match = randomMatch(choices, targets)
    return {
      ...(match && { match }),
      ...(isRare && {
        probability: choices.pick([0.2, 0.5, 0.8]),
        seed: choices.integer(1, 1_000),
      }),
      ...(!isRare && { times: choices.integer(1, 4) }),
      ...randomFailure(choices, match?.event_id !== undefined),
    }
  })
}

type Failure = Partial<FaultRule>

/** For the content of the events, of which one may be enough. */
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
/** Longer than a worker of the tests waits; once is enough, because it does wait. */
const TOO_SLOW: Failure = { delay_ms: 400, times: 1 }
const HARMLESS_CHANGES: readonly Failure[] = [
  { delay_ms: 5 },
  { headers: { 'x-app-usage': '{"call_count":95}' } },
]

function randomFailure(choices: SeededRandom, isAimedAtOne: boolean): Failure {
  // One event that is refused for its content is what makes a batch fall into halves.
  if (isAimedAtOne && choices.random() < 0.7) return CONTENT_REJECTED
  const kind = choices.weighted({ cut: 6, said: 6, destination: 2, refused: 2, slow: 1, well: 1 })
  switch (kind) {
    case 'cut':
      return choices.pick(BROKEN_RESPONSES)
    case 'slow':
      return TOO_SLOW
    case 'said':
      return choices.pick(ERROR_RESPONSES)
    case 'refused':
      return CONTENT_REJECTED
    case 'destination':
      return choices.pick(DESTINATION_ERRORS)
    case 'well':
      return choices.pick(HARMLESS_CHANGES)
  }
}

function randomMatch(
  choices: SeededRandom,
  { datasetIds, eventIds, eventNames }: FaultTargets,
): FaultRule['match'] {
  const aim = choices.weighted({ all: 4, dataset: 4, event: 4, name: 1, test: 1 })
  switch (aim) {
    case 'all':
      return undefined
    case 'dataset':
      return { dataset: choices.pick(datasetIds) }
    case 'event':
      return eventIds.length === 0 ? undefined : { event_id: choices.pick(eventIds) }
    case 'name':
      return { event_name: choices.pick(eventNames) }
    case 'test':
      return { test: choices.random() < 0.5 }
  }
}
