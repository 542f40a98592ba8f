import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { ProvisionedTracker } from '../../service/program/provisioning/provision-tracker.ts'
import { startTestService, type TestService } from '../fixtures/service.ts'
import { waitUntil } from '../fixtures/wait-until.ts'
import { startOwnCluster } from './citus-database.ts'
import { type CitusCluster, findCitusObstacle } from './cluster.ts'
import {
  assertStoredOnce,
  type EventLoad,
  startEventLoad,
  summarizeLoad,
  WITHDRAWN,
  withdrawAndErase,
  withdrawalEvent,
} from './event-load.ts'
import { isDelivered, refusals, startWorker } from './running-program.ts'
import {
  assertSentOnce,
  countAnswers,
  EVENTS_PER_ROUND,
  firstEvent,
  sendInRounds,
} from './simultaneous-load.ts'
import { createTrackersOnEachNode, splitByNode } from './tracker-placement.ts'

const skip = findCitusObstacle() ?? false
/** Not the shared cluster, because the tests kill its nodes. */
let cluster: CitusCluster

before(async () => {
  if (!skip) cluster = await startOwnCluster()
})

after(() => cluster?.stop())

/** The requests of a shop whose rows are not on the failed node. All must succeed. */
async function assertUnaffected(service: TestService, secret: string): Promise<void> {
  const answers = new Map<string, number>()
  const ask = async (method: string, path: string, body?: object) => {
    const { status } = await service.request(method, path, { secret, body })
    answers.set(`${method} ${path}`, status)
  }
  await ask('GET', '/api/v1/events/event-1-0')
  await ask('GET', '/api/v1/dashboard/events')
  await ask('POST', '/api/v1/deliveries/replay', {})
  await ask('POST', '/api/v1/deliveries/replay', { event_name: 'Purchase' })
  await ask('POST', '/api/v1/events', withdrawalEvent('a-second-visitor'))
  const refused = [...answers].filter(([, status]) => status >= 300)
  assert.deepEqual(refused, [], refusals(service))
}

it('a node failure affects only the trackers of that node, and no event is lost', {
  skip,
}, async test => {
  const service = await startTestService(test)
  const trackers = await createTrackersOnEachNode(service, 2)
  const [ofOther, ofKilled] = await splitByNode(service, trackers, cluster.ports[2] as number)
  for (const { trackerSecret } of trackers) await withdrawAndErase(service, trackerSecret)
  const errors = startWorker(test, service)
  const load = startEventLoad(service, trackers)
  for (const ids of load.accepted.values()) ids.push(`withdrawal of ${WITHDRAWN}`)
  await pause(2_000)
  await cluster.kill(2)
  await pause(1_000)
  const before = acceptedBy(load)
  const sentBefore = await sentBy(service, ofOther)
  await pause(5_000)
  const during = acceptedBy(load)
  const sentDuring = await sentBy(service, ofOther)
  for (const { trackerSecret } of ofOther) await assertUnaffected(service, trackerSecret)
  await cluster.restart(2)
  await pause(6_000)
  await load.end()
  for (const { trackerId } of ofOther) {
    assert.deepEqual(load.refused.get(trackerId), [], refusals(service))
    assert.ok(
      (during.get(trackerId) ?? 0) > (before.get(trackerId) ?? 0),
      'accepts events during the failure',
    )
    const sent = [sentBefore.get(trackerId) ?? 0, sentDuring.get(trackerId) ?? 0]
    assert.ok(
      (sent[1] ?? 0) > (sent[0] ?? 0),
      `delivers events during the failure: ${sent} ${errors}`,
    )
  }
  for (const { trackerId } of ofKilled) {
    const statuses = new Set(load.refused.get(trackerId))
    assert.deepEqual([...statuses], [503], refusals(service))
    const later = during.get(trackerId) ?? 0
    assert.ok(
      (load.accepted.get(trackerId)?.length ?? 0) > later,
      'accepts events after the restart',
    )
  }
  await assertStoredOnce(service, load)
  test.diagnostic(summarizeLoad(load))
})

const TRACKERS_PER_NODE = 5
const ROUNDS = 25

it('refuses no request of other trackers while all trackers send at the same moment', {
  skip,
}, async test => {
  const service = await startTestService(test)
  const trackers = await createTrackersOnEachNode(service, TRACKERS_PER_NODE)
  const [ofOther, ofKilled] = await splitByNode(service, trackers, cluster.ports[2] as number)
  for (const { trackerSecret: secret } of trackers) {
    await service.request('POST', '/api/v1/events', { secret, body: firstEvent() })
  }
  const errors = startWorker(test, service)
  await cluster.kill(2)
  const rounds = Array.from({ length: ROUNDS }, (_, number) => `round-${number}`)
  const answers = await sendInRounds(service, trackers, rounds)
  const events = TRACKERS_PER_NODE * ROUNDS * EVENTS_PER_ROUND
  assert.equal(events, 500)
  assert.deepEqual(
    countAnswers(answers, ofOther),
    { events, accepted: events, refused: {} },
    refusals(service),
  )
  const affected = countAnswers(answers, ofKilled)
  assert.equal(affected.accepted, 0)
  assert.deepEqual(
    Object.keys(affected.refused).filter(answer => !answer.endsWith(': 503')),
    [],
  )
  await assertOneServerDown(service)
  await waitUntil(`all of the other node is delivered: ${errors}`, async () =>
    isDelivered(service, ofOther),
  )
  await cluster.restart(2)
  const after = await sendInRounds(service, trackers, ['after-1', 'after-2'])
  const later = trackers.length * 2 * EVENTS_PER_ROUND
  assert.deepEqual(
    countAnswers(after, trackers),
    { events: later, accepted: later, refused: {} },
    refusals(service),
  )
  await waitUntil(`everything is delivered: ${errors}`, async () => isDelivered(service, trackers))
  await assertSentOnce(service, [answers, after])
})

/** The service as a whole is ready, and the check of its servers names the one that is down. */
async function assertOneServerDown({ request, delivery }: TestService): Promise<void> {
  assert.equal((await request('GET', '/readyz', { secret: null })).status, 200)
  assert.deepEqual([...((await delivery.nodes?.checkServers()) ?? [])].sort(), [
    [`127.0.0.1:${cluster.ports[1]}`, true],
    [`127.0.0.1:${cluster.ports[2]}`, false],
    ['main', true],
  ])
}

function acceptedBy({ accepted }: EventLoad): Map<string, number> {
  return new Map([...accepted].map(([trackerId, ids]) => [trackerId, ids.length]))
}

/** Accepted deliveries of each tracker, counted on its own node. */
async function sentBy(
  { delivery: { nodes } }: TestService,
  trackers: readonly ProvisionedTracker[],
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { trackerId } of trackers) {
    const node = await nodes?.findNode(trackerId)
    const answer = await node?.pool.query(
      `select count(*) as count from deliveries
       where tracker_id = $1::uuid and status = 'accepted'`,
      [trackerId],
    )
    counts.set(trackerId, answer?.rows[0].count ?? 0)
  }
  return counts
}
