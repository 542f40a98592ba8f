import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import type { CrashPoint } from '../../crash/crash-injection.ts'
import { createSeededRandom, type SeededRandom } from '../../fixtures/seeded-random.ts'
import { CONTENT_REJECTED, randomFaults } from './random-faults.ts'

/** Trackers are named by their number, from 0. */
export type Step =
  | { step: 'submit'; events: PlannedEvent[] }
  | { step: 'withdraw'; tracker: number; visitor: number }
  | { step: 'switch test mode'; tracker: number; enabled: boolean }
  | { step: 'test purchase'; tracker: number }
  /** The rules name a dataset by the number of its tracker. */
  | { step: 'fail'; rules: FaultRule[] }
  | { step: 'revoke token'; tracker: number }
  | { step: 'restore tokens' }
  | { step: 'move clock'; seconds: number }
  | { step: 'replay'; tracker: number; body: Record<string, unknown> }
  /** So many workers at the same time, and when each of them dies. */
  | { step: 'work'; crashPoints: (CrashPoint | null)[] }
  /** A worker does not hear an answer until its leases are over and another has done its work. */
  | { step: 'freeze a worker' }
  | { step: 'end leases' }

export interface PlannedEvent {
  eventId: string
  tracker: number
  eventName: string
  visitor: number
  /** Null for an event without one. */
  value: string | null
  /** How long ago it happened. */
  ageSeconds: number
  /** Too little is known of the person, so that the platform would refuse it. */
  isIncomplete: boolean
}

export interface FaultSchedule {
  batchMax: number
  steps: Step[]
}

export const TRACKER_COUNT = 3
const VISITOR_COUNT = 8
const STEP_COUNT = { minimum: 30, maximum: 60 }
const EVENTS_A_STEP_MAX = 12
/** Faults are aimed at what is probably still waiting. */
const RECENT_EVENTS = 12
const EVENT_NAMES = ['Purchase', 'Purchase', 'Lead']
const VALUES = ['19.90', '0.10', '0.3', '100', '7.000001', '123456789012345.678901']

const DAY = 86_400
const WINDOW = 7 * DAY
/** Around the end of the platform's window: beyond it, within our margin, and just before. */
const OLD_AGES = [WINDOW + 60, WINDOW - 30, WINDOW - 90, WINDOW - 600, WINDOW - 3 * 3_600]
const FORWARD = [1, 5, 30, 60, 120, 600, 3_600, 6 * 3_600, DAY, 3 * DAY]
const BACK = [1, 30, 240, 600]

/** What comes at all and how often; the same for every seed. */
const WEIGHTS = {
  submit: 9,
  withdraw: 2,
  'switch test mode': 3,
  'test purchase': 1,
  fail: 6,
  'revoke token': 1,
  'restore tokens': 1,
  'move clock': 7,
  replay: 5,
  work: 12,
  'freeze a worker': 2,
  'end leases': 4,
  'divide a batch': 2,
} as const satisfies Record<Step['step'] | 'divide a batch', number>

/** Everything that happens in a run with this seed, before any of it happens. */
export function createFaultSchedule(seed: number): FaultSchedule {
  const choices = createSeededRandom(seed)
  const batchMax = choices.pick([1, 4, 1_000, 1_000])
  const eventIds: string[] = []
  const steps: Step[] = [{ step: 'submit', events: randomEvents(choices, eventIds) }]
  const count = choices.integer(STEP_COUNT.minimum, STEP_COUNT.maximum)
  while (steps.length < count) {
    const step = choices.weighted(WEIGHTS)
    if (step === 'divide a batch') steps.push(...splitBatchSteps(choices, eventIds))
    else steps.push(randomStep(choices, step, eventIds))
  }
  return { batchMax, steps }
}

/** One event that is refused for its content, and a worker that dies on the way to it. */
function splitBatchSteps(choices: SeededRandom, eventIds: string[]): Step[] {
  const events = randomEvents(choices, eventIds)
  const guilty = choices.pick(events.slice(-3)).eventId
  const others = choices.random() < 0.7 ? randomFaultRules(choices, eventIds) : []
  const death: CrashPoint = { at: 'answer', count: choices.integer(2, 6) }
  return [
    { step: 'submit', events },
    { step: 'fail', rules: [{ match: { event_id: guilty }, ...CONTENT_REJECTED }, ...others] },
    { step: 'work', crashPoints: [death] },
  ]
}

function randomStep(choices: SeededRandom, step: Step['step'], eventIds: string[]): Step {
  const tracker = choices.integer(0, TRACKER_COUNT - 1)
  switch (step) {
    case 'submit':
      return { step, events: randomEvents(choices, eventIds) }
    case 'withdraw':
      return { step, tracker, visitor: choices.integer(0, VISITOR_COUNT - 1) }
    case 'switch test mode':
      return { step, tracker, enabled: choices.random() < 0.6 }
    case 'test purchase':
    case 'revoke token':
      return { step, tracker }
    case 'fail':
      return { step, rules: choices.random() < 0.2 ? [] : randomFaultRules(choices, eventIds) }
    case 'restore tokens':
    case 'freeze a worker':
    case 'end leases':
      return { step }
    case 'move clock':
      return { step, seconds: randomClockStep(choices) }
    case 'replay':
      return { step, tracker, body: randomReplayFilters(choices) }
    case 'work':
      return { step, crashPoints: randomCrashPoints(choices) }
  }
}

/** Of one tracker, so that they go out in one request. */
function randomEvents(choices: SeededRandom, eventIds: string[]): PlannedEvent[] {
  const tracker = choices.integer(0, TRACKER_COUNT - 1)
  return Array.from({ length: choices.integer(1, EVENTS_A_STEP_MAX) }, () => {
    const eventId = `event-${eventIds.length + 1}`
    eventIds.push(eventId)
    const eventName = choices.pick(EVENT_NAMES)
    const isOld = choices.random() < 0.15
    return {
      eventId,
      tracker,
      eventName,
      visitor: choices.integer(0, VISITOR_COUNT - 1),
      value: eventName === 'Purchase' || choices.random() < 0.5 ? choices.pick(VALUES) : null,
      ageSeconds: isOld ? choices.pick(OLD_AGES) : choices.integer(0, 3_600),
      isIncomplete: choices.random() < 0.06,
    }
  })
}

function randomFaultRules(choices: SeededRandom, eventIds: readonly string[]): FaultRule[] {
  const datasetIds = Array.from({ length: TRACKER_COUNT }, (_, tracker) => String(tracker))
  const recent = eventIds.slice(-RECENT_EVENTS)
  return randomFaults(choices, { datasetIds, eventIds: recent, eventNames: EVENT_NAMES })
}

function randomClockStep(choices: SeededRandom): number {
  return choices.random() < 0.25 ? -choices.pick(BACK) : choices.pick(FORWARD)
}

function randomReplayFilters(choices: SeededRandom): Record<string, unknown> {
  const ids = () => Array.from({ length: 6 }, () => choices.integer(1, 30))
  return {
    ...(choices.random() < 0.3 && { delivery_ids: ids() }),
    ...(choices.random() < 0.3 && { event_name: choices.pick(EVENT_NAMES) }),
    ...(choices.random() < 0.3 && { limit: choices.integer(1, 5) }),
  }
}

/** A lane takes about eight statements, so a death comes anywhere in one of the first lanes. */
function randomCrashPoints(choices: SeededRandom): (CrashPoint | null)[] {
  return Array.from({ length: choices.pick([1, 1, 1, 2, 3]) }, () => {
    if (choices.random() < 0.7) return null
    const at = choices.pick(['before statement', 'after statement', 'answer'] as const)
    return { at, count: choices.integer(1, at === 'answer' ? 4 : 20) }
  })
}
