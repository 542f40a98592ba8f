import type { AgentAction, EntityState } from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import { html } from 'ghtml'
import { tag } from '../../pages/form-controls.ts'
import { formatDateTime, formatTimeLeft } from '../../util/date-text.ts'
import { formatAmount } from '../policy/format-amount.ts'
import {
  ACTION_TYPE_LABELS,
  ENTITY_STATUS_LABELS,
  ENTITY_TYPE_LABELS,
  PROPOSER_LABELS,
} from './labels.ts'
import { escapeInvisibleLine, untrustedName, untrustedText } from './untrusted-text.ts'

/** Who proposed something, for what, and until when it can be decided. Returns HTML. */
export function proposalSummary(batch: QueuedBatch, now: Date): string {
  const { proposed_by, responsible, ad_account_name, created_at, expires_at, actions } = batch
  const { type, id, name = `number ${id}` } = proposed_by
  const isOpen = actions.some(({ status }) => status === 'pending')
  const expiry = isOpen
    ? html`<dt>Time to decide</dt><dd>${formatTimeLeft(new Date(expires_at), now)}</dd>`
    : ''
  return html`<dl class="facts">
<dt>Proposed by</dt>
<dd>!${untrustedName(name)}!${tag(PROPOSER_LABELS[type])}<br>
<small>!${untrustedName(responsible)} answers for it</small></dd>
<dt>Ad account</dt><dd>!${untrustedName(ad_account_name)}</dd>
<dt>Proposed</dt><dd>${formatDateTime(new Date(created_at))}</dd>
!${expiry}
</dl>`
}

/** What is to be done to what. The name is the platform's where it is known. Returns HTML. */
export function actionTitle({ type, target_entity, before }: AgentAction): string {
  const { type: kind, id, name } = target_entity
  const known = before?.name ?? name ?? null
  const called = known === null ? '' : html` !${untrustedName(known)}`
  return html`<strong>${ACTION_TYPE_LABELS[type]}</strong><br>
${ENTITY_TYPE_LABELS[kind]}!${called} <small>${id}</small>`
}

/** What is told of one action besides its status: the change, the rules, the agent's reason. */
export function actionDetails(action: AgentAction, { currency, stale_action_ids }: QueuedBatch) {
  const { id, status, policy_reasons } = action
  const isStale = status === 'pending' && stale_action_ids.includes(id)
  const told = policy_reasons.filter(({ code }) => !MODE_REASONS.includes(code))
  const reasons = told.map(({ message }) => html`<li>${escapeInvisibleLine(message)}</li>`)
  const list = html`<ul class="plain hint" aria-label="What the policy says">
!${reasons.join('')}</ul>`
  return html`!${diffTable(buildDiffRows(action, currency))}
!${isStale ? STALE : ''}
!${nameMismatch(action)}
!${reasons.length === 0 ? '' : list}`
}

/** The mode is the same for all actions, and is said once, beside the buttons. */
const MODE_REASONS = ['suggest_only', 'ask']

const STALE = html`<div class="message notice"><p>It was changed elsewhere since this was proposed,
so the figures above are out of date. If you approve it, nothing is carried out: it ends as
rejected.</p></div>`

/** The agent names the target by its number; a name that fits another one would mislead. */
function nameMismatch({ target_entity, before }: AgentAction): string {
  const { name } = target_entity
  if (before === null) return NOT_THERE
  if (!name || escapeInvisibleLine(name) === escapeInvisibleLine(before.name)) return ''
  return html`<div class="message notice"><p>The agent calls it !${untrustedName(name)}. Its name is
!${untrustedName(before.name)}.</p></div>`
}

const NOT_THERE = html`<div class="message notice"><p>The ad account has nothing with this number.
Its name is what the agent calls it.</p></div>`

function diffTable(rows: readonly DiffRow[]): string {
  const isRead = rows.some(({ after }) => after !== null)
  const lines = rows.map(
    ({ label, before, proposed, change, after }) => html`<tr><th scope="row">${label}</th>
<td>${before}</td>
<td class="new">${proposed}!${change === null ? '' : html`<br><small>${change}</small>`}</td>
!${isRead ? html`<td>${after ?? ''}</td>` : ''}</tr>`,
  )
  return html`<table>
<thead><tr><th scope="col">What</th><th scope="col">Before</th><th scope="col">Proposed</th>
!${isRead ? '<th scope="col">Read back</th>' : ''}</tr></thead>
<tbody>!${lines.join('')}</tbody>
</table>`
}

/** From what the agent says that it knows it, and whether it can be so. Returns HTML. */
export function evidenceDetails({ evidence_provenance }: QueuedBatch): string {
  const items = evidence_provenance.evidence.map(
    ({
      source_tool,
      fields_used,
      tool_used_at,
    }) => html`<li><code>${escapeInvisibleLine(source_tool)}</code>,
${tool_used_at === null ? NEVER_USED : `used ${formatDateTime(new Date(tool_used_at))}`}<br>
<small>${escapeInvisibleLine(fields_used.join(', '))}</small></li>`,
  )
  const isInvented = evidence_provenance.evidence.some(({ tool_used_at }) => tool_used_at === null)
  return html`!${isInvented ? UNREAD_SOURCE : ''}
<details><summary>What the agent says it is based on</summary>
<p>It says that a person named what to change. It read:</p>
<ul>!${items.join('')}</ul></details>`
}

const NEVER_USED = 'which this agent never used'
const UNREAD_SOURCE = html`<div class="message notice"><p>The agent names a source that it never read: do
not rely on its figures.</p></div>`

/** Why the agent proposes one of several. Returns HTML. */
export function actionRationale({ rationale }: AgentAction, batch: QueuedBatch): string {
  // An agent often repeats itself; once is enough for whoever has to read it.
  return rationale === batch.rationale ? '' : untrustedText(rationale)
}

/** One thing that an action changes, in words. */
interface DiffRow {
  label: string
  before: string
  proposed: string
  /** `+€10.00 (+20 %)`; null where it is no amount. */
  change: string | null
  /** As it was read back; null before that. */
  after: string | null
}

type ActionDiff = Pick<AgentAction, 'type' | 'params' | 'before' | 'proposed' | 'after'>

/**
 * Before and after of one action: what its type is about, and whatever else differs, so that
 * nothing changes unseen.
 */
export function buildDiffRows(action: ActionDiff, currency: string): DiffRow[] {
  const { before, proposed, after } = action
  const isBudget = action.type === 'increase_budget' || action.type === 'decrease_budget'
  const budget = budgetRow(action, currency)
  const status = statusRow(action)
  const isBudgetMoved = hasFieldChanged('daily_budget_minor', before, proposed, after)
  const isStatusMoved = hasFieldChanged('status', before, proposed, after)
  return [
    ...(isBudget || isBudgetMoved ? [budget] : []),
    ...(!isBudget || isStatusMoved ? [status] : []),
  ]
}

type EntityField = 'daily_budget_minor' | 'status'

function hasFieldChanged(
  member: EntityField,
  before: EntityState | null,
  ...later: (EntityState | null)[]
) {
  return before !== null && later.some(state => state && state[member] !== before[member])
}

const UNKNOWN = 'unknown'
const NO_BUDGET = 'none of its own'

function budgetRow({ params, before, proposed, after }: ActionDiff, currency: string): DiffRow {
  const text = (minor: number | null | undefined) => {
    if (minor === undefined) return UNKNOWN
    return minor === null ? NO_BUDGET : formatAmount(minor, currency)
  }
  const from = before?.daily_budget_minor
  const to = proposed ? proposed.daily_budget_minor : params.new_daily_budget_minor
  return {
    label: 'Daily budget',
    before: text(from),
    proposed: text(to),
    change: changeText(from, to, currency),
    after: after && text(after.daily_budget_minor),
  }
}

function changeText(
  from: number | null | undefined,
  to: number | null | undefined,
  currency: string,
): string | null {
  if (typeof from !== 'number' || typeof to !== 'number') return null
  const money = formatAmount(to - from, currency, true)
  if (from === 0) return money
  return `${money} (${PERCENT.format((to - from) / from)})`
}

const PERCENT = new Intl.NumberFormat('en-GB', {
  style: 'percent',
  signDisplay: 'exceptZero',
  maximumFractionDigits: 1,
})

function statusRow({ type, before, proposed, after }: ActionDiff): DiffRow {
  const wished = type === 'pause' ? 'paused' : 'active'
  const text = (state: EntityState | null) => (state ? ENTITY_STATUS_LABELS[state.status] : UNKNOWN)
  return {
    label: 'Status',
    before: text(before),
    proposed: proposed ? text(proposed) : ENTITY_STATUS_LABELS[wished],
    change: null,
    after: after && text(after),
  }
}
