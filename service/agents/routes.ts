import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { agentActionRoutes } from './action-routes.ts'
import type { AgentsContext } from './agents-context.ts'
import { mcpRoutes } from './mcp/routes.ts'
import { actionSessionRoutes } from './session-routes.ts'

/** Every route for agents, and for people who review them. */
export function agentsRoutes(app: ServiceApp, context: AgentsContext): void {
  mcpRoutes(app, context)
  app.register(async api => agentActionRoutes(api, context), { prefix: BASE_PATH })
  actionSessionRoutes(app, context)
}
