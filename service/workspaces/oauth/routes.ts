import { type AgentContext, getAgentContext } from '@signalbox/contract/agent-operations.ts'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { Database } from '../../runtime/db/database.ts'
import { limitAddresses } from '../../runtime/http/client-address.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { type AgentPrincipal, requireAgentToken, requirePermission } from './authenticate-agent.ts'
import {
  authorizationRoutes,
  deviceRoutes,
  interactionRoutes,
} from './authorization-page-routes.ts'
import { lazyAuthorizationServer } from './authorization-server.ts'
import { metadataRoutes, registrationRoutes, tokenRoutes } from './authorization-server-routes.ts'
import type { OauthContext, OauthOptions } from './oauth-responses.ts'
import { disableBodyParsing, useOauthErrorResponses } from './oauth-responses.ts'
import { findSignalStatus } from './principal-store.ts'
import { agentSessionRoutes } from './session-routes.ts'

/**
 * All OAuth routes. Endpoints that programs call return errors as OAuth error objects; those that
 * browsers open return them as pages.
 */
export function oauthRoutes(app: ServiceApp, options: OauthOptions): void {
  const context: OauthContext = { ...options, provider: lazyAuthorizationServer(options) }
  const { limits } = context
  app.register(async endpoints => {
    useOauthErrorResponses(endpoints)
    endpoints.register(async registration => {
      if (limits.registration) limitAddresses(registration, limits.registration)
      registrationRoutes(registration, context)
    })
    endpoints.register(async tokens => {
      disableBodyParsing(tokens)
      if (limits.oauth) limitAddresses(tokens, limits.oauth)
      tokenRoutes(tokens, context)
    })
  })
  app.register(async pages => {
    authorizationRoutes(pages, context)
    deviceRoutes(pages, context)
    interactionRoutes(pages, context)
  })
  metadataRoutes(app, context)
  agentSessionRoutes(app, context)
  app.register(async api => agentRoutes(api, context), { prefix: BASE_PATH })
}

/** The only route for OAuth tokens of the audience `agent`. */
function agentRoutes(app: ServiceApp, context: OauthContext): void {
  if (context.limits.oauth) limitAddresses(app, context.limits.oauth)
  app.route({
    ...getAgentContext,
    onRequest: requireAgentToken(context, 'agent'),
    async handler({ agent }, reply) {
      requirePermission(agent, 'ad-account.read')
      return reply.code(200).send(await readAgentContext(context.database, agent))
    },
  })
}

/** What the connection is approved for, and whether its signals arrive. */
async function readAgentContext(
  database: Database,
  principal: AgentPrincipal,
): Promise<AgentContext> {
  if (principal.kind !== 'connection') throw new Error('only connections have a context')
  const { connectionId, workspaceId, adAccountId } = principal
  const signals = await findSignalStatus(database, { workspaceId, adAccountId })
  return {
    connection: {
      id: connectionId,
      name: principal.connectionName,
      approved_at: principal.approvedAt.toISOString(),
    },
    client: { name: principal.clientName },
    permissions: [...principal.permissions],
    ad_account: {
      id: adAccountId,
      name: principal.adAccountName,
      platform: principal.platform,
      currency: principal.currency,
      time_zone: principal.timeZone,
    },
    workspace: { id: workspaceId, name: principal.workspaceName },
    signals: {
      tracker_connected: signals.hasEvents,
      dataset_connected: signals.hasDestination,
    },
  }
}
