import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/sql-fragments.ts'
import type { SendAnswer, SendOutcome } from '../platforms/platform.ts'

export interface SendAttempt {
  trackerId: string
  id: string
  destinationId: string
  startedAt: Date
  durationMilliseconds: number
  eventCount: number
  isTest: boolean
  result: SendAnswer
}

/** Stores one request to the platform and its answer. Idempotent. */
export async function insertAttempt({ query }: Database, attempt: SendAttempt): Promise<void> {
  const { outcome, httpStatus, traceId, answer } = attempt.result
  await query
    .insertInto('send_attempts')
    .values({
      tracker_id: attempt.trackerId,
      id: attempt.id,
      destination_id: attempt.destinationId,
      started_at: attempt.startedAt,
      duration_milliseconds: Math.round(attempt.durationMilliseconds),
      event_count: attempt.eventCount,
      is_test: attempt.isTest,
      outcome,
      http_status: httpStatus,
      trace_id: traceId,
      answer: answer && JSON.stringify(answer),
    })
    .onConflict(conflict => conflict.columns(['tracker_id', 'id']).doNothing())
    .execute()
}

export interface StoredAttempt {
  id: string
  startedAt: Date
  durationMilliseconds: number
  eventCount: number
  outcome: SendOutcome
  httpStatus: number | null
  traceId: string | null
  answer: Record<string, unknown> | null
}

/** The requests with these ids, oldest first, without those that have expired. */
export async function findAttempts(
  { pool }: Database,
  trackerId: string,
  ids: readonly string[],
): Promise<StoredAttempt[]> {
  if (ids.length === 0) return []
  const { rows } = await pool.query({
    text: `select attempt.* from unnest($2::uuid[]) as given(id)
           cross join lateral (
             select * from send_attempts where tracker_id = $1::uuid and id = given.id limit 1
           ) attempt
           order by started_at, id`,
    values: [trackerId, arrayLiteral(ids)],
  })
  return rows.map(row => ({
    id: row.id,
    startedAt: row.started_at,
    durationMilliseconds: row.duration_milliseconds,
    eventCount: row.event_count,
    outcome: row.outcome,
    httpStatus: row.http_status,
    traceId: row.trace_id,
    answer: row.answer,
  }))
}

/**
 * Clears the platform's answers to these requests, which may repeat what was sent. Their times and
 * outcomes stay. Locks in order, so that two erasures do not deadlock.
 */
export async function clearAnswers(
  { pool }: Database,
  trackerId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await pool.query({
    text: `with answered as materialized (
             select attempt.tracker_id, attempt.id
             from (select id from unnest($2::uuid[]) as given(id) order by id) given
             cross join lateral (
               select tracker_id, id from send_attempts
               where tracker_id = $1::uuid and id = given.id and answer is not null
               limit 1 for update
             ) attempt
           )
           update send_attempts set answer = null from answered
           where send_attempts.tracker_id = answered.tracker_id
             and send_attempts.id = answered.id`,
    values: [trackerId, arrayLiteral(ids)],
  })
}
