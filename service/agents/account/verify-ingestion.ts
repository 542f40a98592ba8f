import type { IngestionVerification } from '@signalbox/contract/agents/account.ts'
import { findEventsById } from '../../events/store.ts'
import { type AgentPrincipal, requirePermission } from '../../oauth/authenticate-agent.ts'
import type { ProposalContext } from '../proposals/agents-context.ts'
import { findBoundDestinations } from './destination-signal-store.ts'

export interface VerificationContext extends Pick<ProposalContext, 'database'> {
  /** verifySignalIngestion for one tracker. */
  verifyTracker: (trackerId: string) => Promise<{ eventId: string; isDuplicate: boolean }>
}

/**
 * verify_signal_ingestion: writes one event without identity to each tracker that delivers for the
 * credential's ad account, as verifySignalIngestion does, and reads it back. Throws a 403 without
 * the permission.
 */
export async function verifySignalIngestion(
  { database, verifyTracker }: VerificationContext,
  principal: AgentPrincipal,
): Promise<IngestionVerification> {
  requirePermission(principal, 'ad-account.read')
  const destinations = await findBoundDestinations(database, principal)
  const verifications: IngestionVerification['verifications'] = []
  for (const trackerId of new Set(destinations.map(bound => bound.trackerId))) {
    const { eventId, isDuplicate } = await verifyTracker(trackerId)
    const stored = await findEventsById(database, trackerId, [eventId])
    verifications.push({
      tracker_id: trackerId,
      event_id: eventId,
      duplicate: isDuplicate,
      is_stored: stored.length > 0,
    })
  }
  return {
    verifications,
    explanation: destinations.length === 0 ? NOTHING_TO_VERIFY : EXPLANATION,
  }
}

const NOTHING_TO_VERIFY =
  'No tracker delivers for this ad account, so nothing was verified: get_signal_health says what ' +
  'to do.'

const EXPLANATION =
  'The ledger takes events of these trackers. That is no evidence that real events arrive, and ' +
  'nothing was sent to the platform: get_signal_health says when the last real one came.'
