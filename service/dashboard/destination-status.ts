import { storedText } from '@signalbox/contract/closed-set.ts'
import type {
  DestinationStatus,
  DestinationStatusList,
  TestModeNoticeList,
} from '@signalbox/contract/session/destinations.ts'
import { openCredential } from '../runtime/util/sealed-credential.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import {
  findLastAttempts,
  type LastAttempt,
  type QueueDepth,
  readQueueDepths,
} from '../signals/delivery/destination-health-store.ts'
import { destinationView, formatTarget } from '../signals/delivery/destination-resource.ts'
import type { Destination } from '../signals/delivery/destination-store.ts'
import { listDestinations } from '../signals/delivery/destination-store.ts'
import type { PlatformRegistry } from '../signals/platforms/registry.ts'
import { listOpenAlerts, type OpenAlert } from '../signals/reports/alert-store.ts'
import type { DashboardContext } from './dashboard-context.ts'

/** Where `readDestinationStatuses` reads. */
export type StatusContext = Pick<
  DashboardContext,
  'database' | 'platforms' | 'now' | 'credentialKeys'
>

/** Every destination of a tracker with what a person needs to see whether it works. */
export async function readDestinationStatuses(
  context: StatusContext,
  tracker: TrackerIdentity,
): Promise<DestinationStatusList> {
  const { database, platforms, now } = context
  const { trackerId, workspaceId } = tracker
  const destinations = await listDestinations(database, trackerId)
  const given = { trackerId, destinationIds: destinations.map(({ id }) => id) }
  const [depths, attempts, alerts] = await Promise.all([
    readQueueDepths(database, given),
    findLastAttempts(database, given),
    listOpenAlerts(database, trackerId),
  ])
  const at = now()
  return {
    destinations: destinations.map(destination => {
      const { id } = destination
      return statusView(destination, {
        context,
        workspaceId,
        at,
        depth: depths.get(id),
        attempt: attempts.get(id) ?? null,
        alerts: alerts.filter(({ destinationId }) => destinationId === id),
      })
    }),
    platforms: platformViews(platforms),
  }
}

interface StatusParts {
  context: StatusContext
  workspaceId: number
  at: Date
  depth: QueueDepth | undefined
  attempt: LastAttempt | null
  alerts: readonly OpenAlert[]
}

function statusView(destination: Destination, parts: StatusParts): DestinationStatus {
  const { context, workspaceId, at, depth, attempt, alerts } = parts
  const { nextProbeAt, status, name, pausedAt } = destination
  return {
    destination: destinationView(destination, { workspaceId, at }),
    name,
    paused_at: pausedAt?.toISOString() ?? null,
    target: formatTarget(destination.config),
    credential: credentialState(destination, { context, attempt }),
    queue: queueView(depth),
    backoff: backoffView(destination, at),
    next_check_at: status === 'inactive' && nextProbeAt ? nextProbeAt.toISOString() : null,
    test_mode_seconds_left: testModeSecondsLeft(destination, at),
    last_request: attempt && requestView(attempt),
    routing: destination.routing,
    alerts: alerts.map(({ kind, sentence, raisedAt }) => ({
      kind: storedText(kind),
      sentence,
      raised_at: raisedAt.toISOString(),
    })),
  }
}

/**
 * The platform's last answer on the credential. A destination that is active after a rejection has
 * a new credential, which nothing was sent with yet.
 */
function credentialState(
  destination: Destination,
  { context, attempt }: Pick<StatusParts, 'context' | 'attempt'>,
): DestinationStatus['credential'] {
  const { id, sealedCredential, status, pausedAt } = destination
  if (!openCredential(context.credentialKeys, id, sealedCredential)) return 'unreadable'
  if (status === 'inactive' && pausedAt === null) return 'rejected'
  switch (attempt?.outcome) {
    case 'accepted':
    case 'permanent':
    case 'throttle':
      return 'accepted'
    case 'auth':
    case 'config':
    case 'retry':
    case 'unknown':
    case undefined:
      return 'untried'
  }
}

function queueView(depth: QueueDepth | undefined): DestinationStatus['queue'] {
  return {
    waiting: depth?.waiting ?? 0,
    retrying: depth?.retrying ?? 0,
    in_flight: depth?.inFlight ?? 0,
    is_lower_bound: depth?.isLowerBound ?? false,
    oldest_at: depth?.oldestAt?.toISOString() ?? null,
    next_attempt_at: depth?.nextAttemptAt?.toISOString() ?? null,
  }
}

/** A pause and a limit of requests end by time; an outage ends with the next answer. */
function backoffView({ backoff }: Destination, at: Date): DestinationStatus['backoff'] {
  if (backoff === null || (backoff.cause !== 'unreachable' && backoff.until <= at)) return null
  const { cause, since, until } = backoff
  return { cause, since: since.toISOString(), until: until.toISOString() }
}

function requestView(attempt: LastAttempt): DestinationStatus['last_request'] {
  return {
    at: attempt.startedAt.toISOString(),
    duration_milliseconds: attempt.durationMilliseconds,
    event_count: attempt.eventCount,
    is_test: attempt.isTest,
    outcome: attempt.outcome,
    http_status: attempt.httpStatus,
    trace_id: attempt.traceId,
    answer: attempt.answer,
  }
}

/** Seconds instead of a time, so that a countdown does not depend on the clock of the browser. */
function testModeSecondsLeft({ testModeUntil }: Destination, at: Date): number | null {
  const seconds = testModeUntil ? Math.ceil((testModeUntil.getTime() - at.getTime()) / 1_000) : 0
  return seconds > 0 ? seconds : null
}

function platformViews({ all }: PlatformRegistry): DestinationStatusList['platforms'] {
  return all.map(({ name, label, targetFields, credentialForms, conversionTargets }) => ({
    type: name,
    label,
    fields: targetFields.map(({ isValid: _, ...field }) => field),
    credentials: credentialForms.map(form => ({ ...form })),
    event_names: conversionTargets ? { ...conversionTargets } : null,
  }))
}

/** The destinations of a tracker that receive test events now. */
export async function readTestModes(
  { database, now }: DashboardContext,
  { trackerId }: TrackerIdentity,
): Promise<TestModeNoticeList> {
  const destinations = await listDestinations(database, trackerId)
  const at = now()
  return {
    test_modes: destinations.flatMap(destination => {
      const secondsLeft = testModeSecondsLeft(destination, at)
      if (secondsLeft === null) return []
      const { id, platform, config } = destination
      const target = { type: platform, target: formatTarget(config) }
      return [{ destination_id: id, ...target, seconds_left: secondsLeft }]
    }),
  }
}
