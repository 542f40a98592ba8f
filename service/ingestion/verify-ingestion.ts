import type { TrackerIdentity } from '../access/store.ts'
import { decideConsent } from '../consent/consent-decision.ts'
import type { AcceptanceContext } from './accept-event.ts'
import { draftEvent } from './event-draft.ts'

/** One a tracker: asking again finds the first. */
const VERIFICATION_EVENT_ID = 'signal-verification'

const VERIFICATION = {
  event_name: 'signal_verification',
  consent_basis: 'legitimate_interest',
  action_source: 'system_generated',
} as const

/**
 * verifySignalIngestion: records one identity-free event, which proves that the tracker can write
 * to the ledger. It is no evidence of a real arrival and is delivered nowhere (spec).
 */
export async function verifyIngestion(
  { commits }: Pick<AcceptanceContext, 'commits'>,
  { trackerId }: Pick<TrackerIdentity, 'trackerId'>,
  receivedAt: Date,
): Promise<{ eventId: string; isDuplicate: boolean }> {
  const eventId = VERIFICATION_EVENT_ID
  const moment = { receivedAt, eventTime: receivedAt, identityPresent: false }
  const decision = decideConsent(VERIFICATION, moment)
  const draft = draftEvent(VERIFICATION, { trackerId, eventId, decision, ...moment })
  const { isNew } = await commits.submit(draft)
  return { eventId, isDuplicate: !isNew }
}
