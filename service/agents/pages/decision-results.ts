import type {
  ActionOutcome,
  ActionStatus,
  AgentAction,
} from '@signalbox/contract/agents/actions.ts'
import { html } from 'ghtml'
import { tag } from '../../runtime/pages/form-controls.ts'
import { formatDateTime } from '../../runtime/util/time.ts'
import type { DecidedAction } from '../approvals/decided-actions.ts'
import { ACTION_STATUS_LABELS } from './labels.ts'
import { changeLine } from './proposal-details.ts'
import { untrustedName } from './untrusted-text.ts'

/** One decided action in a list: the change, its outcome and who decided. Returns HTML. */
export function decidedRow({ action, currency, decidedBy }: DecidedAction, base: string): string {
  return html`<li class="decided">
<a href="${base}/${action.batch_id}">!${changeLine(action, currency)}</a>
!${statusTag(action.status)}
<p class="hint">!${decisionText(action, decidedBy)} ${resultText(action)}</p>
</li>`
}

/** The status of an action. Returns HTML. */
export function statusTag(status: ActionStatus): string {
  return tag(ACTION_STATUS_LABELS[status], STATUS_LOOKS[status])
}

const STATUS_LOOKS: Partial<Record<ActionStatus, 'success' | 'notice' | 'danger'>> = {
  verified: 'success',
  failed: 'danger',
  execution_uncertain: 'danger',
  rolled_back: 'notice',
}

/** Who decided and when. Returns HTML. */
function decisionText(action: AgentAction, decidedBy: string | null): string {
  const { decided_at, policy_decision, created_at } = action
  if (decided_at === null) {
    return html`${POLICY_TEXTS[policy_decision]}${formatDateTime(new Date(created_at))}.`
  }
  const by = decidedBy === null ? '' : html` by !${untrustedName(decidedBy)}`
  return html`${decisionVerb(action)}!${by}, ${formatDateTime(new Date(decided_at))}.`
}

const POLICY_TEXTS: Record<AgentAction['policy_decision'], string> = {
  allow: 'Allowed by the policy, ',
  block: 'Blocked by the policy, ',
  require_approval: 'Not decided; proposed ',
}

/** An approval can end as rejected, when the entity was changed elsewhere in the meantime. */
function decisionVerb({ status, outcome }: Pick<AgentAction, 'status' | 'outcome'>): string {
  if (status !== 'rejected') return 'Approved'
  return outcome === null ? 'Rejected' : 'Decided'
}

/**
 * The result of an action and the next step for people. The `explanation` of an action addresses
 * agents instead.
 */
export function resultText({ status, outcome }: Pick<AgentAction, 'status' | 'outcome'>): string {
  const knownOutcome =
    outcome !== null && Object.hasOwn(OUTCOME_RESULTS, outcome) ? (outcome as ActionOutcome) : null
  if (knownOutcome === 'batch_failed') return OUTCOME_RESULTS[knownOutcome]
  return knownOutcome === null
    ? STATUS_RESULTS[status]
    : `${STATUS_RESULTS[status]} ${OUTCOME_RESULTS[knownOutcome]}`
}

const CHECK_YOURSELF = 'Check the ad account yourself.'

const STATUS_RESULTS: Record<ActionStatus, string> = {
  pending: 'It is pending approval.',
  rejected: 'Nothing was changed.',
  approved_without_execution: 'Nothing was changed here: make the change on the platform yourself.',
  executing: 'Reload this page in a moment.',
  executed_pending_verification: 'Reload this page in a moment.',
  verified: 'The change was verified and is as proposed.',
  failed: 'Nothing was changed.',
  execution_uncertain: `It was requested, but the actual state is different. ${CHECK_YOURSELF}`,
  rolled_back: 'It did not take effect as proposed, and the previous state was restored.',
  blocked: 'The policy does not allow it. Nothing was changed.',
}

const OUTCOME_RESULTS: Record<ActionOutcome, string> = {
  expired: 'The approval period ended without a decision.',
  canceled: 'The agent canceled it.',
  stale: 'The entity was changed elsewhere after the proposal.',
  proposer_revoked: 'The agent that proposed it no longer has access.',
  policy_changed: 'The policy was changed after the proposal.',
  account_changed: 'The ad account was disabled after the proposal.',
  not_applied: 'The platform did not apply it.',
  changed_elsewhere: 'The entity was changed elsewhere at the same time.',
  not_executed:
    'It was not executed, because another change of this all-or-nothing proposal failed.',
  batch_failed:
    'It was executed, and the previous state was restored, because another change of this ' +
    'all-or-nothing proposal failed.',
}
