import type { AccountState } from '@signalbox/contract/agents/account.ts'
import { type AgentPrincipal, requirePermission } from '../../oauth/authenticate-agent.ts'
import { listEntities } from '../executor/ad-entity-store.ts'
import { readPolicy } from '../policy/policy-store.ts'
import type { ProposalContext } from '../proposals/agents-context.ts'
import { countOpenApprovals } from '../proposals/open-action-store.ts'

/**
 * get_account_state: the credential, the policy of its workspace and the current entities of its ad
 * account. Throws a 403 refusal without the permission.
 */
export async function readAccountState(
  { database, now }: Pick<ProposalContext, 'database' | 'now'>,
  principal: AgentPrincipal,
): Promise<AccountState> {
  requirePermission(principal, 'ad-account.read')
  const { workspaceId, adAccountId } = principal
  const readAt = now()
  const policy = await readPolicy(database, workspaceId)
  const { entities, omitted } = await listEntities(database, adAccountId)
  const pending = await countOpenApprovals(database, { workspaceId, adAccountId }, readAt)
  return {
    workspace: { id: workspaceId, name: principal.workspaceName },
    ad_account: {
      id: adAccountId,
      name: principal.adAccountName,
      platform: principal.platform,
      currency: principal.currency,
      time_zone: principal.timeZone,
      is_simulated: true,
    },
    credential: {
      type: principal.kind,
      name: principal.kind === 'connection' ? principal.connectionName : principal.tokenName,
      permissions: [...principal.permissions],
      expires_at: principal.expiresAt.toISOString(),
    },
    policy,
    entities,
    entities_omitted: omitted,
    pending_actions: pending,
    read_at: readAt.toISOString(),
  }
}
