import { sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { Database } from '../db/database.ts'
import { withLockTimeout } from '../db/local-settings.ts'
import { COUNTER_SHARD, utcDay } from '../db/sql-fragments.ts'
import { formatUtcDay } from '../util/calendar-day.ts'
import type { EventRecord } from './event-record.ts'

/**
 * Every so many events of a day one position is kept. A page then starts at most half as many away
 * from a known one, which are as many buffers while the newest rows are not vacuumed, and a day of
 * ten million takes 40,000 rows of 150 bytes with their key.
 */
export const POSITION_INTERVAL = 250

/** Positions that one transaction writes; it holds the counts of one day meanwhile, 5 ms or so. */
const POSITIONS_PER_TRANSACTION = 20

export interface TrackerDay {
  trackerId: string
  /** A UTC day. */
  day: string
}

/**
 * Counts the events of `source` by tracker and day, as a part of their acceptance. Each count also
 * says how old the events are that it has gained since positions were last written. A page uses
 * only positions that are older, so it is exact however late an event is committed, with no clocks
 * compared and no lock.
 */
export const countInsertedEvents = (source: string) => `
  insert into event_counts (tracker_id, received_on, slot, events, unindexed_since)
  select tracker_id, ${utcDay('created_at')}, ${COUNTER_SHARD}, count(*), min(created_at)
  from ${source} group by 1, 2 order by 1, 2
  on conflict (tracker_id, received_on, slot) do update set
    events = event_counts.events + excluded.events,
    unindexed_since = least(event_counts.unindexed_since, excluded.unindexed_since)`

/** The days that have events since positions were last written for them, the newest first. */
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
  /** Positions that were written. */
  positions: number
  /** There are more events of the day. */
  hasMore: boolean
}

/**
 * Writes the next positions of a day. May run at any time, in several processes, beside acceptance.
 *
 * The day's counts are locked first: acceptance that has counted its events is waited for, and what
 * is counted later lowers `unindexed_since` after us. So the statement that reads sees all that the
 * locked counts tell of, and may reset them; a count that appeared after the lock is left as it is.
 * A crash of the server may lose the newest of this, positions and reset together. A day whose
 * counts are held for longer than half a second is left for the next run.
 */
export async function indexPositions(
  database: Pick<Database, 'query'>,
  trackerDay: TrackerDay,
  positionsMax: number = POSITIONS_PER_TRANSACTION,
): Promise<IndexProgress> {
  const index = async (transaction: Database['query']) => {
    const slots = await lockCounts(transaction, trackerDay)
    await deleteInvalidPositions(transaction, trackerDay)
    return await insertPositions(transaction, trackerDay, { slots, positionsMax })
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

/** An event was committed that is older than they are. Their order is that of time. */
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
 * Goes from position to position. When there may be more than it writes, the counts keep a time
 * after the last one, so that the day is found again. It reads in a statement of its own: Citus
 * takes no recursion beside a write.
 */
async function insertPositions(
  query: Database['query'],
  { trackerId, day }: TrackerDay,
  { slots, positionsMax }: { slots: number[]; positionsMax: number },
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
  const more = rows.length === positionsMax
  await sql`
    update event_counts
    set unindexed_since = ${more ? rows.at(-1)?.next_at : 'infinity'}::timestamptz
    where tracker_id = ${trackerId}::uuid and received_on = ${day}::date
      and slot = any(${slots}::smallint[])`.execute(query)
  return { positions: rows.length, hasMore: more }
}

interface Position {
  position: number
  /** As PostgreSQL writes it. */
  created_at: string
  event_id: string
  space: number
  /** A microsecond after it. */
  next_at: string
}

const INTERVAL = sql.raw(String(POSITION_INTERVAL))

/** Forgets the positions of days before `computeRetentionCutoff`, together with the events of those days. */
export async function deletePositions(
  { pool }: Pick<Database, 'pool'>,
  trackerId: string,
  keptSince: string,
): Promise<void> {
  await pool.query(
    'delete from list_positions where tracker_id = $1::uuid and received_on < $2::date',
    [trackerId, keptSince],
  )
}

/**
 * Pages among the newest events of a tracker are read without positions: with so many of them a
 * page of a hundred is 495 buffers at most, when no two events lie on one page of the table.
 */
const UNINDEXED_EVENTS = 2 * POSITION_INTERVAL
/** Where more than that come in, one round of several thousand costs less than many small ones. */
const PAUSE_SECONDS = 2
/** A tracker that is forgotten here is left to the job. */
const TRACKERS_MAX = 10_000

/**
 * Writes list positions for what this process accepts, beside the commits: for a tracker with 500
 * new events, and every two seconds at most. A job by the minute would leave 7,000 events of a day
 * of ten million without positions, and pages among them at 3,500 buffers.
 */
export class ListPositionIndexer {
  readonly #database: Pick<Database, 'query'>
  readonly #steadySeconds: () => number
  readonly #counts = new LRUCache<string, number>({ max: TRACKERS_MAX })
  /** Days of trackers that have enough new events. */
  #due = new Map<string, TrackerDay>()
  #isIndexing = false
  #startedAt = Number.NEGATIVE_INFINITY

  constructor(database: Pick<Database, 'query'>, steadySeconds = () => performance.now() / 1_000) {
    this.#database = database
    this.#steadySeconds = steadySeconds
  }

  /** These were stored. */
  recordStored(entries: readonly Pick<EventRecord, 'trackerId' | 'createdAt'>[]): void {
    for (const { trackerId, createdAt } of entries) {
      const count = (this.#counts.get(trackerId) ?? 0) + 1
      this.#counts.set(trackerId, count)
      if (count === UNINDEXED_EVENTS)
        this.#due.set(trackerId, { trackerId, day: formatUtcDay(createdAt) })
    }
    if (this.#due.size > 0) this.#index()
  }

  #index(): void {
    const now = this.#steadySeconds()
    if (this.#isIndexing || now - this.#startedAt < PAUSE_SECONDS) return
    const days = [...this.#due.values()]
    for (const { trackerId } of days) this.#counts.delete(trackerId)
    this.#due.clear()
    this.#startedAt = now
    this.#isIndexing = true
    indexDays(this.#database, days)
      // The next round, or the job, has it still to do.
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
 * Writes the list positions that are missing anywhere: of what came before a process ended, of the
 * end of a day, and of a store that had none.
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
    let more = true
    while (more && !signal?.aborted) more = (await indexPositions(database, day)).hasMore
  }
}
