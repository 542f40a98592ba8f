import type { IngestionWarning } from '@signalbox/contract/submissions.ts'
import {
  type CapturedAt,
  CLOCK_TOLERANCE_MINUTES,
  isLaterThan,
  isOlderThanDays,
} from './captured-at.ts'
import type { ConsentMoment } from './consent-moment.ts'

/** Consent older than this is still honoured, and the caller is told that it grows old. */
export const CAPTURE_AGE_DAYS_ADVISED = 180

/**
 * What is doubtful about `consent.captured_at`, for the 202 answer (decisions, section 3). There
 * is one code for all of it; the message tells which. It warns and never refuses. The age is
 * counted at receipt, since that is when the consent is used; an old event may earn two warnings.
 */
export function captureWarnings(captured: CapturedAt, moment: ConsentMoment): IngestionWarning[] {
  if (captured === 'missing') return moment.identityPresent ? [warning(MISSING)] : []
  if (captured === 'invalid') return [warning(INVALID)]
  const warnings: IngestionWarning[] = []
  // A time in the future is later than the event as well; saying it once is enough.
  if (isLaterThan(captured, moment.receivedAt)) warnings.push(warning(IN_FUTURE))
  else if (isLaterThan(captured, moment.eventTime)) warnings.push(warning(AFTER_EVENT))
  if (isOlderThanDays(captured, moment.receivedAt, CAPTURE_AGE_DAYS_ADVISED)) {
    warnings.push(warning(OLD))
  }
  return warnings
}

const MISSING =
  'consent.captured_at is missing: say when consent was captured, since the event carries identity.'
const INVALID =
  'consent.captured_at is not an RFC 3339 date-time with Z or an offset, like 2026-05-04T12:30:00Z.'
const IN_FUTURE = `consent.captured_at is over ${CLOCK_TOLERANCE_MINUTES} minutes in the future.`
const AFTER_EVENT =
  'consent.captured_at is later than the event: consent must come before the event it covers.'
const OLD = `consent.captured_at is older than ${CAPTURE_AGE_DAYS_ADVISED} days: ask again soon.`

/** Built anew each time, so that no caller can change the warning of another event. */
function warning(message: string): IngestionWarning {
  return { code: 'consent_captured_at_invalid', field: 'consent.captured_at', message }
}
