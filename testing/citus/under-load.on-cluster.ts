import assert from 'node:assert/strict'
import { after, before, it, type TestContext } from 'node:test'
import pg from 'pg'
import type { ProvisionedTracker } from '../../service/provisioning/provision-tracker.ts'
import { samplePurchase } from '../sample-purchase.ts'
import { type ServiceUnderTest, serviceUnderTest } from '../service-under-test.ts'
import { prepareCitusTemplate } from './citus-store.ts'
import { CITUS_CLUSTER, type CitusCluster, startCitusCluster, whyNoCitus } from './cluster.ts'
import { portOfTracker, trackersOnEachNode } from './tracker-places.ts'

const skip = whyNoCitus() ?? false
/** One of its own, since its nodes are killed. */
let cluster: CitusCluster

before(async () => {
  if (skip) return
  cluster = await startCitusCluster()
  await prepareCitusTemplate(cluster)
  const { connectionString, ports } = cluster
  process.env[CITUS_CLUSTER] = JSON.stringify({ connectionString, ports })
})

after(() => cluster?.stop())

interface Load {
  /** Ids that were answered 202, by tracker. */
  accepted: Map<string, string[]>
  /** Other answers than 202, by tracker. */
  refused: Map<string, number[]>
  /** The slowest answer in milliseconds, by tracker. */
  slowest: Map<string, number>
  /** Resolves when all requests have been answered. */
  end(): Promise<void>
}

/** Two writers for each tracker, each with one request in flight, until `end`. */
function startLoad(service: ServiceUnderTest, trackers: readonly ProvisionedTracker[]): Load {
  let isOver = false
  const accepted = new Map(trackers.map(({ trackerId }) => [trackerId, [] as string[]]))
  const refused = new Map(trackers.map(({ trackerId }) => [trackerId, [] as number[]]))
  const slowest = new Map(trackers.map(({ trackerId }) => [trackerId, 0]))
  const write = async ({ trackerId, trackerSecret: secret }: ProvisionedTracker, n: number) => {
    for (let count = 0; !isOver; count += 1) {
      const event_id = `event-${n}-${count}`
      const body = samplePurchase({ event_id, visitor_id: event_id })
      const began = performance.now()
      const { status } = await service.request('POST', '/api/v1/events', { secret, body })
      const took = performance.now() - began
      slowest.set(trackerId, Math.max(slowest.get(trackerId) ?? 0, took))
      if (status === 202) accepted.get(trackerId)?.push(event_id)
      else refused.get(trackerId)?.push(status)
      if (status !== 202) await pause(50)
    }
  }
  const writers = trackers.flatMap(tracker => [write(tracker, 1), write(tracker, 2)])
  const end = async () => {
    isOver = true
    await Promise.all(writers)
  }
  return { accepted, refused, slowest, end }
}

/** Everything acknowledged is there once, and nothing is there twice. */
async function checkStored({ database: { pool } }: ServiceUnderTest, load: Load): Promise<void> {
  for (const [trackerId, ids] of load.accepted) {
    const { rows } = await pool.query(
      `select event.event_id, count(*) as count,
         (select count(*) from all_deliveries delivery
          where delivery.tracker_id = $1::uuid and delivery.event_id = event.event_id) as deliveries
       from events event where event.tracker_id = $1::uuid group by event.event_id`,
      [trackerId],
    )
    const counts = new Map(rows.map(row => [row.event_id, row]))
    assert.deepEqual(
      ids.filter(id => !counts.has(id)),
      [],
      'acknowledged and lost',
    )
    assert.deepEqual(
      rows.filter(({ count, deliveries }) => count !== 1 || deliveries !== 1),
      [],
      'stored twice',
    )
    const counted = await pool.query(
      'select sum(events)::bigint as events from event_counts where tracker_id = $1::uuid',
      [trackerId],
    )
    assert.equal(counted.rows[0].events, rows.length)
    // A commit whose answer was lost may be there without having been acknowledged.
    const unanswered = load.refused.get(trackerId)?.length ?? 0
    assert.ok(rows.length - ids.length <= unanswered)
  }
}

async function serviceWithTrackers(test: TestContext) {
  const service = await serviceUnderTest(test)
  const trackers = await trackersOnEachNode(service, 2)
  return { service, trackers }
}

it('loses nothing when a worker dies under load, and goes on once it is back', {
  skip,
}, async test => {
  const { service, trackers } = await serviceWithTrackers(test)
  const load = startLoad(service, trackers)
  await pause(2_000)
  await cluster.kill(2)
  await pause(3_000)
  const during = new Map([...load.accepted].map(([id, events]) => [id, events.length]))
  await cluster.startAgain(2)
  await pause(6_000)
  await load.end()
  for (const { trackerId } of trackers) {
    const statuses = new Set(load.refused.get(trackerId))
    assert.deepEqual(
      [...statuses].filter(status => status !== 503),
      [],
      refusals(service),
    )
    const later = during.get(trackerId) ?? 0
    assert.ok((load.accepted.get(trackerId)?.length ?? 0) > later, 'it goes on afterwards')
  }
  await checkStored(service, load)
  test.diagnostic(summary(load))
})

it('loses nothing when a shard is moved under load', { skip }, async test => {
  const { service, trackers } = await serviceWithTrackers(test)
  const [moved] = trackers as [ProvisionedTracker]
  const from = await portOfTracker(service, moved.trackerId)
  const to = cluster.ports.slice(1).find(port => port !== from) as number
  const load = startLoad(service, trackers)
  await pause(1_000)
  await service.database.pool.query(
    `select citus_move_shard_placement(
       get_shard_id_for_distribution_column('destinations', $1::uuid), '127.0.0.1', $2::integer,
       '127.0.0.1', $3::integer, shard_transfer_mode => 'auto')`,
    [moved.trackerId, from, to],
  )
  await pause(1_000)
  await load.end()
  assert.equal(await portOfTracker(service, moved.trackerId), to)
  assert.deepEqual([...load.refused.values()].flat(), [])
  await checkStored(service, load)
  test.diagnostic(summary(load))
})

it('loses nothing when a node is added and shards are rebalanced', { skip }, async test => {
  const { service, trackers } = await serviceWithTrackers(test)
  const load = startLoad(service, trackers)
  const port = await cluster.startAnother()
  const url = new URL(service.connectionString)
  url.port = String(port)
  const name = url.pathname.slice(1)
  url.pathname = '/postgres'
  await runAt(url.href, `create database ${name}`)
  // Citus wants to name its owner: the copies know the database that they were made from.
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
  await checkStored(service, load)
  test.diagnostic(summary(load))
})

function summary({ accepted, slowest, refused }: Load): string {
  const count = [...accepted.values()].flat().length
  const refusals = [...refused.values()].flat().length
  const most = Math.round(Math.max(...slowest.values()))
  return `${count} accepted, ${refusals} refused, the slowest answer took ${most} ms`
}

/** What the service says of requests that it refused. */
function refusals(service: ServiceUnderTest): string {
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

function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds))
}
