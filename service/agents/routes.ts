import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { servePages } from '../runtime/pages/serve-pages.ts'
import { agentActionRoutes } from './action-routes.ts'
import type { AgentsContext } from './agents-context.ts'
import { mcpRoutes } from './mcp/routes.ts'
import { approvalPageRoutes } from './pages/approval-page-routes.ts'
import { auditPageRoutes } from './pages/audit-page-routes.ts'
import { policyPageRoutes } from './pages/policy-page-routes.ts'
import { actionSessionRoutes } from './session-routes.ts'

/** Every route for agents, and for people who review them. */
export function agentsRoutes(app: ServiceApp, context: AgentsContext): void {
  mcpRoutes(app, context)
  app.register(async api => agentActionRoutes(api, context), { prefix: BASE_PATH })
  actionSessionRoutes(app, context)
  agentPageRoutes(app, context)
}

/** Pages for approvals, the policy and the audit log. */
function agentPageRoutes(app: ServiceApp, context: AgentsContext): void {
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    approvalPageRoutes(pages, context)
    policyPageRoutes(pages, context)
    auditPageRoutes(pages, context)
  })
}
