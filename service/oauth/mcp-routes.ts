import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { agentGuard } from './agent-guard.ts'
import type { OauthContext } from './oauth-context.ts'
import { preflightHeaders } from './oauth-shape.ts'
import { RESOURCES } from './resources.ts'

/**
 * The door of the MCP server, without a server behind it yet: who has no token is told where to get
 * one, and who has one that there is nothing to talk to.
 */
export function mcpRoutes(app: ServiceApp, context: OauthContext): void {
  const url = RESOURCES.mcp.path
  const onRequest = agentGuard(context, 'mcp')
  app.post(url, { config: { credential: 'agent' }, onRequest }, async () => {
    throw new Refusal(501, 'The MCP server is not part of this version.')
  })
  app.options(url, { config: { credential: 'none' } }, async (_request, reply) =>
    reply
      .code(204)
      .headers(preflightHeaders(['POST']))
      .send(),
  )
}
