import type { ServiceApp } from '../../http/service-app.ts'
import { RESOURCES } from '../../oauth/resources.ts'
import type { AgentsContext } from './agents-context.ts'
import { serveMcp } from './serve-mcp.ts'
import { signalboxServer } from './signalbox-server.ts'

/** The MCP server (spec: OAuth and MCP endpoints). */
export function mcpRoutes(app: ServiceApp, context: AgentsContext): void {
  serveMcp(app, {
    ...context,
    url: RESOURCES.mcp.path,
    makeServer: caller => signalboxServer(context, caller),
  })
}
