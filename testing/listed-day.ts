import assert from 'node:assert/strict'
import type { Database } from '../service/db/database.ts'
import {
  countInsertedEvents,
  indexPositions,
  type TrackerDay,
} from '../service/events/list-position-store.ts'
import { listEventRefs } from '../service/events/list-store.ts'
import { TRACKER_ID } from './stored-events.ts'

export interface EventRun {
  /** Of the ids; they are not in the order of time. */
  prefix: string
  count: number
  from: Date
  /** Three events share a moment. */
  stepMilliseconds: number
}

/**
 * Stores bare events of one tracker and counts them in one statement, as acceptance does: in the
 * order of their ids, so that neighbors in time lie on different pages.
 */
export async function storeRun(
  { pool }: Pick<Database, 'pool'>,
  { prefix, count, from, stepMilliseconds }: EventRun,
): Promise<void> {
  await pool.query(
    `with accepted as (
       insert into events (tracker_id, event_id, space, created_at, event_time, event_name,
         event_class,
         action_source, consent_basis, measurement_class, attribution_join, enforcement_scope,
         consent_normalization_version, body_digest)
       select $1::uuid, $2::text || md5(number::text), 0, moment, moment, 'Purchase', 'conversion',
         'website', 'consent', 'advertising', 'allowed', 'event', '1', ''
       from generate_series(0, $3::integer - 1) as number
       cross join lateral (
         select $4::timestamptz + number / 3 * 3 * $5::integer * interval '1 millisecond' as moment
       ) timed
       order by 2
       returning tracker_id, event_id, created_at
     ), counted as (${countInsertedEvents('accepted')})
     select 1 as done`,
    [TRACKER_ID, prefix, count, from, stepMilliseconds],
  )
}

/** Writes all positions of a day. Returns how many. */
export async function indexDay(
  database: Database,
  trackerDay: TrackerDay,
  positionsMax?: number,
): Promise<number> {
  let total = 0
  for (;;) {
    const { positions, hasMore: more } = await indexPositions(database, trackerDay, positionsMax)
    total += positions
    if (!more) return total
  }
}

export interface PageChoice {
  perPage: number
  /** Every so many pages; the first and the last are always among them. */
  every?: number
}

/** Fails when a page is not what a plain sorted read of everything gives, or the total is wrong. */
export async function assertExactPages(
  database: Pick<Database, 'pool'>,
  { perPage, every = 1 }: PageChoice,
): Promise<void> {
  const { rows } = await database.pool.query(
    `select event_id from events where tracker_id = $1::uuid
     order by created_at desc, event_id desc, space desc`,
    [TRACKER_ID],
  )
  const sorted = rows.map(({ event_id }) => event_id)
  const pages = Math.ceil(sorted.length / perPage)
  for (let page = 0; page <= pages; page += page + every < pages ? every : 1) {
    const offset = page * perPage
    const listed = await listEventRefs(database, { trackerId: TRACKER_ID, offset, limit: perPage })
    assert.equal(listed.total, sorted.length)
    const message = `page ${page + 1} of ${pages} with ${perPage} events each`
    const ids = listed.events.map(({ eventId }) => eventId)
    assert.deepEqual(ids, sorted.slice(offset, offset + perPage), message)
  }
}

/** The same at one moment while events come in: all in one snapshot. */
export async function assertExactPagesNow(
  { pool }: Pick<Database, 'pool'>,
  choice: PageChoice,
): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin isolation level repeatable read read only')
    await assertExactPages({ pool: client as unknown as Database['pool'] }, choice)
    await client.query('commit')
  } finally {
    client.release()
  }
}
