import type { AccountState } from '@signalbox/contract/agents/account.ts'
import { AccountStateInput } from '@signalbox/contract/agents/tool-inputs.ts'
import { Validator } from '../../runtime/http/validator.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { ENTITIES_PER_PAGE, listEntities } from '../campaigns/simulated-campaign-store.ts'
import { readPolicy } from '../policy/policy-store.ts'
import { countOpenApprovals } from '../proposals/open-action-store.ts'

const accountStateValidator = new Validator(AccountStateInput, { textMembers: ['name_contains'] })

/**
 * get_account_state: the credential, the policy of its workspace and a page of the current entities
 * of its ad account. Throws a 403 refusal without the permission and a 422 for invalid arguments.
 */
export async function readAccountState(
  { database, now }: Pick<ProposalContext, 'database' | 'now'>,
  principal: AgentPrincipal,
  input: unknown = {},
): Promise<AccountState> {
  requirePermission(principal, 'ad-account.read')
  const filter = accountStateValidator.validate(input)
  const { page = 1 } = filter
  const { workspaceId, adAccountId } = principal
  const readAt = now()
  const policy = await readPolicy(database, workspaceId)
  const { entities, omitted } = await listEntities(database, adAccountId, {
    type: filter.entity_type,
    status: filter.status,
    parentId: filter.parent_id,
    nameContains: filter.name_contains,
    page,
  })
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
    page,
    per_page: ENTITIES_PER_PAGE,
    has_more: omitted > (page - 1) * ENTITIES_PER_PAGE,
    pending_actions: pending,
    read_at: readAt.toISOString(),
  }
}
