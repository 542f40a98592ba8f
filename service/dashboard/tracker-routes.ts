import { listTrackers } from '@signalbox/contract/browser/tracker-operations.ts'
import { listNamedTrackers } from '../access/store.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { requireRole } from '../people/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'

/** The trackers of a workspace. */
export function trackerRoutes(app: ServiceApp, { database }: DashboardContext): void {
  app.route({
    ...listTrackers,
    async handler({ person, params }) {
      const { workspace } = params as Record<string, string>
      const membership = await requireRole(database, person, {
        workspaceId: workspace,
        action: 'read',
      })
      const rows = await listNamedTrackers(database, membership.workspaceId)
      const trackers = rows.map(({ id, name, created_at: createdAt }) => ({
        id,
        name,
        created_at: createdAt.toISOString(),
      }))
      return { trackers }
    },
  })
}
