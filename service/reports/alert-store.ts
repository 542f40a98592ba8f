import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/row-arrays.ts'
import type { Alert, AlertKind, AlertSubject } from './alert.ts'

/** Gives the open alert new words. False when none of the kind is open. */
export async function renewAlert({ pool }: Database, alert: Alert): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'renew-alert',
    text: `update alerts set sentence = $4::text, details = $5::json
           where tracker_id = $1::uuid and destination_id = $2::uuid and kind = $3::text
             and resolved_at is null
           returning id`,
    values: valuesOf(alert),
  })
  return rows.length > 0
}

/** Opens an alert. False when one was opened meanwhile, of this kind or under this id. */
export async function insertAlert(
  { pool }: Database,
  alert: Alert,
  raisedAt: Date,
): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'insert-alert',
    text: `insert into alerts
             (tracker_id, id, destination_id, kind, sentence, details, raised_at)
           select $1::uuid, coalesce(max(id), 0) + 1, $2::uuid, $3::text, $4::text, $5::json,
             $6::timestamptz
           from alerts where tracker_id = $1::uuid
           on conflict do nothing
           returning id`,
    values: [...valuesOf(alert), raisedAt],
  })
  return rows.length > 0
}

/** Closes the open alert and returns its sentence; null when none is open. */
export async function closeAlert(
  { pool }: Database,
  { trackerId, destinationId, kind }: AlertSubject,
  resolvedAt: Date,
): Promise<string | null> {
  const { rows } = await pool.query({
    name: 'close-alert',
    text: `update alerts set resolved_at = $4::timestamptz
           where tracker_id = $1::uuid and destination_id = $2::uuid and kind = $3::text
             and resolved_at is null
           returning sentence`,
    values: [trackerId, destinationId, kind, resolvedAt],
  })
  return rows[0]?.sentence ?? null
}

export interface SilentAlerts {
  kinds: readonly AlertKind[]
  /** UTC days, YYYY-MM-DD: nothing that was sent on them was accepted. */
  from: string
  until: string
  at: Date
}

/** Closes alerts of destinations to which nothing goes any more. */
export async function closeSilentAlerts(
  { pool }: Database,
  { kinds, from, until, at }: SilentAlerts,
): Promise<(AlertSubject & { sentence: string })[]> {
  const { rows } = await pool.query({
    name: 'close-silent-alerts',
    text: `update alerts set resolved_at = $4::timestamptz
           where resolved_at is null and kind = any($1::text[]) and not exists (
             select 1 from sent_counts sent
             where sent.tracker_id = alerts.tracker_id
               and sent.destination_id = alerts.destination_id
               and sent.sent_on between $2::date and $3::date and sent.accepted > 0)
           returning tracker_id, destination_id, kind, sentence`,
    values: [arrayLiteral(kinds), from, until, at],
  })
  return rows.map(row => ({
    trackerId: row.tracker_id,
    destinationId: row.destination_id,
    kind: row.kind,
    sentence: row.sentence,
  }))
}

/** A metrics request goes without the figure rather than wait longer. */
const ANSWER_MILLISECONDS_MAX = 3_000

/** Open alerts of all trackers, by kind; a kind without any is left out. */
export async function countOpenAlerts({
  pool,
}: Database): Promise<Partial<Record<AlertKind, number>>> {
  const statement = {
    name: 'count-open-alerts',
    text: `select kind, count(*) as count from alerts where resolved_at is null group by kind`,
    query_timeout: ANSWER_MILLISECONDS_MAX,
  }
  const { rows } = await pool.query(statement)
  return Object.fromEntries(rows.map(row => [row.kind, row.count]))
}

function valuesOf({ trackerId, destinationId, kind, sentence, details }: Alert): unknown[] {
  return [trackerId, destinationId, kind, sentence, JSON.stringify(details)]
}
