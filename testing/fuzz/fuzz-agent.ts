import { PROPOSAL_REQUEST } from '../../contract/examples/agent-action-requests.ts'
import { insertSimulatedEntities } from '../../service/agents/executor/simulated-account-store.ts'
import { buildSimulatedEntities } from '../../service/agents/executor/simulated-entities.ts'
import { agentTokens } from '../agent-tokens.ts'
import type { ServiceUnderTest } from '../service-under-test.ts'

/** An agent of a cast, whose ad account has what the examples of the document name. */
export interface FuzzAgent {
  /** The OAuth management credential. */
  managementToken: string
  executionToken: string
  /** What stands for the members of a path: its workspace, a proposal, and an action that ended. */
  ids: Record<'workspace' | 'batch' | 'action', string>
}

/** The examples are of this one. */
const EXAMPLE_ACCOUNT = { adAccountId: 3, platformAccountId: '1234567890', name: 'Shop EU' }

export async function newFuzzAgent(service: ServiceUnderTest): Promise<FuzzAgent> {
  const { database, clock } = service
  const { management, execution, workspace } = await agentTokens(service)
  const { workspaceId, adAccountId } = workspace
  await insertSimulatedEntities(database, {
    adAccountId,
    entities: buildSimulatedEntities(EXAMPLE_ACCOUNT),
    at: clock.now(),
  })
  await database.pool.query(
    `insert into agent_policies
     (workspace_id, version, execution_mode, limits, changed_by, changed_at)
     values ($1, 1, 'auto_with_limits', $2, 1, $3)`,
    [workspaceId, JSON.stringify(WIDE_LIMITS), clock.now()],
  )
  const body = { ...PROPOSAL_REQUEST, idempotency_key: 'of the cast' }
  const reply = await service.request('POST', `/api/v1/agent/workspaces/${workspaceId}/actions`, {
    secret: execution,
    body,
  })
  const { id: batch, actions } = reply.body.proposal
  const [action] = actions
  const ids = { workspace: String(workspaceId), batch: String(batch), action: String(action.id) }
  return { managementToken: management, executionToken: execution, ids }
}

const WIDE_LIMITS = {
  change_percent_max: 200,
  change_minor_max: null,
  daily_total_minor_max: null,
  actions_per_day_max: null,
  allowed_types: ['increase_budget', 'decrease_budget', 'pause', 'resume'],
  quiet_hours: null,
}
