import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import { DAY_SECONDS, HOUR_SECONDS } from '../../../service/runtime/util/time.ts'
import type { CrashPoint } from '../../crash/crash-injection.ts'
import { createSeededRandom, type SeededRandom } from '../../fixtures/seeded-random.ts'
import { CONTENT_REJECTED, randomFaults } from './random-faults.ts'

/** Trackers are named by their number, from 0. */
export type Step =
  | { step: 'submit'; events: PlannedEvent[] }
  | { step: 'withdraw'; tracker: number; visitor: number }
  | { step: 'switch test mode'; tracker: number; enabled: boolean }
  | { step: 'test purchase'; tracker: number }
  /** The rules name a dataset by its tracker's number. */
  | { step: 'inject faults'; rules: FaultRule[] }
  | { step: 'revoke token'; tracker: number }
  | { step: 'restore tokens' }
  | { step: 'move clock'; seconds: number }
  | { step: 'replay'; tracker: number; body: Record<string, unknown> }
  /** Runs one worker per entry concurrently; a non-null entry is where that worker crashes. */
  | { step: 'work'; crashPoints: (CrashPoint | null)[] }
  /** A worker receives no response until its leases have expired and another has done its work. */
  | { step: 'freeze worker' }
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
  /** It has too little user data for the platform to accept it. */
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

const WINDOW = 7 * DAY_SECONDS
/** Around the end of the platform's window: beyond it, within our margin, and just before. */
const OLD_AGES = [WINDOW + 60, WINDOW - 30, WINDOW - 90, WINDOW - 600, WINDOW - 3 * HOUR_SECONDS]
const FORWARD = [1, 5, 30, 60, 120, 600, 3_600, 6 * HOUR_SECONDS, DAY_SECONDS, 3 * DAY_SECONDS]
const BACK = [1, 30, 240, 600]

/** The frequency of each step; the same for every seed. */
const WEIGHTS = {
  submit: 9,
  withdraw: 2,
  'switch test mode': 3,
  'test purchase': 1,
  'inject faults': 6,
  'revoke token': 1,
  'restore tokens': 1,
  'move clock': 7,
  replay: 5,
  work: 12,
  'freeze worker': 2,
  'end leases': 4,
  'divide a batch': 2,
  outage: 1,
} as const satisfies Record<Step['step'] | 'divide a batch' | 'outage', number>

/** Plans everything that happens in a run with this seed. */
export function createFaultSchedule(seed: number): FaultSchedule {
  const random = createSeededRandom(seed)
  const batchMax = random.pick([1, 4, 1_000, 1_000])
  const eventIds: string[] = []
  const steps: Step[] = [{ step: 'submit', events: randomEvents(random, eventIds) }]
  const count = random.integer(STEP_COUNT.minimum, STEP_COUNT.maximum)
  while (steps.length < count) {
    const step = random.weighted(WEIGHTS)
    if (step === 'divide a batch') steps.push(...splitBatchSteps(random, eventIds))
    else if (step === 'outage') steps.push(...outageSteps(random, eventIds))
    else steps.push(randomStep(random, step, eventIds))
  }
  return { batchMax, steps }
}

/** One event that is rejected for its content, and a worker that crashes before reaching it. */
function splitBatchSteps(random: SeededRandom, eventIds: string[]): Step[] {
  const events = randomEvents(random, eventIds)
  const rejectedId = random.pick(events.slice(-3)).eventId
  const others = random.random() < 0.7 ? randomFaultRules(random, eventIds) : []
  const crashPoint: CrashPoint = { at: 'answer', count: random.integer(2, 6) }
  return [
    { step: 'submit', events },
    {
      step: 'inject faults',
      rules: [{ match: { event_id: rejectedId }, ...CONTENT_REJECTED }, ...others],
    },
    { step: 'work', crashPoints: [crashPoint] },
  ]
}

/** A platform that answers nothing for so long that the circuits of the workers open. */
function outageSteps(random: SeededRandom, eventIds: string[]): Step[] {
  const failure = random.pick([{ abort: 'before_response' }, { respond: { status: 503, code: 2 } }])
  const rounds = Array.from({ length: random.integer(3, 6) }, (): Step[] => [
    { step: 'work', crashPoints: [null] },
    { step: 'move clock', seconds: random.pick([5, 30, 60]) },
    { step: 'submit', events: randomEvents(random, eventIds) },
  ])
  return [{ step: 'inject faults', rules: [failure as FaultRule] }, ...rounds.flat()]
}

function randomStep(random: SeededRandom, step: Step['step'], eventIds: string[]): Step {
  const tracker = random.integer(0, TRACKER_COUNT - 1)
  switch (step) {
    case 'submit':
      return { step, events: randomEvents(random, eventIds) }
    case 'withdraw':
      return { step, tracker, visitor: random.integer(0, VISITOR_COUNT - 1) }
    case 'switch test mode':
      return { step, tracker, enabled: random.random() < 0.6 }
    case 'test purchase':
    case 'revoke token':
      return { step, tracker }
    case 'inject faults':
      return { step, rules: random.random() < 0.2 ? [] : randomFaultRules(random, eventIds) }
    case 'restore tokens':
    case 'freeze worker':
    case 'end leases':
      return { step }
    case 'move clock':
      return { step, seconds: randomClockStep(random) }
    case 'replay':
      return { step, tracker, body: randomReplayFilters(random) }
    case 'work':
      return { step, crashPoints: randomCrashPoints(random) }
  }
}

/** Of one tracker, so that they go out in one request. */
function randomEvents(random: SeededRandom, eventIds: string[]): PlannedEvent[] {
  const tracker = random.integer(0, TRACKER_COUNT - 1)
  return Array.from({ length: random.integer(1, EVENTS_A_STEP_MAX) }, () => {
    const eventId = `event-${eventIds.length + 1}`
    eventIds.push(eventId)
    const eventName = random.pick(EVENT_NAMES)
    const isOld = random.random() < 0.15
    return {
      eventId,
      tracker,
      eventName,
      visitor: random.integer(0, VISITOR_COUNT - 1),
      value: eventName === 'Purchase' || random.random() < 0.5 ? random.pick(VALUES) : null,
      ageSeconds: isOld ? random.pick(OLD_AGES) : random.integer(0, 3_600),
      isIncomplete: random.random() < 0.06,
    }
  })
}

function randomFaultRules(random: SeededRandom, eventIds: readonly string[]): FaultRule[] {
  const datasetIds = Array.from({ length: TRACKER_COUNT }, (_, tracker) => String(tracker))
  const recent = eventIds.slice(-RECENT_EVENTS)
  return randomFaults(random, { datasetIds, eventIds: recent, eventNames: EVENT_NAMES })
}

function randomClockStep(random: SeededRandom): number {
  return random.random() < 0.25 ? -random.pick(BACK) : random.pick(FORWARD)
}

function randomReplayFilters(random: SeededRandom): Record<string, unknown> {
  const ids = () => Array.from({ length: 6 }, () => random.integer(1, 30))
  return {
    ...(random.random() < 0.3 && { delivery_ids: ids() }),
    ...(random.random() < 0.3 && { event_name: random.pick(EVENT_NAMES) }),
    ...(random.random() < 0.3 && { limit: random.integer(1, 5) }),
  }
}

/** A queue takes about eight statements, so a crash happens anywhere in one of the first queues. */
function randomCrashPoints(random: SeededRandom): (CrashPoint | null)[] {
  return Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => {
    if (random.random() < 0.7) return null
    const at = random.pick(['before statement', 'after statement', 'answer'] as const)
    return { at, count: random.integer(1, at === 'answer' ? 4 : 20) }
  })
}
