import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import type { Database } from '../../runtime/db/database.ts'
import { readWaiting, WAITING_SETTINGS, WAITING_STATEMENT } from './backlog-store.ts'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const TRACKERS = 20
const NOTHING = { deliveries: 0, oldestSeconds: 0 }

/** Trackers with a destination each; the statistics of the tables are left to the test. */
async function storeOfTrackers(test: TestContext): Promise<Database> {
  const { database } = await createTestDatabase(test)
  await database.pool.query(
    `alter table delivery_queue set (autovacuum_enabled = off);
     alter table destinations set (autovacuum_enabled = off);
     with workspace as (
       insert into workspaces (name, created_at) values ('Many', now()) returning id
     ), tracker as (
       insert into trackers (id, workspace_id, name, created_at)
       select gen_random_uuid(), id, 'one of many', now()
       from workspace, generate_series(1, ${TRACKERS}) returning id
     )
     insert into destinations (tracker_id, id, type, credential_source, config,
       sealed_credential, status, created_at, updated_at)
     select id, gen_random_uuid(), 'meta', 'oauth_connection', '{}', '', 'active', now(), now()
     from tracker`,
  )
  return database
}

interface Rows {
  count: number
  isWaiting: boolean
  /** So that rows of different calls do not collide. */
  name: string
}

/** Rows spread over all trackers, the last one created a second before NOW. */
async function store({ pool }: Database, { count, isWaiting, name }: Rows): Promise<void> {
  await pool.query(
    `with queue as (
       select tracker_id, id, row_number() over (order by id) as number from destinations
     )
     insert into ${isWaiting ? 'delivery_queue' : 'deliveries'} (tracker_id, event_id, space, id,
       destination_id, status, status_reason, is_test, created_at
       ${isWaiting ? ', next_attempt_at' : ''})
     select queue.tracker_id, $2 || item, 0, item, queue.id,
       '${isWaiting ? 'queued' : 'accepted'}', '', false,
       $3::timestamptz - make_interval(secs => $1 + 1 - item)
       ${isWaiting ? `, $3::timestamptz + interval '1 hour'` : ''}
     from generate_series(1, $1::integer) item
     join queue on queue.number = 1 + item % ${TRACKERS}`,
    [count, name, NOW],
  )
}

interface PlanNode {
  'Node Type': string
  'Index Name'?: string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

/** How PostgreSQL reads the queue for it: each node that does, and how many rows it touches. */
async function readsOf({ pool }: Database) {
  const results = (await pool.query(
    `${WAITING_SETTINGS}; explain (analyze, format json) ${WAITING_STATEMENT}`,
  )) as unknown as { rows: Record<string, [{ Plan: PlanNode }]>[] }[]
  const plan = results.flatMap(({ rows }) => rows)[0]?.['QUERY PLAN']?.[0].Plan
  assert.ok(plan)
  return nodesOf(plan)
    .filter(node => node['Relation Name'] === 'delivery_queue')
    .map(node => ({
      by: `${node['Node Type']} ${node['Index Name']}`,
      rows: node['Actual Rows'] * node['Actual Loops'],
      removed: node['Rows Removed by Filter'] ?? 0,
    }))
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}

it('counts waiting deliveries and their age separately for inactive destinations', async test => {
  const database = await storeOfTrackers(test)
  assert.deepEqual(await readWaiting(database, NOW), { active: NOTHING, inactive: NOTHING })
  await store(database, { count: 100, isWaiting: true, name: 'waits' })
  await store(database, { count: 500, isWaiting: false, name: 'settled' })
  const all = { deliveries: 100, oldestSeconds: 100 }
  assert.deepEqual(await readWaiting(database, NOW), { active: all, inactive: NOTHING })
  // The oldest is the first: it belongs to the second of the destinations.
  await database.pool.query(
    `update destinations set status = 'inactive' where id =
       (select destination_id from all_deliveries where event_id = 'waits1')`,
  )
  assert.deepEqual(await readWaiting(database, NOW), {
    active: { deliveries: 95, oldestSeconds: 99 },
    inactive: { deliveries: 5, oldestSeconds: 100 },
  })
})

it('reads waiting rows only and no history, with any statistics', async test => {
  const database = await storeOfTrackers(test)
  const analyze = () => database.pool.query('analyze delivery_queue, deliveries, destinations')
  const expect = async (rows: number, state: string) => {
    const by = 'Index Scan delivery_queue_by_due_time'
    assert.deepEqual(await readsOf(database), [{ by, rows, removed: 0 }], state)
  }
  await expect(0, 'empty')
  await analyze()
  await store(database, { count: 60, isWaiting: true, name: 'few' })
  await expect(60, 'analysed when it was empty')
  await analyze()
  await expect(60, 'analysed at 60')
  await store(database, { count: 20_000, isWaiting: false, name: 'history' })
  await store(database, { count: 2_000, isWaiting: true, name: 'more' })
  await expect(2_060, 'analysed at 60, now 22,000')
  await analyze()
  await expect(2_060, 'analysed at full size')
  await store(database, { count: 200_000, isWaiting: false, name: 'long history' })
  await expect(2_060, 'ten times the history')
  await analyze()
  await expect(2_060, 'ten times the history, analysed')
})

it('reads waiting rows only and no history in a database never analyzed', async test => {
  const database = await storeOfTrackers(test)
  await store(database, { count: 50_000, isWaiting: false, name: 'history' })
  await store(database, { count: 1_000, isWaiting: true, name: 'waits' })
  const by = 'Index Scan delivery_queue_by_due_time'
  assert.deepEqual(await readsOf(database), [{ by, rows: 1_000, removed: 0 }])
})

it('leaves no setting on its connection', async test => {
  const database = await storeOfTrackers(test)
  await readWaiting(database, NOW)
  assert.deepEqual([database.pool.totalCount, database.pool.idleCount], [1, 1])
  const { rows } = await database.pool.query(
    `select current_setting('enable_sort') as sort, now() = statement_timestamp() as is_free`,
  )
  assert.deepEqual(rows, [{ sort: 'on', is_free: true }])
})

it('stops counting at a hundred thousand waiting deliveries', async test => {
  const database = await storeOfTrackers(test)
  await store(database, { count: 120_000, isWaiting: true, name: 'waits' })
  const { active } = await readWaiting(database, NOW)
  assert.equal(active.deliveries, 100_000)
  const [read] = await readsOf(database)
  assert.equal(read?.rows, 100_000)
})
