import type { AgentContext } from '@signalbox/contract/agent-context.ts'
import type { Database } from '../db/database.ts'
import { findSignals } from './signal-store.ts'
import type { AgentPrincipal } from './verify-agent-token.ts'

/** getAgentContext: what the connection was approved for, and whether its signals arrive. */
export async function agentContext(
  database: Database,
  principal: AgentPrincipal,
): Promise<AgentContext> {
  if (principal.kind !== 'connection') throw new Error('only connections have a context')
  const { connectionId, workspaceId, adAccountId } = principal
  const signals = await findSignals(database, { workspaceId, adAccountId })
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
