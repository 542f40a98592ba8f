import * as operations from '@signalbox/contract/session/tracker-operations.ts'
import { TrackerChange, TrackerSubmission } from '@signalbox/contract/session/trackers.ts'
import { createBodyValidator } from '../runtime/http/body-schema.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { listNamedTrackers } from '../signals/access/tracker-store.ts'
import { requireRole } from '../workspaces/users/workspaces.ts'
import { changeTracker, createTracker } from './create-tracker.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { requireTracker } from './tracker-scope.ts'

const checkSubmission = createBodyValidator<TrackerSubmission>(TrackerSubmission)
const checkChange = createBodyValidator<TrackerChange>(TrackerChange)

/** The trackers of a workspace. */
export function trackerRoutes(app: ServiceApp, context: DashboardContext): void {
  const { database } = context

  app.route({
    ...operations.listTrackers,
    async handler({ person, params }) {
      const intent = { workspaceId: workspaceOf(params), action: 'read' } as const
      const membership = await requireRole(database, person, intent)
      const rows = await listNamedTrackers(database, membership.workspaceId)
      const trackers = rows.map(({ id, name, created_at: createdAt, consent_categories }) => ({
        id,
        name,
        created_at: createdAt.toISOString(),
        consent_categories,
      }))
      return { trackers }
    },
  })
  app.route({
    ...operations.createTracker,
    async handler({ person, params, body }, reply) {
      const intent = { workspaceId: workspaceOf(params), action: 'manage_trackers' } as const
      const { workspaceId } = await requireRole(database, person, intent)
      const submission = checkSubmission(body)
      return reply.code(201).send(await createTracker(context, { person, workspaceId, submission }))
    },
  })
  app.route({
    ...operations.renameTracker,
    async handler(request, reply) {
      const tracker = await requireTracker(context, request, 'manage_trackers')
      const change = checkChange(request.body)
      await changeTracker(context, { person: request.person, tracker, change })
      return reply.code(204).send()
    },
  })
}

function workspaceOf(params: unknown): string | undefined {
  return (params as Record<string, string>).workspace
}
