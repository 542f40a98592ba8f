import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { agentActionRoutes } from './action-routes.ts'
import { actionBrowserRoutes } from './browser-routes.ts'
import type { AgentsContext } from './mcp/agents-context.ts'
import { mcpRoutes } from './mcp/routes.ts'
import { agentPageRoutes } from './page-routes.ts'

/** Everything by which agents propose, people decide, and both see what became of it. */
export function agentsRoutes(app: ServiceApp, context: AgentsContext): void {
  mcpRoutes(app, context)
  app.register(async api => agentActionRoutes(api, context), { prefix: BASE_PATH })
  actionBrowserRoutes(app, context)
  agentPageRoutes(app, context)
}
