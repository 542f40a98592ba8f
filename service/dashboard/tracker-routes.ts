import * as operations from '@signalbox/contract/session/tracker-operations.ts'
import { TrackerChange, TrackerSubmission } from '@signalbox/contract/session/trackers.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../runtime/http/validator.ts'
import { listNamedTrackers } from '../signals/access/tracker-store.ts'
import { requireRole } from '../workspaces/users/workspaces.ts'
import { createTracker, renameTracker } from './create-tracker.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { requireTracker } from './tracker-scope.ts'

const trackerValidator = new Validator(TrackerSubmission)
const trackerChangeValidator = new Validator(TrackerChange)

/** The trackers of a workspace. */
export function trackerRoutes(app: ServiceApp, context: DashboardContext): void {
  const { database } = context

  app.route({
    ...operations.listTrackers,
    async handler({ user, params }) {
      const intent = { workspaceId: workspaceOf(params), action: 'read' } as const
      const membership = await requireRole(database, user, intent)
      const rows = await listNamedTrackers(database, membership.workspaceId)
      const trackers = rows.map(({ id, name, created_at: createdAt }) => ({
        id,
        name,
        created_at: createdAt.toISOString(),
      }))
      return { trackers }
    },
  })
  app.route({
    ...operations.createTracker,
    async handler({ user, params, body }, reply) {
      const intent = { workspaceId: workspaceOf(params), action: 'manage_trackers' } as const
      const { workspaceId } = await requireRole(database, user, intent)
      const submission = trackerValidator.validate(body)
      return reply.code(201).send(await createTracker(context, { user, workspaceId, submission }))
    },
  })
  app.route({
    ...operations.renameTracker,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const { name } = trackerChangeValidator.validate(request.body)
      await renameTracker(context, { user: request.user, tracker, name })
      return reply.code(204).send()
    },
  })
}

function workspaceOf(params: unknown): string {
  return readPathParameters(params, 'workspace').workspace
}
