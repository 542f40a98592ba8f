import type { AgentAction } from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch, QueuedBatchAnswer } from '@signalbox/contract/agents/approvals.ts'
import type { ActionPolicy } from '@signalbox/contract/agents/policy.ts'
import { html } from 'ghtml'
import { formatDateTime } from '../../runtime/util/time.ts'
import { formatAmount } from '../policy/account-formats.ts'
import { limitsForCurrency } from '../policy/money-limits.ts'
import { auditActionLabel, detailRows } from './audit-entries.ts'
import { ACTION_TYPE_LABELS, untrustedName } from './page-text.ts'

/** The totals of the account's day, week and month, next to their limits. Returns HTML. */
export function dayTotals({ today, currency }: QueuedBatch, policy: ActionPolicy): string {
  const limits = limitsForCurrency(policy.limits, currency)
  const { actions_per_day_max: countMax } = limits
  const amount = (minor: number, max: number | null) => {
    const limit = max === null ? 'no limit' : `limit ${formatAmount(max, currency)}`
    return `${formatAmount(minor, currency)} (${limit})`
  }
  const count = countMax === null ? 'no limit' : `limit ${countMax}`
  return html`<h3>Today in this ad account</h3>
<dl class="facts">
<dt>Changed and resumed daily budgets</dt>
<dd>${amount(today.changed_minor, limits.daily_total_minor_max)}</dd>
<dt>In the last 7 days</dt>
<dd>${amount(today.changed_week_minor, limits.weekly_total_minor_max)}</dd>
<dt>In the last 30 days</dt>
<dd>${amount(today.changed_month_minor, limits.monthly_total_minor_max)}</dd>
<dt>Actions</dt><dd>${today.action_count} (${count})</dd>
</dl>`
}

/** The reasons of the policy as they are now for a pending action. */
export function currentReasons({ id, policy_reasons }: AgentAction, batch: QueuedBatch) {
  const evaluation = batch.evaluations.find(({ action_id }) => action_id === id)
  return evaluation?.policy_reasons ?? policy_reasons
}

/** What a pending resume would set in motion, and what else is pending for the entity. */
export function pendingNotices(action: AgentAction, batch: QueuedBatch, base: string): string {
  return html`!${budgetInMotion(action, batch)}
!${otherPendingActions(action, batch, base)}`
}

function budgetInMotion({ id, type }: AgentAction, { evaluations, currency }: QueuedBatch): string {
  const evaluation = evaluations.find(({ action_id }) => action_id === id)
  if (type !== 'resume' || !evaluation) return ''
  const { set_in_motion_minor: minor } = evaluation.policy_evidence
  const amount = minor === null ? 'an unknown amount' : formatAmount(minor, currency)
  return html`<p>Daily budgets that it sets in motion: <strong>${amount}</strong></p>`
}

function otherPendingActions(
  { target_entity: { type, id } }: AgentAction,
  { other_pending_actions, currency }: QueuedBatch,
  base: string,
): string {
  const others = other_pending_actions.filter(
    ({ target_entity }) => target_entity.type === type && target_entity.id === id,
  )
  if (others.length === 0) return ''
  const items = others.map(
    other => html`<li><a href="${base}/${other.batch_id}">Proposal ${other.batch_id}</a>:
${ACTION_TYPE_LABELS[other.type]}, ${formatAmount(other.change_minor, currency)} of the day</li>`,
  )
  return html`<div class="message notice"><p>Also pending for this entity:</p>
<ul>!${items.join('')}</ul></div>`
}

/** Changes of roles and of the policy that came before the decision. Returns HTML. */
export function recentChanges(entries: QueuedBatchAnswer['recent_changes']): string {
  if (entries.length === 0) return ''
  const items = entries.map(entry => {
    const { at, action, actor } = entry
    const by = actor.name === null ? '' : html`, by !${untrustedName(actor.name)}`
    return html`<li><details><summary>${auditActionLabel(action)},
${formatDateTime(new Date(at))}!${by}</summary><dl>!${detailRows(entry)}</dl></details></li>`
  })
  return html`<div class="message notice"><p>Roles or the policy changed in the last 72 hours:</p>
<ul class="plain">!${items.join('')}</ul></div>`
}

/** The limits that an approval exceeds as the page shows them, as hidden fields. Returns HTML. */
export function acceptedLimitFields({ evaluations }: QueuedBatch): string {
  const limits = new Set(evaluations.flatMap(({ exceeded_limits }) => exceeded_limits))
  return [...limits]
    .map(limit => html`<input type="hidden" name="accepted_limits" value="${limit}">`)
    .join('')
}
