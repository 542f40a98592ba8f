import { ALERT_KINDS, type AlertKind } from '@signalbox/contract/alerts.ts'
import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'

/** The subject of an alert. At most one alert per subject is open at a time. */
export interface AlertSubject {
  trackerId: string
  destinationId: string
  kind: AlertKind
}

export interface Alert extends AlertSubject {
  /** One sentence for people, without secrets, identifiers and names from callers. */
  sentence: string
  /** The figures behind the sentence. */
  details: Record<string, unknown>
}

/** An alert was raised or resolved. */
export interface AlertTransition extends AlertSubject {
  transition: 'raised' | 'resolved'
  sentence: string
}

export interface AlertContext {
  database: Database
  /** Called once for each raised or resolved alert, for logs and metrics. */
  onAlert?: (transition: AlertTransition) => void
}

/** Each round fails only when a concurrent alert of the same tracker takes the ID. */
const ROUNDS_MAX = 20

/**
 * Raises an alert about a destination. While an alert of the kind is open, raising it again only
 * updates its sentence, without a call of `onAlert`. Returns true when the alert is new.
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
  throw new Error('could not insert an alert: concurrent alerts of the tracker took every ID')
}

/** Resolves the open alert of a kind. Returns false when none is open. */
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

/** Updates the sentence and details of the open alert. Returns false when none is open. */
export async function updateOpenAlert({ pool }: Database, alert: Alert): Promise<boolean> {
  const { rows } = await pool.query({
    name: 'update-open-alert',
    text: `update alerts set sentence = $4::text, details = $5::json
           where tracker_id = $1::uuid and destination_id = $2::uuid and kind = $3::text
             and resolved_at is null
           returning id`,
    values: alertValues(alert),
  })
  return rows.length > 0
}

/** Inserts an alert. Returns false when a concurrent one has the same kind or the same ID. */
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

/** Resolves the open alert and returns its sentence; null when none is open. */
async function resolveOpenAlert(
  { pool }: Database,
  { trackerId, destinationId, kind }: AlertSubject,
  resolvedAt: Date,
): Promise<string | null> {
  const { rows } = await pool.query({
    name: 'resolve-open-alert',
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
  /** UTC days, YYYY-MM-DD, without any accepted event. */
  from: string
  until: string
  at: Date
}

/** Resolves the alerts of destinations that no longer receive events. */
export async function resolveInactiveAlerts(
  { pool }: Database,
  { kinds, from, until, at }: InactiveAlerts,
): Promise<(AlertSubject & { sentence: string })[]> {
  const { rows } = await pool.query({
    name: 'resolve-inactive-alerts',
    text: `update alerts set resolved_at = $4::timestamptz
           where resolved_at is null and kind = any($1::text[]) and not exists (
             select 1 from sent_counts sent
             where sent.tracker_id = alerts.tracker_id
               and sent.destination_id = alerts.destination_id
               and sent.sent_on between $2::date and $3::date and sent.accepted > 0)
           returning tracker_id, destination_id, kind, sentence`,
    values: [arrayLiteral(kinds), from, until, at],
  })
  return rows.flatMap(row => {
    const kind = kinds.find(each => each === row.kind)
    const { tracker_id: trackerId, destination_id: destinationId, sentence } = row
    return kind === undefined ? [] : [{ trackerId, destinationId, kind, sentence }]
  })
}

export interface OpenAlert extends Omit<AlertSubject, 'kind'> {
  kind: Stored<AlertKind>
  sentence: string
  raisedAt: Date
}

/** The open alerts of a tracker, oldest first: at most one of each kind and destination. */
export async function listOpenAlerts({ pool }: Database, trackerId: string): Promise<OpenAlert[]> {
  const { rows } = await pool.query({
    name: 'list-open-alerts',
    text: `select destination_id, kind, sentence, raised_at from alerts
           where tracker_id = $1::uuid and resolved_at is null
           order by raised_at, id limit ${OPEN_ALERTS_MAX}`,
    values: [trackerId],
  })
  return rows.map(row => ({
    trackerId,
    destinationId: row.destination_id,
    kind: parseStored(ALERT_KINDS, row.kind),
    sentence: row.sentence,
    raisedAt: row.raised_at,
  }))
}

const OPEN_ALERTS_MAX = 300

/** A metrics request omits the figure instead of waiting longer. */
const QUERY_TIMEOUT_MILLISECONDS = 3_000

/** The number of open alerts of all trackers by kind, without kinds that have none, as stored. */
export async function countOpenAlerts({
  pool,
}: Database): Promise<Partial<Record<AlertKind, number>>> {
  const statement = {
    name: 'count-open-alerts',
    text: `select kind, count(*) as count from alerts where resolved_at is null group by kind`,
    query_timeout: QUERY_TIMEOUT_MILLISECONDS,
  }
  const { rows } = await pool.query(statement)
  return Object.fromEntries(rows.map(row => [row.kind, row.count]))
}

function alertValues({ trackerId, destinationId, kind, sentence, details }: Alert): unknown[] {
  return [trackerId, destinationId, kind, sentence, JSON.stringify(details)]
}
