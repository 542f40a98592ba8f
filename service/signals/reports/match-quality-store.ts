import type { Database } from '../../runtime/db/database.ts'

/** UTC days, YYYY-MM-DD, both included. */
export interface DayRange {
  from: string
  to: string
}

export interface StoredScore {
  destinationId: string
  /** UTC day, YYYY-MM-DD. */
  measuredOn: string
  /** Decimal text. */
  score: string
  weekOverWeekChange: string | null
  alerted: boolean
}

/** A quarter of a year for more destinations than a tracker may have. */
const SCORES_MAX = 5_000

/** The scores of a tracker in a range of days, the newest first. */
export async function findScores(
  { pool }: Database,
  trackerId: string,
  { from, to }: DayRange,
): Promise<StoredScore[]> {
  const { rows } = await pool.query({
    name: 'find-scores',
    text: `select destination_id, measured_on, score, week_over_week_change, alerted
           from emq_snapshots
           where tracker_id = $1::uuid and measured_on between $2::date and $3::date
           order by measured_on desc, destination_id desc limit ${SCORES_MAX}`,
    values: [trackerId, from, to],
  })
  return rows.map(row => ({
    destinationId: row.destination_id,
    measuredOn: row.measured_on,
    score: row.score,
    weekOverWeekChange: row.week_over_week_change,
    alerted: row.alerted,
  }))
}

/** What a snapshot has besides its score. */
export interface SnapshotAnswer {
  measuredAt: Date
  platformResponse: Record<string, unknown> | null
}

interface SnapshotDay {
  destinationId: string
  measuredOn: string
}

/** The answer of a destination's snapshot of one day; null when there is none. */
export async function findSnapshotAnswer(
  { pool }: Database,
  trackerId: string,
  { destinationId, measuredOn }: SnapshotDay,
): Promise<SnapshotAnswer | null> {
  const { rows } = await pool.query({
    name: 'find-snapshot-answer',
    text: `select measured_at, platform_response from emq_snapshots
           where tracker_id = $1::uuid and measured_on = $2::date and destination_id = $3::uuid`,
    values: [trackerId, measuredOn, destinationId],
  })
  const [row] = rows
  return row ? { measuredAt: row.measured_at, platformResponse: row.platform_response } : null
}

/** The last query of a destination's match quality that gave no score. */
export interface FailedReading {
  destinationId: string
  sentence: string
  nextReadAt: Date
}

export async function findFailedReadings(
  { pool }: Database,
  trackerId: string,
): Promise<FailedReading[]> {
  const { rows } = await pool.query({
    name: 'find-failed-readings',
    text: `select destination_id, unavailable_sentence, next_read_at from emq_readings
           where tracker_id = $1::uuid and unavailable_sentence is not null`,
    values: [trackerId],
  })
  return rows.map(row => ({
    destinationId: row.destination_id,
    sentence: row.unavailable_sentence,
    nextReadAt: row.next_read_at,
  }))
}
