// Full run only: runs measurements.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SimulatorSummary } from '../fixtures/simulator.ts'
import { findDeliveryFaults, findOutageFaults } from './delivery.ts'
import { createDeliveryLoad, type ScriptedFailure } from './delivery-load.ts'
import type { DeliveryRound } from './delivery-round.ts'
import type { DrainResult } from './drain.ts'
import type { OutageRound } from './outage-round.ts'

const EVENTS = 100
const AT = new Date('2026-11-21T12:00:00Z')
const COST = { workerCpuSeconds: null, storeCpuSeconds: null, memory: null }
const REFUSING: ScriptedFailure = { name: 'refuses', rule: {}, keepsEvents: false }
const KEEPING: ScriptedFailure = { name: 'keeps', rule: {}, keepsEvents: true }

const DRAINED: DrainResult = {
  startedAt: AT,
  endedAt: AT,
  mostlyAt: AT,
  accepted: EVENTS,
  trackers: [],
  requests: 10,
  failedRequests: 0,
  unknownEvents: 0,
}
const SUMMARY: SimulatorSummary = {
  requests: 10,
  refused_requests: 0,
  receipts: EVENTS,
  unique_events: EVENTS,
  deduplicated: 0,
  test_receipts: 0,
  value_by_currency: {},
}
const LOAD = { events: EVENTS, destinations: 1, batchEvents: 10, failures: [] }

interface Change {
  drained?: Partial<DrainResult>
  simulator?: Partial<SimulatorSummary>
  failures?: ScriptedFailure[]
  fired?: number[]
}

function round({ drained, simulator, failures = [], fired = [] }: Change = {}): DeliveryRound {
  return {
    ...COST,
    load: { ...LOAD, failures },
    drained: { ...DRAINED, ...drained },
    simulator: { ...SUMMARY, ...simulator },
    fired,
    limitEventsPerSecond: 1,
  }
}

function outage({ drained, simulator }: Change = {}): OutageRound {
  return {
    ...COST,
    load: LOAD,
    outageSeconds: 1,
    waiting: [],
    noticedSeconds: 1,
    drainSeconds: 1,
    drained: { ...DRAINED, requests: 13, failedRequests: 3, ...drained },
    simulator: { ...SUMMARY, ...simulator },
    limitEventsPerSecond: 1,
  }
}

it('finds no fault when every event was accepted and received once', () => {
  assert.deepEqual(findDeliveryFaults(round()), [])
  assert.deepEqual(findOutageFaults(outage()), [])
})

it('expects scripted failures and the duplicates that they cause', () => {
  const failures = [REFUSING, KEEPING]
  const drained = { unknownEvents: 20 }
  const simulator = { refused_requests: 2, deduplicated: 20, receipts: EVENTS + 20 }
  assert.deepEqual(findDeliveryFaults(round({ drained, simulator, failures, fired: [2, 2] })), [])
})

const WRONGS: [what: string, change: Change, sentence: RegExp][] = [
  [
    'an event that was not accepted',
    { drained: { accepted: 99 } },
    /^Of 100 deliveries, 99 were accepted\. The simulator has 100 events/,
  ],
  [
    'an event that was accepted and not received',
    { simulator: { unique_events: 99 } },
    /^Of 100 deliveries, 100 were accepted\. The simulator has 99 events/,
  ],
  [
    'an event that was sent again after a response',
    { simulator: { deduplicated: 11 }, drained: { unknownEvents: 10 } },
    /and 11 duplicates; 10 events had an unknown outcome\.$/,
  ],
  ['an unscripted rejection', { simulator: { refused_requests: 1 } }, /refused 1 /],
  ['a request that the store has not recorded', { drained: { requests: 9 } }, /the store has 9\.$/],
]

for (const [what, change, sentence] of WRONGS) {
  it(`names ${what}`, () => {
    const faults = findDeliveryFaults(round(change))
    assert.equal(faults.length, 1)
    assert.match(faults[0] ?? '', sentence)
  })
}

it('names a round of faults without a failure', () => {
  const faults = findDeliveryFaults(round({ failures: [REFUSING, KEEPING], fired: [0, 0] }))
  assert.deepEqual(faults, ['No request failed: there were too few requests.'])
})

it('names an outage without a request, and lost events', () => {
  const unmet = outage({ drained: { requests: 10, failedRequests: 0 } })
  assert.deepEqual(findOutageFaults(unmet), ['No request was made during the outage.'])
  const lost = outage({ drained: { accepted: 98 }, simulator: { unique_events: 98 } })
  assert.match(findOutageFaults(lost).join(), /^Of 100 deliveries, 98 were accepted/)
  const refused = outage({ simulator: { refused_requests: 1 } })
  assert.match(findOutageFaults(refused).join(), /refused 1 of them/)
})

it('scripts a failure for one request in twenty', () => {
  const rounds = { plain: 0, faults: 1, fairness: 0, outage: 0 }
  const outage = { outageEvents: 1, outageSeconds: 1 }
  const plan = {
    rounds,
    ...outage,
    events: 50_000,
    batchEvents: null,
    destinations: 1,
    throttlesMax: 1,
  }
  const timesOf = (throttlesMax: number) =>
    createDeliveryLoad('faults', { ...plan, throttlesMax }).failures.map(({ rule }) => rule.times)
  assert.deepEqual(timesOf(0), [5, 5, 5, 5, 5])
  assert.deepEqual(timesOf(1), [5, 5, 5, 5, 5, 1])
})
