import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { decideConsent } from '../service/consent/consent-decision.ts'
import { draftEvent, type EventDraft } from '../service/ingestion/event-draft.ts'
import { marksOf, purchaseBody } from './purchase-body.ts'

export interface PurchaseDraftRequest {
  trackerId: string
  count: number
  /** Twelve hexadecimal digits that all purchases of one run share. */
  run: string
  at: Date
}

const CAPTURED_MILLISECONDS_AGO = 3_600_000

/** The purchase that the load generator would send as its `count`th, as acceptance drafts it. */
export function purchaseDraft({ trackerId, count, run, at }: PurchaseDraftRequest): EventDraft {
  const capturedAt = new Date(at.getTime() - CAPTURED_MILLISECONDS_AGO)
  const body = purchaseBody(marksOf(count, run), { variant: count, capturedAt })
  const submission = body as unknown as EventSubmission
  return draftEvent(submission, {
    trackerId,
    eventId: String(body.event_id),
    receivedAt: at,
    eventTime: at,
    decision: decideConsent(submission, { receivedAt: at, eventTime: at, identityPresent: true }),
  })
}
