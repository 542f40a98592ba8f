import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/sql-fragments.ts'

/** What can be wrong with a destination in the long run; the list may grow. */
export const ALERT_KINDS = ['emq_fell', 'emq_low', 'reconciliation_unexplained'] as const
export type AlertKind = (typeof ALERT_KINDS)[number]

/** Of what an alert is: there is at most one open at a time. */
export interface AlertSubject {
  trackerId: string
  destinationId: string
  kind: AlertKind
}

export interface Alert extends AlertSubject {
  /** One sentence for a person, without secrets, identifiers and names that callers gave. */
  sentence: string
  /** The figures behind the sentence. */
  details: Record<string, unknown>
}

/** An alert was raised, or what it was about is fine again. */
export interface AlertTransition extends AlertSubject {
  transition: 'raised' | 'resolved'
  sentence: string
}

export interface AlertContext {
  database: Database
  /** Called once for each alert that is raised or resolved, for the log and for counting. */
  onAlert?: (move: AlertTransition) => void
}

/** Each round is lost only to somebody else's alert of the same tracker at the same moment. */
const ROUNDS_MAX = 20

/**
 * Tells people once that something is wrong with a destination. While an alert of the kind is open,
 * raising it again only renews its words; `onAlert` hears of the first time alone. True when new.
 */
export async function raiseAlert(context: AlertContext, alert: Alert, at: Date): Promise<boolean> {
  const { database, onAlert } = context
  const { trackerId, destinationId, kind, sentence } = alert
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if (await updateOpenAlert(database, alert)) return false
    if (!(await insertAlert(database, alert, at))) continue
    onAlert?.({ trackerId, destinationId, kind, transition: 'raised', sentence })
    return true
  }
  throw new Error('an alert could not be stored: others of its tracker came before it each time')
}

/** What an alert was about is fine again. False when none of the kind was open. */
export async function resolveAlert(
  { database, onAlert }: AlertContext,
  { trackerId, destinationId, kind }: AlertSubject,
  at: Date,
): Promise<boolean> {
  const sentence = await resolveOpenAlert(database, { trackerId, destinationId, kind }, at)
  if (sentence === null) return false
  onAlert?.({ trackerId, destinationId, kind, transition: 'resolved', sentence })
  return true
}

/** Gives the open alert new words. False when none of the kind is open. */
export async function updateOpenAlert({ pool }: Database, alert: Alert): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'renew-alert',
    text: `update alerts set sentence = $4::text, details = $5::json
           where tracker_id = $1::uuid and destination_id = $2::uuid and kind = $3::text
             and resolved_at is null
           returning id`,
    values: alertValues(alert),
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
    values: [...alertValues(alert), raisedAt],
  })
  return rows.length > 0
}

/** Closes the open alert and returns its sentence; null when none is open. */
async function resolveOpenAlert(
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

interface InactiveAlerts {
  kinds: readonly AlertKind[]
  /** UTC days, YYYY-MM-DD: nothing that was sent on them was accepted. */
  from: string
  until: string
  at: Date
}

/** Closes alerts of destinations to which nothing goes any more. */
export async function resolveInactiveAlerts(
  { pool }: Database,
  { kinds, from, until, at }: InactiveAlerts,
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

function alertValues({ trackerId, destinationId, kind, sentence, details }: Alert): unknown[] {
  return [trackerId, destinationId, kind, sentence, JSON.stringify(details)]
}
