import { type AgentContext, getAgentContext } from '@signalbox/contract/agent-operations.ts'
import type { Database } from '../../runtime/db/database.ts'
import { limitAddresses } from '../../runtime/http/address-limits.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { type AgentPrincipal, requireAgentToken, requirePermission } from './authenticate-agent.ts'
import type { OauthContext } from './oauth-context.ts'
import { findSignalStatus } from './signal-store.ts'

/** The only route for OAuth tokens of the audience `agent`. */
export function agentRoutes(app: ServiceApp, context: OauthContext): void {
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
