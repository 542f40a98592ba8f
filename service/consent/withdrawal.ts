import { parseCapturedAt } from './captured-at.ts'
import type { ConsentGranted } from './consent-decision.ts'

export type WithdrawalCheck = { allowed: true } | { allowed: false; reason: 'consent_withdrawn' }

/** A granted decision, as decided just now or as stored with the event. */
export type ConsentGrant = Pick<ConsentGranted, 'reason' | 'captured_at'>

/**
 * Whether a granted event may still go out, given the visitor's latest withdrawal (null when there
 * is none). Asked at acceptance and again at the moment of sending (decisions, section 3).
 *
 * Only a consent captured after the withdrawal reopens the way, so a grant needs a time to stand
 * on: without `captured_at` it falls, and so does the caller's mere attestation, which names no
 * signal that the person gave anew. A time equal to the withdrawal is not after it. The day
 * precision of a TC string counts against it: midnight of the day of withdrawal comes before.
 */
export function checkWithdrawal(grant: ConsentGrant, withdrawnAt: Date | null): WithdrawalCheck {
  if (withdrawnAt === null) return { allowed: true }
  const captured = parseCapturedAt(grant.captured_at)
  const isReopened =
    grant.reason !== 'attested_by_basis' &&
    captured instanceof Date &&
    captured.getTime() > withdrawnAt.getTime()
  return isReopened ? { allowed: true } : { allowed: false, reason: 'consent_withdrawn' }
}
