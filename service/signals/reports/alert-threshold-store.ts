import type { Database, Transaction } from '../../runtime/db/database.ts'

/** From when on the alerts of a workspace are raised. */
export interface AlertThresholds {
  /** A match quality below it is low. Decimal text, 0 to 10. */
  scoreMin: string
  /** The match quality fell when it lost so much within a week. Decimal text. */
  scoreFall: string
  /** A residual alert needs so many unexplained events, */
  unexplainedEvents: number
  /** and so many percent of the accepted ones. Decimal text. */
  unexplainedPercent: string
  /** A destination that cannot be reached for so long is announced. */
  unreachableMinutes: number
}

export const DEFAULT_THRESHOLDS: AlertThresholds = {
  scoreMin: '4',
  scoreFall: '1',
  unexplainedEvents: 10,
  unexplainedPercent: '5',
  unreachableMinutes: 15,
}

export async function findThresholds(
  { pool }: Pick<Database, 'pool'>,
  workspaceId: number,
): Promise<AlertThresholds> {
  const { rows } = await pool.query({
    name: 'find-alert-thresholds',
    text: `select * from alert_thresholds where workspace_id = $1::integer`,
    values: [workspaceId],
  })
  return toThresholds(rows[0])
}

/** Those of the workspace that has the tracker. */
export async function findThresholdsOfTracker(
  { pool }: Pick<Database, 'pool'>,
  trackerId: string,
): Promise<AlertThresholds> {
  const { rows } = await pool.query({
    name: 'find-alert-thresholds-of-tracker',
    text: `select alert_thresholds.* from trackers
           join alert_thresholds using (workspace_id) where trackers.id = $1::uuid`,
    values: [trackerId],
  })
  return toThresholds(rows[0])
}

// biome-ignore lint/suspicious/noExplicitAny: a row of the driver
function toThresholds(row: any): AlertThresholds {
  if (!row) return DEFAULT_THRESHOLDS
  return {
    scoreMin: row.score_min,
    scoreFall: row.score_fall,
    unexplainedEvents: row.unexplained_events,
    unexplainedPercent: row.unexplained_percent,
    unreachableMinutes: row.unreachable_minutes,
  }
}

interface ThresholdChange {
  workspaceId: number
  thresholds: AlertThresholds
  at: Date
}

export async function saveThresholds(
  { query }: Transaction,
  { workspaceId, thresholds, at }: ThresholdChange,
): Promise<void> {
  await query
    .insertInto('alert_thresholds')
    .values({
      workspace_id: workspaceId,
      score_min: thresholds.scoreMin,
      score_fall: thresholds.scoreFall,
      unexplained_events: thresholds.unexplainedEvents,
      unexplained_percent: thresholds.unexplainedPercent,
      unreachable_minutes: thresholds.unreachableMinutes,
      updated_at: at,
    })
    .onConflict(conflict =>
      conflict.column('workspace_id').doUpdateSet(({ ref }) => ({
        score_min: ref('excluded.score_min'),
        score_fall: ref('excluded.score_fall'),
        unexplained_events: ref('excluded.unexplained_events'),
        unexplained_percent: ref('excluded.unexplained_percent'),
        unreachable_minutes: ref('excluded.unreachable_minutes'),
        updated_at: ref('excluded.updated_at'),
      })),
    )
    .execute()
}
