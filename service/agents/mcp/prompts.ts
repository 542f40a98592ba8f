import { PERFORMANCE_DAYS } from '@signalbox/contract/agents/tool-inputs.ts'
import { Refusal } from '../../runtime/http/refusal.ts'

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
