import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findDeliveryFaults, findOutageFaults } from './delivery.ts'
import { createDeliveryLoad, type ScriptedFailure } from './delivery-load.ts'
import type { DeliveryRound } from './delivery-round.ts'
import type { DrainResult, SimulatorSummary } from './drain.ts'
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
  lanes: [],
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
}
const LOAD = { events: EVENTS, lanes: 1, batchEvents: 10, failures: [] }

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
    pipeEventsPerSecond: 1,
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
    pipeEventsPerSecond: 1,
  }
}

it('finds nothing wrong when every event was accepted and received once', () => {
  assert.deepEqual(findDeliveryFaults(round()), [])
  assert.deepEqual(findOutageFaults(outage()), [])
})

it('takes scripted failures, and what they make come twice, for what they are', () => {
  const failures = [REFUSING, KEEPING]
  const drained = { unknownEvents: 20 }
  const simulator = { refused_requests: 2, deduplicated: 20, receipts: EVENTS + 20 }
  assert.deepEqual(findDeliveryFaults(round({ drained, simulator, failures, fired: [2, 2] })), [])
})

const WRONGS: [what: string, change: Change, sentence: RegExp][] = [
  [
    'an event that was not accepted',
    { drained: { accepted: 99 } },
    /^Of 100 deliveries 99 were accepted; the simulator has 100,/,
  ],
  [
    'an event that was accepted and not received',
    { simulator: { unique_events: 99 } },
    /^Of 100 deliveries 100 were accepted; the simulator has 99,/,
  ],
  [
    'an event that was sent again after an answer',
    { simulator: { deduplicated: 11 }, drained: { unknownEvents: 10 } },
    /and 11 again, of 10 with an unknown outcome\.$/,
  ],
  [
    'a request that was refused without a script',
    { simulator: { refused_requests: 1 } },
    /refused 1 /,
  ],
  ['a request that the store has forgotten', { drained: { requests: 9 } }, /the store kept 9\.$/],
]

for (const [what, change, sentence] of WRONGS) {
  it(`names ${what}`, () => {
    const faults = findDeliveryFaults(round(change))
    assert.equal(faults.length, 1)
    assert.match(faults[0] ?? '', sentence)
  })
}

it('names a round of failures in which nothing failed', () => {
  const faults = findDeliveryFaults(round({ failures: [REFUSING, KEEPING], fired: [0, 0] }))
  assert.deepEqual(faults, ['No request failed: there were too few of them.'])
})

it('reports an outage that no request met, and events that were lost in it', () => {
  const unmet = outage({ drained: { requests: 10, failedRequests: 0 } })
  assert.deepEqual(findOutageFaults(unmet), ['No request was made while the platform was gone.'])
  const lost = outage({ drained: { accepted: 98 }, simulator: { unique_events: 98 } })
  assert.match(findOutageFaults(lost).join(), /^Of 100 deliveries 98 were accepted/)
  const refused = outage({ simulator: { refused_requests: 1 } })
  assert.match(findOutageFaults(refused).join(), /refused 1 of them/)
})

it('scripts as many failures as make one request in twenty', () => {
  const rounds = { plain: 0, faults: 1, lanes: 0, outage: 0 }
  const outage = { outageEvents: 1, outageSeconds: 1 }
  const plan = { rounds, ...outage, events: 50_000, batchEvents: null, lanes: 1, throttlesMax: 1 }
  const timesOf = (throttlesMax: number) =>
    createDeliveryLoad('faults', { ...plan, throttlesMax }).failures.map(({ rule }) => rule.times)
  assert.deepEqual(timesOf(0), [5, 5, 5, 5, 5])
  assert.deepEqual(timesOf(1), [5, 5, 5, 5, 5, 1])
})
