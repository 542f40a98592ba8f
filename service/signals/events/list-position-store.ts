import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { Database } from '../../runtime/db/database.ts'
import { COUNTER_SHARD, utcDay, withLockTimeout } from '../../runtime/db/sql-fragments.ts'
import { formatUtcDay, monotonicSeconds } from '../../runtime/util/time.ts'
import type { EventRecord } from './event-record.ts'

/**
 * One position is stored per this many events of a day. A page then starts at most half as many
 * events away from a stored position, each of which is one buffer until the newest rows are
 * vacuumed. A day of ten million events takes 40,000 rows of 150 bytes including their key.
 */
export const POSITION_INTERVAL = 250

/** Positions that one transaction writes. It locks the counts of the day for about 5 ms. */
const POSITIONS_PER_TRANSACTION = 20

export interface TrackerDay {
  trackerId: string
  /** A UTC day. */
  day: string
}

/**
 * SQL that counts the events of `source` by tracker and day in the acceptance statement. Each count
 * also stores the oldest time of the events added since positions were last written. A page uses
 * only older positions, so it is exact even when an event is committed late, without comparing
 * clocks and without a lock.
 */
export const countInsertedEvents = (source: string) => `
  insert into event_counts (tracker_id, received_on, slot, events, unindexed_since)
  select tracker_id, ${utcDay('created_at')}, ${COUNTER_SHARD}, count(*), min(created_at)
  from ${source} group by 1, 2 order by 1, 2
  on conflict (tracker_id, received_on, slot) do update set
    events = event_counts.events + excluded.events,
    unindexed_since = least(event_counts.unindexed_since, excluded.unindexed_since)`

/** The days with new events since positions were last written, newest first. */
export async function findUnindexedDays({ pool }: Database): Promise<TrackerDay[]> {
  const { rows } = await pool.query(
    `select tracker_id, received_on from event_counts
     group by tracker_id, received_on
     having sum(events) >= ${POSITION_INTERVAL} and min(unindexed_since) < 'infinity'::timestamptz
     order by received_on desc, tracker_id`,
  )
  return rows.map(({ tracker_id: trackerId, received_on: day }) => ({ trackerId, day }))
}

interface IndexProgress {
  /** Positions written. */
  positions: number
  /** The day has more events. */
  hasMore: boolean
}

/**
 * Writes the next positions of a day. Safe to run at any time, in several processes, during
 * acceptance.
 *
 * The counts of the day are locked first. This waits for transactions that have counted their
 * events; later ones lower `unindexed_since` afterwards. So the statement that reads events sees
 * everything the locked counts include and can reset them. A count inserted after the lock stays
 * as it is. A crash of the server can lose the latest positions and their reset, both together. A
 * day whose counts are locked for longer than half a second is left to the next run.
 */
export async function indexPositions(
  database: Pick<Database, 'query'>,
  trackerDay: TrackerDay,
  positionsMax: number = POSITIONS_PER_TRANSACTION,
): Promise<IndexProgress> {
  const index = async (transaction: Database['query']) => {
    const shards = await lockCounts(transaction, trackerDay)
    await deleteInvalidPositions(transaction, trackerDay)
    return await insertPositions(transaction, trackerDay, { shards, positionsMax })
  }
  const indexed = await withLockTimeout(database, index, { synchronous_commit: 'off' })
  return indexed ?? { positions: 0, hasMore: false }
}

async function lockCounts(
  query: Database['query'],
  { trackerId, day }: TrackerDay,
): Promise<number[]> {
  const { rows } = await sql<{ slot: number }>`
    select slot from event_counts
    where tracker_id = ${trackerId}::uuid and received_on = ${day}::date
    order by slot for no key update`.execute(query)
  return rows.map(({ slot }) => slot)
}

/** Deletes positions that are newer than an event committed since: positions are in time order. */
async function deleteInvalidPositions(
  query: Database['query'],
  { trackerId, day }: TrackerDay,
): Promise<void> {
  await sql`
    delete from list_positions
    where tracker_id = ${trackerId}::uuid and received_on = ${day}::date and position > coalesce((
      select position from list_positions
      where tracker_id = ${trackerId}::uuid and received_on = ${day}::date and created_at < (
        select min(unindexed_since) from event_counts
        where tracker_id = ${trackerId}::uuid and received_on = ${day}::date
      )
      order by position desc limit 1
    ), 0)`.execute(query)
}

/**
 * Steps from position to position. When there may be more to write, the counts store a time after
 * the last position, so that the day is found again. Reading is a separate statement, because Citus
 * does not accept recursion together with a write.
 */
async function insertPositions(
  query: Database['query'],
  { trackerId, day }: TrackerDay,
  { shards, positionsMax }: { shards: number[]; positionsMax: number },
): Promise<IndexProgress> {
  const { rows } = await sql<Position>`
    with recursive reached as (
      (
        select 0 as steps, position, created_at, event_id, space from (
          (select position, created_at, event_id, space from list_positions
           where tracker_id = ${trackerId}::uuid and received_on = ${day}::date
           order by position desc limit 1)
          union all
          select 0, ${day}::date::timestamp at time zone 'UTC', '', 0::smallint
        ) known
        order by position desc limit 1
      )
      union all
      select steps + 1, position + ${INTERVAL}, next.created_at, next.event_id, next.space
      from reached cross join lateral (
        select created_at, event_id, space from events
        where tracker_id = ${trackerId}::uuid and created_at >= reached.created_at
          and created_at < (${day}::date + 1)::timestamp at time zone 'UTC'
          and (created_at, event_id, space)
            > (reached.created_at, reached.event_id, reached.space)
        order by created_at, event_id, space offset ${INTERVAL} - 1 limit 1
      ) next
      where steps < ${positionsMax}::integer
    )
    select position, created_at::text as created_at, event_id, space,
      (created_at + interval '1 microsecond')::text as next_at
    from reached where steps > 0 order by steps`.execute(query)
  if (rows.length > 0) {
    await sql`
      insert into list_positions (tracker_id, received_on, position, created_at, event_id, space)
      select ${trackerId}::uuid, ${day}::date, position, created_at, event_id, space
      from unnest(${rows.map(row => row.position)}::integer[],
        ${rows.map(row => row.created_at)}::timestamptz[],
        ${rows.map(row => row.event_id)}::text[], ${rows.map(row => row.space)}::smallint[])
        as reached(position, created_at, event_id, space)`.execute(query)
  }
  const hasMore = rows.length === positionsMax
  await sql`
    update event_counts
    set unindexed_since = ${hasMore ? rows.at(-1)?.next_at : 'infinity'}::timestamptz
    where tracker_id = ${trackerId}::uuid and received_on = ${day}::date
      and slot = any(${shards}::smallint[])`.execute(query)
  return { positions: rows.length, hasMore }
}

interface Position {
  position: number
  /** The text form of PostgreSQL, with microseconds. */
  created_at: string
  event_id: string
  space: number
  /** One microsecond after `created_at`. */
  next_at: string
}

const INTERVAL = sql.raw(String(POSITION_INTERVAL))

/** Deletes the positions of a tracker from before the cutoff day. */
export async function deletePositions(
  { pool }: Pick<Database, 'pool'>,
  trackerId: string,
  cutoffDay: string,
): Promise<void> {
  await pool.query(
    'delete from list_positions where tracker_id = $1::uuid and received_on < $2::date',
    [trackerId, cutoffDay],
  )
}

/**
 * Pages of a tracker's newest events are read without positions. With this many of them, a page of
 * a hundred events reads at most 495 buffers, even if no two events share a page of the table.
 */
const UNINDEXED_EVENTS = 2 * POSITION_INTERVAL
/** At a high rate, one run for several thousand events costs less than many small ones. */
const PAUSE_SECONDS = 2
/** Beyond this many trackers, the least recently counted ones are left to the job. */
const TRACKERS_MAX = 10_000

/**
 * Writes list positions for events that this process accepts, concurrently with commits: for each
 * tracker with 500 new events, and at most every two seconds. A job every minute would leave 7,000
 * events of a day of ten million without positions, and pages among them would read 3,500 buffers.
 */
export class ListPositionIndexer {
  readonly #database: Pick<Database, 'query'>
  readonly #nowSeconds: () => number
  readonly #counts = new LRUCache<string, number>({ max: TRACKERS_MAX })
  /** Tracker days with enough new events. */
  #due = new Map<string, TrackerDay>()
  #isIndexing = false
  #startedAt = Number.NEGATIVE_INFINITY

  constructor(database: Pick<Database, 'query'>, nowSeconds = monotonicSeconds) {
    this.#database = database
    this.#nowSeconds = nowSeconds
  }

  recordStored(events: readonly Pick<EventRecord, 'trackerId' | 'createdAt'>[]): void {
    for (const { trackerId, createdAt } of events) {
      const count = (this.#counts.get(trackerId) ?? 0) + 1
      this.#counts.set(trackerId, count)
      if (count === UNINDEXED_EVENTS)
        this.#due.set(trackerId, { trackerId, day: formatUtcDay(createdAt) })
    }
    if (this.#due.size > 0) this.#index()
  }

  #index(): void {
    const now = this.#nowSeconds()
    if (this.#isIndexing || now - this.#startedAt < PAUSE_SECONDS) return
    const days = [...this.#due.values()]
    for (const { trackerId } of days) this.#counts.delete(trackerId)
    this.#due.clear()
    this.#startedAt = now
    this.#isIndexing = true
    indexDays(this.#database, days)
      // The next run, or the job, retries.
      .catch(() => {})
      .finally(() => {
        this.#isIndexing = false
      })
  }
}

interface ListPositionJob {
  database: Database
  signal: AbortSignal
}

/**
 * Writes all missing list positions: of events stored just before a process stopped, of the end of
 * a day, and of a store that has none yet.
 */
export async function indexListPositions({ database, signal }: ListPositionJob): Promise<void> {
  await indexDays(database, await findUnindexedDays(database), signal)
}

async function indexDays(
  database: Pick<Database, 'query'>,
  days: readonly TrackerDay[],
  signal?: AbortSignal,
): Promise<void> {
  for (const day of days) {
    let hasMore = true
    while (hasMore && !signal?.aborted) hasMore = (await indexPositions(database, day)).hasMore
  }
}
