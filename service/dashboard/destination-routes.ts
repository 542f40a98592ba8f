import * as operations from '@signalbox/contract/session/destination-operations.ts'
import {
  CredentialSubmission,
  DestinationChange,
  DestinationSubmission,
  type SentTestPurchase,
} from '@signalbox/contract/session/destinations.ts'
import { commitAudited } from '../audit/audit-store.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../runtime/http/validator.ts'
import { changeDestination, disconnectDestination } from '../signals/delivery/change-destination.ts'
import { previewRouting, setRouting } from '../signals/delivery/change-routing.ts'
import { scheduleProbe } from '../signals/delivery/destination-health-store.ts'
import { announceDeliveries } from '../signals/delivery/destination-queue-store.ts'
import {
  assertDestinationId,
  destinationNotFound,
  destinationView,
  isTestModeOn,
} from '../signals/delivery/destination-resource.ts'
import type { Destination } from '../signals/delivery/destination-store.ts'
import { setTestMode } from '../signals/delivery/test-mode.ts'
import { requirePlatform, sendTestPurchase } from '../signals/ingestion/send-test-purchase.ts'
import { requireRecentAuthentication } from '../workspaces/users/reauthentication.ts'
import { NAME_ERROR, parseName } from '../workspaces/users/user-input.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import {
  connectDestination,
  type DestinationScope,
  replaceDestinationCredential,
} from './connect-destination.ts'
import { type DashboardContext, requireTracker, type TrackerRequest } from './dashboard-context.ts'
import { readDestinationStatuses, readTestModes } from './destination-status.ts'

const destinationValidator = new Validator(DestinationSubmission)
const changeValidator = new Validator(DestinationChange)
const credentialValidator = new Validator(CredentialSubmission)

/** The destinations of a tracker: what they do, and everything that a person may change. */
export function destinationRoutes(app: ServiceApp, context: DashboardContext): void {
  readRoutes(app, context)
  credentialRoutes(app, context)
  testRoutes(app, context)
  routingRoutes(app, context)
}

function readRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.listDestinations,
    handler: async request =>
      readDestinationStatuses(context, await requireTracker(context, request, 'view_events')),
  })
  app.route({
    ...operations.listTestModes,
    handler: async request =>
      readTestModes(context, await requireTracker(context, request, 'view_events')),
  })
}

function credentialRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.createDestination,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const submission = destinationValidator.validate(request.body)
      const { user } = request
      const destination = await connectDestination(context, { user, tracker, submission })
      return reply.code(201).send(viewOf(context, destination, tracker.workspaceId))
    },
  })
  app.route({
    ...operations.replaceCredential,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const submission = credentialValidator.validate(request.body)
      const scope = { user: request.user, tracker, destinationId: destinationOf(request) }
      const changed = await replaceDestinationCredential(context, { ...scope, submission })
      return viewOf(context, changed, tracker.workspaceId)
    },
  })
  app.route({
    ...operations.changeDestination,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const { name, paused: isPaused } = changeValidator.validate(request.body)
      const changed = await changeDestination(context, {
        tracker,
        destinationId: destinationOf(request),
        name: readName(name),
        isPaused,
        actor: userActor(request.user),
        at: context.now(),
      })
      context.onDestinationChanged(tracker.trackerId)
      return viewOf(context, changed, tracker.workspaceId)
    },
  })
  app.route({
    ...operations.disconnectDestination,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const at = context.now()
      // A stolen session must not end the deliveries of a shop.
      requireRecentAuthentication(request.user, at)
      const actor = userActor(request.user)
      const destinationId = destinationOf(request)
      await disconnectDestination(context, { tracker, destinationId, actor, at })
      context.onDestinationChanged(tracker.trackerId)
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.checkDestination,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const scope = { user: request.user, tracker, destinationId: destinationOf(request) }
      const checked = await checkDestinationNow(context, scope)
      return viewOf(context, checked, tracker.workspaceId)
    },
  })
}

function testRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.switchTestMode,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const at = context.now()
      const destination = await setTestMode(context, {
        tracker,
        destinationId: destinationOf(request),
        body: request.body,
        at,
        actor: userActor(request.user),
      })
      context.onDestinationChanged(tracker.trackerId)
      return {
        destination: destinationView(destination, { workspaceId: tracker.workspaceId, at }),
        test_mode: isTestModeOn(destination, at),
      }
    },
  })
  app.route({
    ...operations.sendPurchase,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      const { user, body } = request
      const scope = { user, tracker, destinationId: destinationOf(request) }
      return sendDestinationTestPurchase(context, { ...scope, body })
    },
  })
}

function routingRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.changeRouting,
    async handler(request) {
      const given = await readRoutingRequest(context, request)
      const actor = userActor(request.user)
      const { routing } = await setRouting(context, { ...given, actor })
      context.onDestinationChanged(given.tracker.trackerId)
      return routing
    },
  })
  app.route({
    ...operations.previewRouting,
    handler: async request => previewRouting(context, await readRoutingRequest(context, request)),
  })
}

async function readRoutingRequest(
  context: DashboardContext,
  request: TrackerRequest & { body: unknown },
) {
  const tracker = await requireTracker(context, request, 'manage_trackers')
  return { tracker, destinationId: destinationOf(request), body: request.body, at: context.now() }
}

function destinationOf({ params }: TrackerRequest): string {
  return readPathParameters(params, 'destination').destination
}

function readName(input: string | null | undefined): string | null | undefined {
  if (input === undefined || input === null) return input
  const name = parseName(input)
  if (name === null) throw Refusal.ofFields({ name: [NAME_ERROR] })
  return name
}

function viewOf({ now }: DashboardContext, destination: Destination, workspaceId: number) {
  return destinationView(destination, { workspaceId, at: now() })
}

/** Tries a paused destination now. It needs a waiting event, because platforms have no ping. */
async function checkDestinationNow(
  context: DashboardContext,
  { user, tracker, destinationId }: DestinationScope,
): Promise<Destination> {
  assertDestinationId(destinationId)
  const { trackerId, workspaceId } = tracker
  const at = context.now()
  const checked = await commitAudited(context, async (transaction, record) => {
    const destination = await scheduleProbe(transaction, { trackerId, destinationId, at })
    if (destination?.status !== 'inactive') return destination
    record({
      workspaceId,
      at,
      actor: userActor(user),
      action: 'destination.checked',
      subject: { type: 'destination', id: destination.id },
      details: {},
    })
    return destination
  })
  if (!checked) throw destinationNotFound()
  await announceDeliveries(context.database)
  return checked
}

/** Sends a test purchase at once, and records who did. */
async function sendDestinationTestPurchase(
  context: DashboardContext,
  { user, tracker, destinationId, body }: DestinationScope & { body: unknown },
): Promise<SentTestPurchase> {
  const delivery = requirePlatform(context.delivery)
  const { trackerId, workspaceId } = tracker
  const sending = { ...delivery, erasureKey: context.erasureKey }
  const { purchase, reason } = await sendTestPurchase(sending, { trackerId, destinationId, body })
  await commitAudited(context, async (_, record) =>
    record({
      workspaceId,
      at: context.now(),
      actor: userActor(user),
      action: 'test_purchase.sent',
      subject: { type: 'destination', id: destinationId.toLowerCase() },
      details: { event_id: purchase.event_id, status: purchase.status },
    }),
  )
  return { ...purchase, reason }
}
