import * as operations from '@signalbox/contract/session/destination-operations.ts'
import {
  CredentialSubmission,
  DestinationSubmission,
} from '@signalbox/contract/session/destinations.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../runtime/http/validator.ts'
import { destinationView, isTestModeOn } from '../signals/delivery/destination-resource.ts'
import type { Destination } from '../signals/delivery/destination-store.ts'
import { setTestMode } from '../signals/delivery/test-mode.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { readDestinationStatuses, readTestModes } from './destination-status.ts'
import {
  checkDestinationNow,
  connectDestination,
  replaceDestinationCredential,
  sendDestinationTestPurchase,
} from './manage-destinations.ts'
import { requireTracker, type TrackerRequest } from './tracker-scope.ts'

const destinationValidator = new Validator(DestinationSubmission)
const credentialValidator = new Validator(CredentialSubmission)

/** The destinations of a tracker: what they do, and everything that a person may change. */
export function destinationRoutes(app: ServiceApp, context: DashboardContext): void {
  readRoutes(app, context)
  credentialRoutes(app, context)
  testRoutes(app, context)
}

function readRoutes(app: ServiceApp, context: DashboardContext): void {
  app.route({
    ...operations.listDestinations,
    handler: async request =>
      readDestinationStatuses(context, await requireTracker(context, request, 'read')),
  })
  app.route({
    ...operations.listTestModes,
    handler: async request =>
      readTestModes(context, await requireTracker(context, request, 'read')),
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

function destinationOf({ params }: TrackerRequest): string {
  return readPathParameters(params, 'destination').destination
}

function viewOf({ now }: DashboardContext, destination: Destination, workspaceId: number) {
  return destinationView(destination, { workspaceId, at: now() })
}
