import type { SignalHealth } from '@signalbox/contract/agents/account.ts'
import { type AgentPrincipal, requirePermission } from '../../oauth/verify-agent-token.ts'
import type { ProposalContext } from '../proposals/proposal-context.ts'
import { type BoundDestination, findBoundDestinations } from './bound-store.ts'
import { destinationFindings, trackerFindings } from './signal-findings.ts'
import { findLaneSigns, findLastEvents, type LaneSigns } from './signal-store.ts'

const DAY_MILLISECONDS = 86_400_000

/**
 * get_signal_health: whether events arrive and get through to the credential's ad account, and what
 * to do where they do not. Throws a 403 without the permission.
 */
export async function readSignalHealth(
  { database, now }: Pick<ProposalContext, 'database' | 'now'>,
  principal: AgentPrincipal,
): Promise<SignalHealth> {
  requirePermission(principal, 'ad-account.read')
  const readAt = now()
  const destinations = await findBoundDestinations(database, principal)
  const trackerIds = destinations.map(({ trackerId }) => trackerId)
  const lanes = { trackerIds, destinationIds: destinations.map(({ id }) => id) }
  const lastEvents = await findLastEvents(database, [...new Set(trackerIds)])
  const since = new Date(readAt.getTime() - DAY_MILLISECONDS)
  const signs = await findLaneSigns(database, lanes, { now: readAt, since })
  const view = { destinations, lastEvents, signs, readAt }
  const findings = destinations.length === 0 ? [NOT_CONNECTED] : findingsOf(view)
  return {
    ad_account_id: principal.adAccountId,
    status: lastEvents.size === 0 ? 'not_connected' : findings.length > 0 ? 'degraded' : 'healthy',
    findings,
    trackers: trackersOf(view),
    read_at: readAt.toISOString(),
  }
}

const NOT_CONNECTED =
  'No destination of this workspace delivers for this ad account: ask whoever runs this ' +
  'installation to connect a tracker and its dataset to it.'

interface Signs {
  destinations: readonly BoundDestination[]
  lastEvents: ReadonlyMap<string, Date>
  signs: readonly LaneSigns[]
  readAt: Date
}

function findingsOf({ destinations, lastEvents, signs, readAt }: Signs): string[] {
  return [...byTracker(destinations)].flatMap(([trackerId, bound]) => {
    const lastEventAt = lastEvents.get(trackerId) ?? null
    const ofDestinations = bound.flatMap(destination =>
      destinationFindings(destination, signsOf(signs, destination), readAt),
    )
    return [...trackerFindings({ trackerId, lastEventAt }, readAt), ...ofDestinations]
  })
}

function trackersOf({ destinations, lastEvents, signs, readAt }: Signs): SignalHealth['trackers'] {
  return [...byTracker(destinations)].map(([id, bound]) => ({
    id,
    name: bound[0]?.trackerName ?? '',
    last_event_at: lastEvents.get(id)?.toISOString() ?? null,
    destinations: bound.map(destination => {
      const { lastAcceptedAt, deliveries, matchQuality } = signsOf(signs, destination)
      return {
        id: destination.id,
        status: destination.status,
        status_reason: destination.statusReason,
        test_mode: destination.testModeUntil !== null && destination.testModeUntil > readAt,
        last_accepted_at: lastAcceptedAt?.toISOString() ?? null,
        deliveries_last_day: deliveries,
        match_quality: matchQuality === null ? null : Number(matchQuality),
      }
    }),
  }))
}

function byTracker(destinations: readonly BoundDestination[]): Map<string, BoundDestination[]> {
  return Map.groupBy(destinations, ({ trackerId }) => trackerId)
}

function signsOf(signs: readonly LaneSigns[], { id }: BoundDestination): LaneSigns {
  const found = signs.find(({ destinationId }) => destinationId === id)
  if (!found) throw new Error('a destination that was found has no signs')
  return found
}
