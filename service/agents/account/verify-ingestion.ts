import type { IngestionVerification } from '@signalbox/contract/agents/account.ts'
import { findEventsById } from '../../signals/events/event-store.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { findBoundDestinations } from './destination-signal-store.ts'

export interface VerificationContext extends Pick<ProposalContext, 'database'> {
  /** Stores a verification event for one tracker. */
  verifyTracker: (trackerId: string) => Promise<{ eventId: string; isDuplicate: boolean }>
}

/**
 * verify_signal_ingestion: stores one event without identity for each tracker that delivers to the
 * ad account of the credential, and reads it back. Throws a 403 refusal without the permission.
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
  'No tracker delivers for this ad account, so nothing was verified: call get_signal_health for ' +
  'what to do.'

const EXPLANATION =
  'Events of these trackers can be stored. This does not prove that real events arrive, and ' +
  'nothing was sent to the platform: get_signal_health has the time of the last real event.'
