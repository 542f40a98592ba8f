import type { AgentPrincipal } from '../../workspaces/oauth/authenticate-agent.ts'
import type { AgentsContext } from '../agents-context.ts'
import { readPolicy } from '../policy/policy-store.ts'

/** An MCP resource: something that a user attaches to a conversation, read when it is needed. */
export interface AgentResource {
  name: string
  title: string
  uri: string
  description: string
  mimeType: 'application/json' | 'text/markdown'
  read: (context: Pick<AgentsContext, 'database'>, principal: AgentPrincipal) => Promise<string>
}

export const AGENT_RESOURCES: readonly AgentResource[] = [
  {
    name: 'policy',
    title: 'Action policy',
    uri: 'signalbox://policy',
    description:
      'The current policy for proposals in this workspace, as get_action_policy returns it.',
    mimeType: 'application/json',
    read: async ({ database }, { workspaceId, currency }) =>
      JSON.stringify({ policy: await readPolicy(database, workspaceId), currency }, null, 2),
  },
  {
    name: 'proposals',
    title: 'How proposals work',
    uri: 'signalbox://proposals',
    description: 'How a proposal becomes a change, and what each status means.',
    mimeType: 'text/markdown',
    read: async () => PROPOSALS,
  },
]

const PROPOSALS = `# How proposals work

An agent cannot change a campaign directly. It proposes actions, and then:

1. The policy of the workspace allows each action, requires approval, or blocks it.
2. Actions that require approval wait up to 72 hours for a person. A person cannot approve
   their own proposal if another owner or admin could decide on it.
3. Before a change the entity is read again. If it differs from what was approved, nothing changes.
4. After a change the entity is read back. If it differs from what was approved, the change is
   rolled back, or a person must review it.
5. With all_or_nothing, one decision covers all actions. If one fails, the others are not executed,
   or changed back.
6. Every step is in the audit log, and a finished action has a receipt.

| Status | Meaning |
| --- | --- |
| pending | Waits for a person. |
| rejected | A person rejected it, its agent canceled it, or the approval expired. |
| approved_without_execution | Approved; a person makes the change. |
| executing, executed_pending_verification | In progress. |
| verified | The change was made and confirmed. |
| failed | Nothing was changed. |
| rolled_back | The change was made and undone. |
| execution_uncertain | A person must review the entity. |
| blocked | The policy or the state of the entity does not allow it. |

Budgets are in minor units of the currency of the ad account (cents). Retries with the same
idempotency_key return the same proposal.
`
