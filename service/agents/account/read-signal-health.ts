import type { IngestionVerification, SignalHealth } from '@signalbox/contract/agents/account.ts'
import { isMember, storedText } from '@signalbox/contract/closed-set.ts'
import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import { STATUS_GROUPS } from '@signalbox/contract/session/events.ts'
import { DAY_MILLISECONDS, HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { findEventsById } from '../../signals/events/event-store.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import {
  type BoundDestination,
  type DestinationSignals,
  findBoundDestinations,
  findDestinationSignals,
  findLastEvents,
} from './destination-signal-store.ts'

/**
 * get_signal_health: whether events are received and delivered to the ad account of the credential,
 * and what to do about problems. Throws a 403 refusal without the permission.
 */
export async function readSignalHealth(
  { database, now }: Pick<ProposalContext, 'database' | 'now'>,
  principal: AgentPrincipal,
): Promise<SignalHealth> {
  requirePermission(principal, 'ad-account.read')
  const readAt = now()
  const destinations = await findBoundDestinations(database, principal)
  const trackerIds = destinations.map(({ trackerId }) => trackerId)
  const pairs = { trackerIds, destinationIds: destinations.map(({ id }) => id) }
  const lastEvents = await findLastEvents(database, [...new Set(trackerIds)])
  const since = new Date(readAt.getTime() - DAY_MILLISECONDS)
  const signals = await findDestinationSignals(database, pairs, { now: readAt, since })
  const view = { destinations, lastEvents, signals, readAt }
  const findings = destinations.length === 0 ? [NOT_CONNECTED] : collectFindings(view)
  return {
    ad_account_id: principal.adAccountId,
    status: lastEvents.size === 0 ? 'not_connected' : findings.length > 0 ? 'degraded' : 'healthy',
    findings,
    trackers: toTrackers(view),
    read_at: readAt.toISOString(),
  }
}

const NOT_CONNECTED =
  'No destination of this workspace delivers for this ad account: ask the operator of ' +
  'this installation to connect a tracker and its dataset to it.'

interface SignalView {
  destinations: readonly BoundDestination[]
  lastEvents: ReadonlyMap<string, Date>
  signals: readonly DestinationSignals[]
  readAt: Date
}

function collectFindings({ destinations, lastEvents, signals, readAt }: SignalView): string[] {
  return [...byTracker(destinations)].flatMap(([trackerId, bound]) => {
    const lastEventAt = lastEvents.get(trackerId) ?? null
    const ofDestinations = bound.flatMap(destination =>
      destinationFindings(destination, signalsOfDestination(signals, destination), readAt),
    )
    return [...trackerFindings({ trackerId, lastEventAt }, readAt), ...ofDestinations]
  })
}

function toTrackers({
  destinations,
  lastEvents,
  signals,
  readAt,
}: SignalView): SignalHealth['trackers'] {
  return [...byTracker(destinations)].map(([id, bound]) => ({
    id,
    name: bound[0]?.trackerName ?? '',
    last_event_at: lastEvents.get(id)?.toISOString() ?? null,
    destinations: bound.map(destination => {
      const { lastAcceptedAt, deliveries, matchQuality } = signalsOfDestination(
        signals,
        destination,
      )
      return {
        id: destination.id,
        status: storedText(destination.status),
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

function signalsOfDestination(
  signals: readonly DestinationSignals[],
  { id }: BoundDestination,
): DestinationSignals {
  const found = signals.find(({ destinationId }) => destinationId === id)
  if (!found) throw new Error('a destination has no signals')
  return found
}

interface TrackerSignals {
  trackerId: string
  lastEventAt: Date | null
}

const SILENT_HOURS_MAX = 24
const WAITING_HOURS_MAX = 1
/** A lower share is a few invalid events. */
const FAILED_PERCENT_MIN = 1

/**
 * Problems of a tracker, one sentence each with what to do. Sentences never contain names that
 * people chose, because a reading model could take them as instructions.
 */
function trackerFindings({ trackerId, lastEventAt }: TrackerSignals, now: Date): string[] {
  if (lastEventAt === null) {
    return [
      `Tracker ${trackerId} has stored no event yet: install the tag, or send one from the ` +
        'server as the documentation of createEvent says.',
    ]
  }
  const silentHours = hoursBetween(lastEventAt, now)
  if (silentHours < SILENT_HOURS_MAX) return []
  return [
    `Tracker ${trackerId} has stored nothing for ${Math.floor(silentHours)} hours: ask a ` +
      'person to check whether the shop still sends its events.',
  ]
}

function destinationFindings(
  { id, status, testModeUntil }: BoundDestination,
  signals: DestinationSignals,
  now: Date,
): string[] {
  const findings: string[] = []
  const isActive = status === 'active'
  if (!isActive) {
    findings.push(
      `Destination ${id} is inactive, and its deliveries wait; status_reason has the message of ` +
        'the platform: ask the operator of this installation to set a new credential.',
    )
  }
  if (testModeUntil !== null && testModeUntil > now) {
    findings.push(
      `Destination ${id} is in test mode until ${testModeUntil.toISOString()}, and its events do ` +
        'not count: ask a person to switch test mode off when the test is over.',
    )
  }
  const waitingHours = signals.oldestDueAt === null ? 0 : hoursBetween(signals.oldestDueAt, now)
  if (isActive && waitingHours >= WAITING_HOURS_MAX) {
    findings.push(
      `Deliveries of destination ${id} have been due for ${Math.floor(waitingHours)} hours: ask ` +
        'the operator of this installation whether a worker runs and reaches the platform.',
    )
  }
  return [...findings, ...failedFindings(id, signals.deliveries), ...signals.alerts]
}

function failedFindings(id: string, deliveries: Record<string, number>): string[] {
  const counts = Object.entries(deliveries)
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  const failed = counts.reduce((sum, [status, count]) => sum + (isLost(status) ? count : 0), 0)
  if (failed === 0 || failed * 100 < all * FAILED_PERCENT_MIN) return []
  return [
    `Of ${all} deliveries of destination ${id} in the last 24 hours ${failed} failed: ask a ` +
      'person to read the explanation of one of these events, fix the cause and replay them.',
  ]
}

/** Planned, and never accepted by the platform. */
const LOST_STATUSES: readonly DeliveryStatus[] = [...STATUS_GROUPS.failed, 'expired']

function isLost(status: string): boolean {
  return isMember(LOST_STATUSES, status)
}

function hoursBetween(from: Date, to: Date): number {
  return (to.getTime() - from.getTime()) / HOUR_MILLISECONDS
}

interface VerificationContext extends Pick<ProposalContext, 'database'> {
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
