import type { AgentsContext } from '../../agents/agents-context.ts'
import { agentsRoutes } from '../../agents/routes.ts'
import type { DashboardContext } from '../../dashboard/dashboard-context.ts'
import { dashboardRoutes } from '../../dashboard/routes.ts'
import type { RequestLimits } from '../../runtime/http/request-limits.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { assetRoutes, pageHeaders, useErrorPages } from '../../runtime/pages/serve-pages.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { type SignalsContext, signalsRoutes } from '../../signals/routes.ts'
import { type WorkspacesContext, workspacesRoutes } from '../../workspaces/routes.ts'
import { type DocumentsContext, documentRoutes } from '../documents/routes.ts'

/** What the routes of all rooms depend on. */
export interface ServiceContext
  extends WorkspacesContext,
    AgentsContext,
    DashboardContext,
    DocumentsContext,
    SignalsContext {
  settings: Settings
  limits: RequestLimits
  credentialKeys: CredentialKeys
}

/** All routes but `/livez` and `/readyz`. */
export function registerRoutes(app: ServiceApp, context: ServiceContext): void {
  assetRoutes(app)
  useErrorPages(app, pageHeaders)
  workspacesRoutes(app, context)
  agentsRoutes(app, context)
  dashboardRoutes(app, context)
  documentRoutes(app, context)
  signalsRoutes(app, context)
}
