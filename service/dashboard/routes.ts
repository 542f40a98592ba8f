import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { requireSession } from '../workspaces/users/signed-in-session.ts'
import { appRoutes, startRoutes } from './app-routes.ts'
import { destinationRoutes } from './destination-routes.ts'
import { eventRoutes } from './event-routes.ts'
import { markChanges } from './history-reads.ts'
import { type ImportContext, importRoutes } from './import-routes.ts'
import { issueRoutes } from './issue-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { liveRoutes } from './live-routes.ts'
import { privacyRoutes } from './privacy-routes.ts'
import { reportRoutes } from './report-routes.ts'
import { trackerRoutes } from './tracker-routes.ts'

/** The dashboard, and its API for the signals of a workspace: one group of routes for each page. */
export function dashboardRoutes(app: ServiceApp, context: ImportContext): void {
  appRoutes(app, context)
  app.register(
    async api => {
      requireSession(api, context)
      markChanges(api, context)
      trackerRoutes(api, context)
      keyRoutes(api, context)
      eventRoutes(api, context)
      destinationRoutes(api, context)
      startRoutes(api, context)
      issueRoutes(api, context)
      importRoutes(api, context)
      privacyRoutes(api, context)
      reportRoutes(api, context)
      liveRoutes(api, context)
    },
    { prefix: SESSION_API_PATH },
  )
}
