import type { Database } from '../db/database.ts'
import type { SendAnswer } from '../platforms/send-outcome.ts'

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

/** Keeps one request to the platform and its answer. */
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
    .execute()
}
