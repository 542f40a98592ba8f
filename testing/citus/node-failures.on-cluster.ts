import assert from 'node:assert/strict'
import { after, before, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { ProvisionedTracker } from '../../service/program/provisioning/provision-tracker.ts'
import { startDeliveryWorker } from '../../service/signals/delivery/worker.ts'
import { startTestService, type TestService } from '../fixtures/service.ts'
import { prepareCitusTemplate } from './citus-database.ts'
import {
  CITUS_CLUSTER,
  type CitusCluster,
  findCitusObstacle,
  startCitusCluster,
} from './cluster.ts'
import {
  assertStoredOnce,
  type EventLoad,
  startEventLoad,
  WITHDRAWN,
  withdrawAndErase,
  withdrawalEvent,
} from './event-load.ts'
import { createTrackersOnEachNode, findTrackerPort } from './tracker-placement.ts'

const skip = findCitusObstacle() ?? false
/** Not the shared cluster, because the tests kill its nodes. */
let cluster: CitusCluster

before(async () => {
  if (skip) return
  cluster = await startCitusCluster()
  await prepareCitusTemplate(cluster)
  const { connectionString, ports } = cluster
  process.env[CITUS_CLUSTER] = JSON.stringify({ connectionString, ports })
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

async function serviceWithTrackers(test: TestContext) {
  const service = await startTestService(test)
  const trackers = await createTrackersOnEachNode(service, 2)
  return { service, trackers }
}

it('a node failure affects only the trackers of that node, and no event is lost', {
  skip,
}, async test => {
  const { service, trackers } = await serviceWithTrackers(test)
  const killedPort = cluster.ports[2]
  const ports = await Promise.all(
    trackers.map(({ trackerId }) => findTrackerPort(service, trackerId)),
  )
  const ofKilled = trackers.filter((_, index) => ports[index] === killedPort)
  const ofOther = trackers.filter((_, index) => ports[index] !== killedPort)
  for (const { trackerSecret } of trackers) await withdrawAndErase(service, trackerSecret)
  const errors: unknown[] = []
  const worker = startDeliveryWorker({
    context: service.delivery,
    limits: { requestsMax: 8, destinationRequestsMax: 2, pollSeconds: 0.1 },
    onError: error => errors.push((error as Error).stack),
  })
  test.after(() => worker.stop())
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
  test.diagnostic(summary(load))
})

it('loses no event when a shard is moved under load', { skip }, async test => {
  const { service, trackers } = await serviceWithTrackers(test)
  const [moved] = trackers as [ProvisionedTracker]
  const from = await findTrackerPort(service, moved.trackerId)
  const to = cluster.ports.slice(1).find(port => port !== from) as number
  const load = startEventLoad(service, trackers)
  await pause(1_000)
  await service.database.pool.query(
    `select citus_move_shard_placement(
       get_shard_id_for_distribution_column('destinations', $1::uuid), '127.0.0.1', $2::integer,
       '127.0.0.1', $3::integer, shard_transfer_mode => 'auto')`,
    [moved.trackerId, from, to],
  )
  await pause(1_000)
  await load.end()
  assert.equal(await findTrackerPort(service, moved.trackerId), to)
  assert.deepEqual([...load.refused.values()].flat(), [])
  await assertStoredOnce(service, load)
  test.diagnostic(summary(load))
})

it('loses no event when a node is added and shards are rebalanced', { skip }, async test => {
  const { service, trackers } = await serviceWithTrackers(test)
  const load = startEventLoad(service, trackers)
  const port = await cluster.addNode()
  const url = new URL(service.connectionString)
  url.port = String(port)
  const name = url.pathname.slice(1)
  url.pathname = '/postgres'
  await runAt(url.href, `create database ${name}`)
  // Citus needs the template on the new node, because the copies refer to it.
  await runAt(url.href, 'create database signalbox_citus_template')
  url.pathname = `/${name}`
  await runAt(url.href, 'create extension citus')
  const { pool } = service.database
  await pool.query(`select citus_add_node('127.0.0.1', $1::integer)`, [port])
  await pool.query(`select rebalance_table_shards(shard_transfer_mode => 'auto')`)
  await pause(1_000)
  await load.end()
  const { rows } = await pool.query(
    `select count(*) as count from citus_shards where nodeport = $1::integer`,
    [port],
  )
  assert.ok(rows[0].count > 0)
  assert.deepEqual([...load.refused.values()].flat(), [])
  await assertStoredOnce(service, load)
  test.diagnostic(summary(load))
})

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

function summary({ accepted, slowest, refused }: EventLoad): string {
  const count = [...accepted.values()].flat().length
  const refusals = [...refused.values()].flat().length
  const most = Math.round(Math.max(...slowest.values()))
  return `${count} accepted, ${refusals} refused, the slowest response took ${most} ms`
}

/** The log lines about refused requests. */
function refusals(service: TestService): string {
  const lines = service.logged().split('\n')
  return lines
    .filter(line => /"err"|unavailable/.test(line))
    .join('\n')
    .slice(0, 4_000)
}

async function runAt(connectionString: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}
