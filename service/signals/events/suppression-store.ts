import { type Database, hasCitus, queryByTracker } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import { monotonicSeconds } from '../../runtime/util/time.ts'
import { sleep } from '../../runtime/util/wait.ts'

/** See `computeKeyedDigest`. */
interface KeyedDigest {
  trackerId: string
  /** Hexadecimal. */
  keyed: string
}

/** Stops events with this digest from being stored with identity. Safe to repeat. */
export async function suppressDigest(
  { pool }: Database,
  { trackerId, keyed, at }: KeyedDigest & { at: Date },
): Promise<void> {
  await pool.query({
    name: 'suppress-digest',
    text: `insert into erased_identifiers (tracker_id, keyed_digest, erased_at)
           values ($1::uuid, $2::bytea, $3::timestamptz)
           on conflict (tracker_id, keyed_digest) do nothing`,
    values: [trackerId, Buffer.from(keyed, 'hex'), at],
  })
}

/** The suppressed digests among these, as `trackerId keyed`. */
export async function findSuppressedDigests(
  database: Database,
  digests: readonly KeyedDigest[],
): Promise<Set<string>> {
  const rows = await queryByTracker(database, digests, async (batch, own) => {
    const isOwn = own.condition('tracker_id', 3)
    const found = await database.pool.query({
      text: `select requested.tracker_id, encode(requested.keyed_digest, 'hex') as keyed
             from unnest($1::uuid[], $2::bytea[]) as requested(tracker_id, keyed_digest)
             cross join lateral (
               select tracker_id from erased_identifiers
               where tracker_id = requested.tracker_id
                 and keyed_digest = requested.keyed_digest ${isOwn}
               limit 1
             ) erased`,
      values: [
        arrayLiteral(batch.map(({ trackerId }) => trackerId)),
        arrayLiteral(batch.map(({ keyed }) => `\\x${keyed}`)),
        ...own.values,
      ],
    })
    return found.rows
  })
  return new Set(rows.map(({ tracker_id, keyed }) => `${tracker_id} ${keyed}`))
}

/** The trackers among these that have ever erased a person. */
export function findTrackersWithErasures(
  database: Database,
  trackerIds: readonly string[],
): Promise<Set<string>> {
  const erasures = 'select tracker_id from erased_identifiers where tracker_id'
  return findTrackersWith(database, trackerIds, [erasures])
}

/** The trackers among these that have a withdrawal of consent. */
export function findTrackersWithWithdrawals(
  database: Database,
  trackerIds: readonly string[],
): Promise<Set<string>> {
  return findTrackersWith(database, trackerIds, [
    'select tracker_id from consent_withdrawals where tracker_id',
    'select tracker_id from page_withdrawal_keys where tracker_id',
  ])
}

async function findTrackersWith(
  database: Database,
  trackerIds: readonly string[],
  lookups: readonly string[],
): Promise<Set<string>> {
  const trackers = trackerIds.map(trackerId => ({ trackerId }))
  const rows = await queryByTracker(database, trackers, async (batch, own) => {
    const isOwn = own.condition('tracker_id', 2)
    const found = lookups.map(lookup => `(${lookup} = requested.tracker_id ${isOwn} limit 1)`)
    const { rows: ofBatch } = await database.pool.query({
      text: `select requested.tracker_id from unnest($1::uuid[]) as requested(tracker_id)
             cross join lateral (${found.join(' union all ')}) found`,
      values: [arrayLiteral(batch.map(({ trackerId }) => trackerId)), ...own.values],
    })
    return ofBatch
  })
  return new Set(rows.map(({ tracker_id }) => tracker_id))
}

/** One check takes 1 ms on one PostgreSQL and 25 ms on a cluster of three nodes. */
const WAIT_SECONDS_MAX = 10
const CHECK_SECONDS = 0.005

/**
 * Waits until every statement that stores payloads now has ended, without blocking later ones. A
 * statement takes its locks before its snapshot: one that does not hold the lock on
 * `event_payloads` now will see what is committed now, and one that holds it ends before this
 * function returns. Backups and reports hold another lock and are not waited for. On a Citus
 * cluster a statement holds the lock on one node, so all nodes are checked; an erasure fails while
 * a node is down. A withdrawal of consent concerns one tracker, whose node has just answered, so it
 * may skip nodes that are down. Returns false when the wait takes longer than `secondsMax`.
 */
export async function waitForPayloadWriters(
  database: Database,
  secondsMax: number = WAIT_SECONDS_MAX,
  nodesDown: 'fail' | 'skip' = 'fail',
): Promise<boolean> {
  // Checked each time: with an answer from before the extension was created, an erasure would miss
  // the writers on other nodes.
  const isCluster = await hasCitus(database)
  const findCurrentWriters = () =>
    isCluster ? findWritersOfNodes(database, nodesDown) : findWriters(database)
  let writers = await findCurrentWriters()
  const endsAt = monotonicSeconds() + secondsMax
  while (writers.length > 0) {
    if (monotonicSeconds() >= endsAt) return false
    await sleep(CHECK_SECONDS)
    const current = new Set(await findCurrentWriters())
    writers = writers.filter(writer => current.has(writer))
  }
  return true
}

async function findWriters({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query({ name: 'payload-writers', text: PAYLOAD_WRITERS })
  return rows.map(({ writer }) => String(writer))
}

async function findWritersOfNodes(
  { pool }: Database,
  nodesDown: 'fail' | 'skip',
): Promise<string[]> {
  const { rows } = await pool.query({
    name: 'payload-writers',
    text: `select nodeid, success, result from run_command_on_all_nodes($1::text)`,
    values: [`select string_agg(writer, ' ') from (${PAYLOAD_WRITERS}) writers`],
  })
  const failed = rows.find(({ success }) => !success)
  if (failed && nodesDown === 'fail')
    throw new Error(`cannot list payload writers on node ${failed.nodeid}: ${failed.result}`)
  return rows.flatMap(({ nodeid, success, result }) =>
    success && result ? result.split(' ').map((writer: string) => `${nodeid} ${writer}`) : [],
  )
}

/** A virtual transaction ID belongs to one transaction of one connection and is never reused. */
const PAYLOAD_WRITERS = `
  select virtualtransaction as writer from pg_locks
  where locktype = 'relation' and relation = 'signalbox_store.event_payloads'::regclass
    and database = (select oid from pg_database where datname = current_database())
    and mode = 'RowExclusiveLock' and granted`
