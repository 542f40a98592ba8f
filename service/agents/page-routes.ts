import type { ServiceApp } from '../http/service-app.ts'
import { servePages } from '../pages/serve-pages.ts'
import { approvalPageRoutes } from './approval-page-routes.ts'
import { auditPageRoutes } from './audit-page-routes.ts'
import type { AgentsContext } from './mcp/agents-context.ts'
import { policyPageRoutes } from './policy-page-routes.ts'

/** The pages where people decide, set the policy and read the log. */
export function agentPageRoutes(app: ServiceApp, context: AgentsContext): void {
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    approvalPageRoutes(pages, context)
    policyPageRoutes(pages, context)
    auditPageRoutes(pages, context)
  })
}
