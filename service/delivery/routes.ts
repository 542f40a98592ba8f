import { TestModeSubmission } from '@signalbox/contract/destinations.ts'
import { replayDeliveries, setDestinationTestMode } from '@signalbox/contract/operations.ts'
import {
  REPLAY_BYTES_MAX,
  REPLAY_LIMIT_DEFAULT,
  type ReplayResult,
  ReplaySubmission,
} from '@signalbox/contract/replays.ts'
import type { TrackerIdentity } from '../access/store.ts'
import type { AuditEntry } from '../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../audit/commit-audited.ts'
import { createBodyValidator } from '../http/body-schema.ts'
import type { ServiceApp } from '../http/service-app.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import {
  assertDestinationId,
  destinationNotFound,
  destinationView,
  isTestModeOn,
} from './destination-resource.ts'
import {
  type Destination,
  lockTestMode,
  switchTestMode,
  type TestMode,
} from './destination-store.ts'
import { replaySelection } from './replay-deliveries.ts'

interface DeliveryRoutes extends AuditedContext {
  platforms: PlatformRegistry
  now: () => Date
  testModeSeconds: number
  /** The test mode of one of the tracker's destinations was switched. */
  onTestModeSwitched: (trackerId: string) => void
  /** Deliveries became due. */
  onQueued: () => void
}

export function deliveryRoutes(app: ServiceApp, context: DeliveryRoutes): void {
  const { now, testModeSeconds, onTestModeSwitched, onQueued } = context

  app.route({
    ...setDestinationTestMode,
    async handler({ tracker, params, body }, reply) {
      const at = now()
      const destinationId = params.destination
      const request = { tracker, destinationId, body, at, testModeSeconds }
      const destination = await setTestMode(context, request)
      const { trackerId, workspaceId } = tracker
      onTestModeSwitched(trackerId)
      return reply.code(200).send({
        destination: destinationView(destination, { workspaceId, at }),
        test_mode: isTestModeOn(destination, at),
      })
    },
  })

  app.route({
    ...replayDeliveries,
    bodyLimit: REPLAY_BYTES_MAX,
    async handler({ tracker, body }, reply) {
      const result = await replayFailedDeliveries(context, { tracker, body, at: now() })
      if (result.queued > 0) onQueued()
      return reply.code(200).send(result)
    },
  })
}

const checkTestModeBody = createBodyValidator<TestModeSubmission>(TestModeSubmission)

interface TestModeRequest {
  tracker: TrackerIdentity
  destinationId: string
  body: unknown
  at: Date
  /** Test mode switches off after this long, because forgotten test mode loses conversions. */
  testModeSeconds: number
}

type TestModeScope = Pick<DeliveryRoutes, 'database' | 'audit' | 'platforms'>

/**
 * Switches test mode and returns the destination. A code that is left out is kept, null clears it.
 * Test mode never switches on without a code, because the platform would count the test events as
 * live. A change is audited. Throws a 404 refusal for a
 * destination of another tracker, and a 422 that names every invalid field.
 */
async function setTestMode(
  context: TestModeScope,
  { tracker, destinationId, body, at, testModeSeconds }: TestModeRequest,
): Promise<Destination> {
  assertDestinationId(destinationId)
  const { enabled, test_event_code } = checkTestModeBody(body)
  const until = new Date(at.getTime() + testModeSeconds * 1_000)
  const key = { trackerId: tracker.trackerId, destinationId }
  const { platforms } = context
  return commitAudited(context, async (transaction, record) => {
    const before = await lockTestMode(transaction, key)
    if (!before) throw destinationNotFound()
    const platform = platforms.find(before.platform) ?? platforms.default
    const testCode = test_event_code === undefined ? before.testCode : test_event_code
    const after = await switchTestMode(transaction, key, {
      testModeUntil: enabled ? until : null,
      testCode: testCode ?? (enabled ? platform.createTestCode() : null),
      at,
    })
    const entry = testModeEntry(tracker, { before, after, at })
    if (entry) record(entry)
    return after
  })
}

/** Null when nothing changes: test mode that is off is switched off and keeps its code. */
function testModeEntry(
  { trackerId, workspaceId }: TrackerIdentity,
  { before, after, at }: { before: TestMode; after: Destination; at: Date },
): AuditEntry | null {
  const until = isTestModeOn(after, at) ? after.testModeUntil : null
  const untilBefore = isTestModeOn(before, at) ? before.testModeUntil : null
  const isCodeChanged = before.testCode !== after.testCode
  if (until?.getTime() === untilBefore?.getTime() && !isCodeChanged) return null
  return {
    workspaceId,
    at,
    actor: { type: 'tracker', id: trackerId },
    action: 'test_mode.switched',
    subject: { type: 'destination', id: after.id },
    details: {
      is_on: until !== null,
      was_on: untilBefore !== null,
      until: until?.toISOString() ?? null,
      is_code_changed: isCodeChanged,
    },
  }
}

const checkReplayBody = createBodyValidator<ReplaySubmission>(ReplaySubmission, ['event_name'])

interface ReplayCall {
  tracker: TrackerIdentity
  body: unknown
  at: Date
}

/**
 * Queues failed deliveries that can still be sent. Every request is audited, even one that found
 * nothing. Throws a 422 refusal that names every invalid field. The caller wakes the workers.
 */
async function replayFailedDeliveries(
  context: AuditedContext,
  { tracker, body, at }: ReplayCall,
): Promise<ReplayResult> {
  const { delivery_ids, event_name, limit } = checkReplayBody(body)
  const { queued, expired, payloadExpired, isCapped } = await replaySelection(context, {
    tracker,
    actor: { type: 'tracker', id: tracker.trackerId },
    selection: {
      trackerId: tracker.trackerId,
      deliveryIds: delivery_ids ?? null,
      eventName: event_name ?? null,
      limit: limit ?? REPLAY_LIMIT_DEFAULT,
    },
    at,
  })
  return { queued, expired, payload_expired: payloadExpired, capped: isCapped }
}
