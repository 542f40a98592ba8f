import assert from 'node:assert/strict'
import { after, before, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { ProvisionedTracker } from '../../service/program/provisioning/provision-tracker.ts'
import { isStoreUnavailable } from '../../service/runtime/db/database-errors.ts'
import { readSqlBlocks } from '../fixtures/page-blocks.ts'
import { startTestService, type TestService } from '../fixtures/service.ts'
import { startOwnCluster } from './citus-database.ts'
import { type CitusCluster, findCitusObstacle } from './cluster.ts'
import { assertStoredOnce, startEventLoad, summarizeLoad } from './event-load.ts'
import { createTrackersOnEachNode, findTrackerPort } from './tracker-placement.ts'

const skip = findCitusObstacle() ?? false
/** Not the shared cluster, because a test adds a node. */
let cluster: CitusCluster

before(async () => {
  if (!skip) cluster = await startOwnCluster()
})

after(() => cluster?.stop())

async function serviceWithTrackers(test: TestContext) {
  const service = await startTestService(test)
  const trackers = await createTrackersOnEachNode(service, 2)
  return { service, trackers }
}

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
  test.diagnostic(summarizeLoad(load))
})

it('loses no event when a tracker gets a shard and a node of its own', { skip }, async test => {
  const { service, trackers } = await serviceWithTrackers(test)
  const [large] = trackers as [ProvisionedTracker]
  const { pool } = service.database
  const from = await findTrackerPort(service, large.trackerId)
  const to = cluster.ports.slice(1).find(port => port !== from) as number
  const [allow = [], prepare = [], divide = [], restore = [], move = []] = readSqlBlocks(
    'docs/operations/scale.md',
    'Giving a tracker its own node',
  )
  await allowOutputPlugin(service.connectionString, allow)
  const load = startEventLoad(service, trackers)
  const deliveries = startDeliveries(service)
  await pause(1_000)
  let shard = ''
  for (const statement of [...prepare, ...divide, ...restore, ...move]) {
    const text = statement
      .replace('TRACKER_ID', large.trackerId)
      .replace('SHARD_ID', shard)
      .replace(`'db-1.internal', 5432`, `'127.0.0.1', ${from}`)
      .replace(`'db-4.internal', 5432`, `'127.0.0.1', ${to}`)
    const { rows } = await pool.query(text)
    assert.deepEqual(
      rows.filter(({ success = true }) => !success),
      [],
    )
    shard = rows[0]?.isolate_tenant_to_new_shard ?? shard
  }
  await pause(1_000)
  await load.end()
  assert.ok((await deliveries.end()) > 0)
  // Tables without a primary key have the identity FULL for good.
  const { rows: unlike } = await pool.query(
    `select distinct result from run_command_on_all_nodes($$
       select count(*) from pg_dist_partition
       join pg_class as shell on shell.oid = logicalrelid
       join pg_class as shard on shard.relname ~ ('^' || shell.relname || '_[0-9]{6}$')
       where shard.relreplident <> shell.relreplident$$)`,
  )
  assert.deepEqual(unlike, [{ result: '0' }])
  assert.equal(await findTrackerPort(service, large.trackerId), to)
  const { rows: ranges } = await pool.query(
    `select shardminvalue = shardmaxvalue as is_alone from pg_dist_shard where shardid = $1`,
    [shard],
  )
  assert.deepEqual(ranges, [{ is_alone: true }])
  const others = await Promise.all(
    trackers.slice(1).map(({ trackerId }) => findTrackerPort(service, trackerId)),
  )
  assert.deepEqual(others, [from, to, to])
  assert.deepEqual([...load.refused.values()].flat(), [])
  await assertStoredOnce(service, load)
  test.diagnostic(summarizeLoad(load))
})

/** Delivers all the time: its statements delete and update rows. */
function startDeliveries(service: TestService): { end(): Promise<number> } {
  let isOver = false
  const deliver = async () => {
    let claimed = 0
    while (!isOver) {
      // A worker asks again, too.
      claimed += await service.deliver().catch(error => {
        if (isStoreUnavailable(error)) return 0
        throw error
      })
    }
    return claimed
  }
  const running = deliver()
  const end = () => {
    isOver = true
    return running
  }
  return { end }
}

/** On each server that has the list: 15.20 does, and refuses libraries that are not in it. */
async function allowOutputPlugin(
  connectionString: string,
  statements: readonly string[],
): Promise<void> {
  for (const port of cluster.ports) {
    const url = Object.assign(new URL(connectionString), { port: String(port) }).href
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const known = await client.query(
      `select from pg_settings where name = 'output_plugin_libraries'`,
    )
    if (known.rowCount === 1) for (const statement of statements) await client.query(statement)
    await client.end()
  }
}

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
  test.diagnostic(summarizeLoad(load))
})

async function runAt(connectionString: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}
