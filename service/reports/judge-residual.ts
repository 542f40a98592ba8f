import type { AlertSubject } from './alert.ts'
import { type AlertContext, raiseAlert } from './raise-alert.ts'
import type { DayReconciliation } from './reconcile-day.ts'
import { resolveAlert } from './resolve-alert.ts'

/** From so much on it is worth somebody's time: a twentieth of what was accepted, and ten. */
const SHARE_MIN = 0.05
const EVENTS_MIN = 10

export interface JudgedReport {
  trackerId: string
  destinationId: string
  /** UTC day, YYYY-MM-DD. */
  day: string
  reconciliation: DayReconciliation
  at: Date
}

/**
 * Raises an alert when much of a day's gap stays unexplained in its final report, and resolves it
 * when that of a later day is fine again. A day that waits or was not compared says neither.
 */
export async function judgeResidual(
  context: AlertContext,
  { trackerId, destinationId, day, reconciliation, at }: JudgedReport,
): Promise<void> {
  const { status, acceptedCount, metaCount, unexplainedResidual } = reconciliation
  const subject: AlertSubject = { trackerId, destinationId, kind: 'reconciliation_unexplained' }
  if (status === 'pending' || status === 'unavailable') return
  const unexplained = Math.abs(unexplainedResidual)
  if (unexplained < EVENTS_MIN || unexplained < acceptedCount * SHARE_MIN) {
    await resolveAlert(context, subject, at)
    return
  }
  const side = unexplainedResidual > 0 ? 'fewer' : 'more'
  const sentence =
    `Of ${day} the platform counts ${unexplained} events ${side} than anything explains: ` +
    'see the reconciliation report.'
  const details = { day, acceptedCount, metaCount, unexplainedResidual }
  await raiseAlert(context, { ...subject, sentence, details }, at)
}
