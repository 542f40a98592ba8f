import { PERFORMANCE_DAYS } from '@signalbox/contract/agents/tool-inputs.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { AgentPrincipal } from '../../workspaces/oauth/authenticate-agent.ts'
import type { AgentsContext } from '../agents-context.ts'
import { readPolicy } from '../policy/policy-store.ts'

/**
 * An MCP prompt: a task that a user starts from the menu of their client. Its text is constant
 * except for the arguments, which the user wrote.
 */
export interface AgentPrompt {
  name: string
  title: string
  description: string
  /** Descriptions by name; every argument is optional text. */
  arguments: Record<string, string>
  /** Throws a 422 refusal for invalid arguments. */
  render: (given: Record<string, string | undefined>) => string
}

const DAYS_MAX = 90
const FOCUS_CHARACTERS_MAX = 300

export const AGENT_PROMPTS: readonly AgentPrompt[] = [
  {
    name: 'weekly_review',
    title: 'Weekly review',
    description: 'Compares the ad account with the period before and suggests changes.',
    arguments: {
      days: `Number of days to review, 1 to ${DAYS_MAX}; ${PERFORMANCE_DAYS} if omitted.`,
      focus: 'A topic to focus on, such as a campaign or a product.',
    },
    render: ({ days = String(PERFORMANCE_DAYS), focus = '' }) => {
      const isNumber = /^[1-9]\d?$/.test(days) && Number(days) <= DAYS_MAX
      if (!isNumber) throw invalidArgument('days', `must be a number from 1 to ${DAYS_MAX}`)
      if (focus.length > FOCUS_CHARACTERS_MAX) {
        const problem = `must not be greater than ${FOCUS_CHARACTERS_MAX} characters`
        throw invalidArgument('focus', problem)
      }
      return weeklyReview(days, focus)
    },
  },
  {
    name: 'explain_policy',
    title: 'Explain the policy',
    description: 'Explains what agents may do in this workspace, and what a person must approve.',
    arguments: {},
    render: () => EXPLAIN_POLICY,
  },
]

function invalidArgument(name: string, problem: string): Refusal {
  return Refusal.ofFields({ [name]: [`The ${name} argument ${problem}.`] })
}

function weeklyReview(days: string, focus: string): string {
  const steps = [
    'Call get_account_state. Note the currency and the policy.',
    'Call get_signal_health. If the status is not healthy, say first what is missing and what a ' +
      'person should do, because then the figures do not show how the ads perform.',
    `Call get_performance with days ${days}. Compare total with previous_total, and each ` +
      'campaign with its previous_spend_minor. Purchases that name no campaign belong to none: ' +
      'do not divide them among the campaigns.',
    'If purchases or ROAS fell, call explain_delivery with the same days (at most 30) and say ' +
      'which events were refused, held or failed, and why.',
    'Call list_actions. Name the decisions of these days and the outcome of each action.',
    'Write a table with spend, purchases, revenue, cost per purchase and ROAS for both periods, ' +
      'then at most five sentences on what changed. Say that the spend is simulated.',
    'Suggest at most three changes with the figures that justify each, or none. Preview them ' +
      'with dry_run_actions and show the result. Call propose-actions only after I name the ' +
      'entities and agree.',
  ]
  const numbered = steps.map((step, index) => `${index + 1}. ${step}`)
  const wish = focus === '' ? [] : [`Look at this in particular: ${focus}`]
  return [`Review my ad account over the last ${days} days.`, ...numbered, ...wish].join('\n')
}

const EXPLAIN_POLICY =
  'Call get_account_state, then get_action_policy. Explain in plain words, without member names: ' +
  'what you may do in this workspace without approval, what a person must approve, what is ' +
  'blocked, how large a change may be in one action and in one day, and when quiet hours are. ' +
  'Convert minor units to the currency of the ad account. Then name two examples of actions for ' +
  'current campaigns: preview them with dry_run_actions, and do not propose them.'

/** An MCP resource: something that a user attaches to a conversation, read when it is needed. */
export interface AgentResource {
  name: string
  title: string
  uri: string
  description: string
  mimeType: 'application/json' | 'text/markdown'
  read: (
    context: Pick<AgentsContext, 'database' | 'now'>,
    principal: AgentPrincipal,
  ) => Promise<string>
}

export const AGENT_RESOURCES: readonly AgentResource[] = [
  {
    name: 'policy',
    title: 'Action policy',
    uri: 'signalbox://policy',
    description:
      'The current policy for proposals in this workspace, as get_action_policy returns it.',
    mimeType: 'application/json',
    read: async ({ database, now }, { workspaceId, currency }) =>
      JSON.stringify({ policy: await readPolicy(database, workspaceId, now()), currency }, null, 2),
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
