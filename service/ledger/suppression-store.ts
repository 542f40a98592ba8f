import { askByTracker } from '../db/by-tracker.ts'
import type { Database } from '../db/database.ts'
import { hasCitus } from '../db/distribute-tables.ts'
import { arrayLiteral } from '../db/row-arrays.ts'

/** A digest under the key of this store; see keyed-digest.ts. */
export interface KeyedDigest {
  trackerId: string
  /** Hexadecimal. */
  keyed: string
}

/** From now on no event that bears the digest is stored with identity. May be done again. */
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

/** Which of these were erased, as `trackerId keyed`. */
export async function findSuppressed(
  database: Database,
  digests: readonly KeyedDigest[],
): Promise<Set<string>> {
  const rows = await askByTracker(database, digests, async (asked, own) => {
    const isOwn = own.condition('tracker_id', 3)
    const found = await database.pool.query({
      text: `select asked.tracker_id, encode(asked.keyed_digest, 'hex') as keyed
             from unnest($1::uuid[], $2::bytea[]) as asked(tracker_id, keyed_digest)
             cross join lateral (
               select tracker_id from erased_identifiers
               where tracker_id = asked.tracker_id and keyed_digest = asked.keyed_digest ${isOwn}
               limit 1
             ) erased`,
      values: [
        arrayLiteral(asked.map(({ trackerId }) => trackerId)),
        arrayLiteral(asked.map(({ keyed }) => `\\x${keyed}`)),
        ...own.values,
      ],
    })
    return found.rows
  })
  return new Set(rows.map(({ tracker_id, keyed }) => `${tracker_id} ${keyed}`))
}

/** Which of these trackers have ever erased a person. */
export async function findErasingTrackers(
  database: Database,
  trackerIds: readonly string[],
): Promise<Set<string>> {
  const trackers = trackerIds.map(trackerId => ({ trackerId }))
  const rows = await askByTracker(database, trackers, async (asked, own) => {
    const isOwn = own.condition('tracker_id', 2)
    const found = await database.pool.query({
      text: `select asked.tracker_id from unnest($1::uuid[]) as asked(tracker_id)
             cross join lateral (
               select tracker_id from erased_identifiers
               where tracker_id = asked.tracker_id ${isOwn} limit 1
             ) erased`,
      values: [arrayLiteral(asked.map(({ trackerId }) => trackerId)), ...own.values],
    })
    return found.rows
  })
  return new Set(rows.map(({ tracker_id }) => tracker_id))
}

/** A look takes 1 ms on one PostgreSQL and 25 ms on a cluster of three nodes. */
const WAIT_SECONDS_MAX = 10

/**
 * Waits until every statement that stores payloads at this moment has ended, and holds up none that
 * begins later. A statement takes its locks before its snapshot: one that does not hold the lock on
 * `event_payloads` now will see what is committed now, and one that holds it has ended, or is
 * waited for, before we return. Backups and reports hold another lock and are not waited for. On a
 * Citus cluster it holds the lock on the node that took it, so every node is asked; while one is
 * away, an erasure cannot be completed.
 * False when that takes more than `secondsMax`, by the clock of the store.
 */
export async function awaitPayloadWriters(
  database: Database,
  secondsMax: number = WAIT_SECONDS_MAX,
): Promise<boolean> {
  // Asked each time: with an answer from before the extension was created, an erasure would miss
  // the writers on other nodes.
  const writers = (await hasCitus(database)) ? findWritersOfNodes : findWriters
  let earlier = await writers(database)
  let endsAt = Number.POSITIVE_INFINITY
  while (earlier.length > 0) {
    const now = await pauseBriefly(database)
    endsAt = Math.min(endsAt, now + secondsMax)
    if (now >= endsAt) return false
    const still = new Set(await writers(database))
    earlier = earlier.filter(writer => still.has(writer))
  }
  return true
}

async function findWriters({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query({ name: 'payload-writers', text: PAYLOAD_WRITERS })
  return rows.map(({ writer }) => String(writer))
}

async function findWritersOfNodes({ pool }: Database): Promise<string[]> {
  const { rows } = await pool.query(
    `select nodeid, success, result from run_command_on_all_nodes($1::text)`,
    [`select string_agg(writer, ' ') from (${PAYLOAD_WRITERS}) writers`],
  )
  const failed = rows.find(({ success }) => !success)
  if (failed) throw new Error(`node ${failed.nodeid} does not say who writes: ${failed.result}`)
  return rows.flatMap(({ nodeid, result }) =>
    result ? result.split(' ').map((writer: string) => `${nodeid} ${writer}`) : [],
  )
}

/** A virtual transaction is one transaction of one connection, and is never used again. */
const PAYLOAD_WRITERS = `
  select virtualtransaction as writer from pg_locks
  where locktype = 'relation' and relation = 'signalbox_store.event_payloads'::regclass
    and database = (select oid from pg_database where datname = current_database())
    and mode = 'RowExclusiveLock' and granted`

/** Five milliseconds, spent in the store: timers belong to workers. Returns its time in seconds. */
export async function pauseBriefly({ pool }: Database): Promise<number> {
  const { rows } = await pool.query(
    'select extract(epoch from clock_timestamp())::float8 as now from pg_sleep(0.005)',
  )
  return rows[0].now
}
