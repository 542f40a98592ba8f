import type { FaultRule } from '@signalbox/graph-simulator/fault-rules.ts'
import type { DeliveryPlan, DeliveryScenario } from './bench-plan.ts'

/** What a round of delivery has to bring to the simulator, and what stands in its way. */
export interface DeliveryLoad {
  events: number
  /** Trackers with one destination each; the events are dealt out among them. */
  lanes: number
  /** SIGNALBOX_DELIVERY_BATCH_MAX. */
  batchEvents: number
  failures: readonly ScriptedFailure[]
}

/** The default of SIGNALBOX_DELIVERY_BATCH_MAX. */
const BATCH_EVENTS = 1_000
/** One request in twenty means little among fifty: there are ten times as many. */
const FAULTS_BATCH_EVENTS = 100

export function createDeliveryLoad(scenario: DeliveryScenario, plan: DeliveryPlan): DeliveryLoad {
  const { events, throttlesMax } = plan
  const batchEvents = plan.batchEvents ?? BATCH_EVENTS
  const plain = { events, lanes: 1, batchEvents, failures: [] }
  switch (scenario) {
    case 'plain':
      return plain
    case 'faults': {
      const batchEvents = plan.batchEvents ?? FAULTS_BATCH_EVENTS
      const requests = Math.ceil(events / batchEvents)
      const failures = createScriptedFailures({ requests, throttlesMax })
      return { ...plain, batchEvents, failures }
    }
    case 'lanes':
      return { ...plain, lanes: plan.lanes }
    case 'outage':
      return { ...plain, events: plan.outageEvents }
  }
}

/** One way in which the simulator fails, with a name for the report. */
export interface ScriptedFailure {
  name: string
  rule: FaultRule
  /** The simulator keeps the events all the same, so that they come a second time. */
  keepsEvents: boolean
}

interface FailuresToScript {
  /** That the events would take if none failed. */
  requests: number
  throttlesMax: number
}

/** Five kinds at one in a hundred: one request in twenty fails. */
const SHARE = 0.01
/** Drawn somewhat more often than wanted, so that nearly all have hit before the last requests. */
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
  { name: 'HTTP 502 with a page', rule: { respond: HTML_PAGE } },
  { name: 'cut before the answer', rule: { abort: 'before_response' } },
  { name: 'cut after storing', rule: { abort: 'after_store' } },
  { name: 'half an answer', rule: { truncate: TRUNCATED_BYTES } },
]
const THROTTLED: { name: string; rule: FaultRule } = {
  name: 'throttled',
  rule: {
    respond: { status: 400, code: 4, is_transient: true, headers: { 'x-app-usage': FULL_USAGE } },
  },
}

/**
 * The failures of `faults`. Each kind draws from a sequence of its own, the same in every run, and
 * has so many hits and no more. Without that limit the time until the last event is accepted says
 * little: of 50,000 events a few fail three or four times, and wait two or ten minutes after that.
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

/** Makes the simulator fail in these ways from now on (graph-simulator/README.md). */
export async function scriptFailures(
  simulatorUrl: string,
  failures: readonly ScriptedFailure[],
): Promise<void> {
  const body = JSON.stringify({ rules: failures.map(({ rule }) => rule) })
  const response = await fetch(faultsUrl(simulatorUrl), { method: 'POST', body })
  if (response.status !== 200) throw new Error(`the simulator refused: ${await response.text()}`)
}

/** How often each failure has hit a request, in the order in which they were given. */
export async function firedCounts(simulatorUrl: string): Promise<number[]> {
  const response = await fetch(faultsUrl(simulatorUrl))
  const { rules } = (await response.json()) as { rules: { fired: number }[] }
  return rules.map(({ fired }) => fired)
}

function faultsUrl(simulatorUrl: string): string {
  return `${simulatorUrl}/_simulator/faults`
}
