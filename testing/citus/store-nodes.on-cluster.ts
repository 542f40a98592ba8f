import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, it, type TestContext } from 'node:test'
import { STORE_SCHEMA } from '../../service/program/roles/migrate-command.ts'
import { type Database, openDatabase } from '../../service/runtime/db/database.ts'
import { isStoreUnavailable } from '../../service/runtime/db/database-errors.ts'
import {
  distributeTables,
  findPlacement,
  setStatisticsTargets,
} from '../../service/runtime/db/distribute-tables.ts'
import { openStoreNodes } from '../../service/runtime/db/store-nodes.ts'
import { listKeys, recordKeyUses } from '../../service/signals/access/key-store.ts'
import { probeCommit } from '../../service/signals/ingestion/commit-health.ts'
import { insertTrackerWithWorkspace } from '../fixtures/tracker.ts'
import { createCitusDatabase, prepareCitusTemplate } from './citus-database.ts'
import { type CitusCluster, findCitusObstacle, startCitusCluster } from './cluster.ts'

const skip = findCitusObstacle() ?? false
let cluster: CitusCluster

before(async () => {
  if (skip) return
  cluster = await startCitusCluster()
  await prepareCitusTemplate(cluster)
})

after(() => cluster?.stop())

async function storeUnderTest(test: TestContext) {
  const { database, connectionString } = await createCitusDatabase(test, cluster)
  const clock = { seconds: 0 }
  const nodes = await openStoreNodes(database, {
    connectionString,
    connectionsMax: 2,
    applicationName: 'store nodes test',
    onIdleError: () => {},
    monotonicSeconds: () => clock.seconds,
  })
  test.after(() => nodes.close())
  return { database, connectionString, nodes, clock }
}

async function portOf({ pool }: Database): Promise<number> {
  const { rows } = await pool.query('select inet_server_port() as port')
  return rows[0].port
}

/** The shard of a tracker's rows and the port of its node, according to Citus. */
async function placeOf({ pool }: Database, trackerId: string) {
  const { rows } = await pool.query(
    `select shardid, nodeport as port from pg_dist_placement join pg_dist_node using (groupid)
     where shardid = get_shard_id_for_distribution_column('destinations', $1::uuid)`,
    [trackerId],
  )
  return rows[0] as { shardid: number; port: number }
}

it('distributes every table once', { skip }, async test => {
  const { database } = await storeUnderTest(test)
  const { rows } = await database.pool.query(
    `select space.nspname as schema, relation.relname as name, citus_table_type as type,
       colocation_id as colocation
     from citus_tables
     join pg_class relation on relation.oid = table_name
     join pg_namespace space on space.oid = relation.relnamespace
     where not relation.relispartition`,
  )
  const types: Record<string, string> = { local: 'managed_local' }
  assert.deepEqual(
    rows.filter(
      ({ schema, name, type }) =>
        findPlacement(STORE_SCHEMA.placements, { schema, name }) !== (types[type] ?? type),
    ),
    [],
  )
  const colocations = rows.filter(({ type }) => type === 'distributed').map(row => row.colocation)
  assert.ok(colocations.length > 20)
  assert.equal(new Set(colocations).size, 1)
  assert.deepEqual(await distributeTables(database, STORE_SCHEMA.placements), [])
})

it('keeps no statistics of identity columns on any shard', { skip }, async test => {
  const { database } = await storeUnderTest(test)
  const targets = async () => {
    const { rows } = await database.pool.query(
      `select distinct result from run_command_on_shards('event_payloads_default',
         $$select attstattarget from pg_attribute
           where attrelid = '%s'::regclass and attname = 'visitor_id'$$)`,
    )
    return rows.map(({ result }) => result)
  }
  assert.deepEqual(await targets(), ['0'])
  await database.pool.query(
    `select run_command_on_shards('event_payloads_default',
       'alter table %s alter column visitor_id set statistics -1')`,
  )
  assert.deepEqual(await targets(), ['-1'])
  await setStatisticsTargets(database)
  assert.deepEqual(await targets(), ['0'])
})

it('uses the same planner settings on every node', { skip }, async test => {
  const { database, connectionString } = await storeUnderTest(test)
  await distributeTables(database, STORE_SCHEMA.placements)
  const later = openDatabase({
    connectionString,
    connectionsMax: 1,
    applicationName: 'planner settings test',
    onIdleError: () => {},
  })
  test.after(() => later.close())
  const { rows } = await later.pool.query(
    `select result from run_command_on_workers('show enable_seqscan')`,
  )
  assert.deepEqual(
    rows.map(({ result }) => result),
    ['off', 'off'],
  )
})

it('finds the node of each tracker, on both nodes', { skip }, async test => {
  const { database, nodes } = await storeUnderTest(test)
  assert.equal(nodes.isCluster, true)
  const ports = new Set<number>()
  for (let tracker = 0; tracker < 40; tracker += 1) {
    const trackerId = randomUUID()
    const port = await portOf(await nodes.findNode(trackerId))
    assert.equal(port, (await placeOf(database, trackerId)).port)
    ports.add(port)
  }
  assert.deepEqual([...ports].sort(), cluster.ports.slice(1))
  assert.equal(nodes.all().length, 2)
})

it('writes correctly before and after it finds a moved shard', { skip }, async test => {
  const { database, nodes, clock } = await storeUnderTest(test)
  const trackerId = randomUUID()
  const { shardid, port: from } = await placeOf(database, trackerId)
  const to = cluster.ports.slice(1).find(port => port !== from) as number
  const before = await nodes.findNode(trackerId)
  await recordUse(before, trackerId)
  await database.pool.query(
    `select citus_move_shard_placement($1::bigint, '127.0.0.1', $2::integer, '127.0.0.1',
       $3::integer, shard_transfer_mode => 'block_writes')`,
    [shardid, from, to],
  )
  assert.equal(await nodes.findNode(trackerId), before)
  await recordUse(before, trackerId)
  clock.seconds += 5
  await nodes.findNode(trackerId)
  for (let asks = 0; asks < 1_000 && (await nodes.findNode(trackerId)) === before; asks += 1) {
    await new Promise(resolve => setImmediate(resolve))
  }
  const now = await nodes.findNode(trackerId)
  assert.equal(await portOf(now), to)
  await recordUse(now, trackerId)
  const { rows } = await database.pool.query(
    'select count(*) from tracker_key_uses where tracker_id = $1::uuid',
    [trackerId],
  )
  assert.equal(rows[0].count, 3)
})

it('commits on the node that owns the tracker', { skip }, async test => {
  const { nodes } = await storeUnderTest(test)
  for (let tracker = 0; tracker < 8; tracker += 1) {
    const trackerId = randomUUID()
    await probeCommit(await nodes.findNode(trackerId), new Date('2026-11-22T00:00:00Z'), trackerId)
  }
})

it('lists keys with their last use, including keys that were never used', { skip }, async test => {
  const { database, nodes } = await storeUnderTest(test)
  const trackerId = randomUUID()
  const at = new Date('2026-11-22T00:00:00Z')
  await insertTrackerWithWorkspace(database, { id: trackerId, createdAt: at })
  const digests = [randomBytes(32), randomBytes(32)] as const
  await database.pool.query(
    `insert into tracker_keys (tracker_id, key_digest, kind, last_characters, created_at)
     select $1::uuid, digest, 'tracker_secret', 'abcd', $3::timestamptz
     from unnest($2::bytea[]) digest`,
    [trackerId, digests, at],
  )
  await recordKeyUses(await nodes.findNode(trackerId), [{ trackerId, digest: digests[0] }], at)
  const keys = await listKeys(database, trackerId)
  assert.deepEqual(keys.map(key => key.lastUsedAt?.getTime() ?? 0).sort(), [0, at.getTime()])
})

it('reports a failed node as an unavailable store', { skip }, async test => {
  const { database, nodes } = await storeUnderTest(test)
  const trackers = Array.from({ length: 40 }, () => randomUUID())
  const lastPort = cluster.ports.at(-1) as number
  const unavailable: string[] = []
  const available: string[] = []
  for (const id of trackers) {
    const list = (await placeOf(database, id)).port === lastPort ? unavailable : available
    list.push(id)
    await recordUse(await nodes.findNode(id), id)
  }
  await cluster.kill(2)
  try {
    for (const id of unavailable.slice(0, 3)) {
      await assert.rejects(recordUse(await nodes.findNode(id), id), isStoreUnavailable)
      await assert.rejects(recordUse(database, id), isStoreUnavailable)
    }
    for (const id of available.slice(0, 3)) await recordUse(await nodes.findNode(id), id)
  } finally {
    await cluster.restart(2)
  }
  for (const id of trackers) await recordUse(await nodes.findNode(id), id)
})

async function recordUse(node: Database, trackerId: string): Promise<void> {
  await recordKeyUses(
    node,
    [{ trackerId, digest: randomBytes(32) }],
    new Date('2026-11-22T00:00:00Z'),
  )
}
