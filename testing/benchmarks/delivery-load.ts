import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import type { DeliveryPlan, DeliveryScenario } from './bench-plan.ts'

/** The events of a delivery round, and the faults that the simulator injects. */
export interface DeliveryLoad {
  events: number
  /** Trackers with one destination each; the events are distributed evenly. */
  destinations: number
  /** SIGNALBOX_DELIVERY_BATCH_MAX. */
  batchEvents: number
  failures: readonly ScriptedFailure[]
}

/** The default of SIGNALBOX_DELIVERY_BATCH_MAX. */
const BATCH_EVENTS = 1_000
/** Smaller requests, because one failure in twenty means little with fifty requests. */
const FAULTS_BATCH_EVENTS = 100

export function createDeliveryLoad(scenario: DeliveryScenario, plan: DeliveryPlan): DeliveryLoad {
  const { events, throttlesMax } = plan
  const batchEvents = plan.batchEvents ?? BATCH_EVENTS
  const plain = { events, destinations: 1, batchEvents, failures: [] }
  switch (scenario) {
    case 'plain':
      return plain
    case 'faults': {
      const batchEvents = plan.batchEvents ?? FAULTS_BATCH_EVENTS
      const requests = Math.ceil(events / batchEvents)
      const failures = createScriptedFailures({ requests, throttlesMax })
      return { ...plain, batchEvents, failures }
    }
    case 'fairness':
      return { ...plain, destinations: plan.destinations }
    case 'outage':
      return { ...plain, events: plan.outageEvents }
  }
}

/** A fault of the simulator, with a name for the report. */
export interface ScriptedFailure {
  name: string
  rule: FaultRule
  /** The simulator keeps the events although the request fails, so they are sent twice. */
  keepsEvents: boolean
}

interface FailuresToScript {
  /** Requests needed without failures. */
  requests: number
  throttlesMax: number
}

/** Five kinds at 1 % each: one request in twenty fails. */
const SHARE = 0.01
/** Higher than the share, so that nearly all failures happen before the last requests. */
const CHANCE = 0.015

const HTML_PAGE = {
  status: 502,
  body: '<html><body>Bad Gateway</body></html>',
  headers: { 'content-type': 'text/html' },
}
const FULL_USAGE = '{"call_count":100,"total_time":25,"total_cputime":25}'
const TRUNCATED_BYTES = 10

const KINDS: { name: string; rule: FaultRule }[] = [
  { name: 'HTTP 503 code 2', rule: { respond: { status: 503, code: 2, is_transient: true } } },
  { name: 'HTTP 502 with HTML', rule: { respond: HTML_PAGE } },
  { name: 'closed before the response', rule: { abort: 'before_response' } },
  { name: 'closed after storing', rule: { abort: 'after_store' } },
  { name: 'truncated response', rule: { truncate: TRUNCATED_BYTES } },
]
const THROTTLED: { name: string; rule: FaultRule } = {
  name: 'throttled',
  rule: {
    respond: { status: 400, code: 4, is_transient: true, headers: { 'x-app-usage': FULL_USAGE } },
  },
}

/**
 * The failures of `faults`. Each kind has its own seeded sequence, which is the same in every run,
 * and a fixed number of hits. Without that limit a few of 50,000 events would fail three or four
 * times and wait two or ten minutes more, and the time of the last event would depend on luck.
 */
function createScriptedFailures({ requests, throttlesMax }: FailuresToScript): ScriptedFailure[] {
  const times = Math.max(1, Math.round(requests * SHARE))
  const kinds = KINDS.map(kind => ({ ...kind, times }))
  if (throttlesMax > 0) kinds.push({ ...THROTTLED, times: throttlesMax })
  return kinds.map(({ name, rule, times }, index) => ({
    name,
    rule: { ...rule, times, probability: CHANCE, seed: index + 1 },
    keepsEvents: rule.abort === 'after_store' || rule.truncate !== undefined,
  }))
}

/** How often each failure has fired, in the given order. */
export async function firedCounts(simulatorUrl: string): Promise<number[]> {
  const response = await fetch(`${simulatorUrl}/_simulator/faults`)
  const { rules } = (await response.json()) as { rules: { fired: number }[] }
  return rules.map(({ fired }) => fired)
}
