import type { AgentAction, EntityState } from '@signalbox/contract/agents/actions.ts'
import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import { html } from 'ghtml'
import { tag } from '../../runtime/pages/form-controls.ts'
import { formatDateTime, formatTimeLeft } from '../../runtime/util/time.ts'
import { formatAmount } from '../policy/account-formats.ts'
import { currentReasons } from './approval-context.ts'
import {
  ACTION_TYPE_LABELS,
  ENTITY_STATUS_LABELS,
  ENTITY_TYPE_LABELS,
  escapeInvisibleLine,
  PROPOSER_LABELS,
  untrustedName,
  untrustedText,
} from './page-text.ts'

/** The proposer, ad account and approval period of a proposal. Returns HTML. */
export function proposalSummary(batch: QueuedBatch, now: Date): string {
  const { proposed_by, responsible, ad_account_name, created_at, expires_at, actions } = batch
  const { type, id } = proposed_by
  const name = type === 'person' ? responsible : (proposed_by.name ?? `ID ${id}`)
  const isOpen = actions.some(({ status }) => status === 'pending')
  const expiry = isOpen
    ? html`<dt>Time to decide</dt><dd>${formatTimeLeft(new Date(expires_at), now)}</dd>`
    : ''
  return html`<dl class="facts">
<dt>Proposed by</dt>
<dd>!${untrustedName(name)}!${tag(PROPOSER_LABELS[type])}<br>
<small>!${untrustedName(responsible)} is responsible</small></dd>
<dt>Ad account</dt><dd>!${untrustedName(ad_account_name)}</dd>
<dt>Proposed</dt><dd>${formatDateTime(new Date(created_at))}</dd>
!${expiry}
</dl>`
}

/** The change and its entity, with the platform's name if known. Returns HTML. */
export function actionTitle({ type, target_entity, before }: AgentAction): string {
  const { type: kind, id, name } = target_entity
  const entityName = before?.name ?? name ?? null
  const nameHtml = entityName === null ? '' : html` !${untrustedName(entityName)}`
  return html`<strong>${ACTION_TYPE_LABELS[type]}</strong><br>
${ENTITY_TYPE_LABELS[kind]}!${nameHtml} <small>${id}</small>`
}

/** The change and its entity on one line, for lists. Returns HTML. */
export function changeLine(action: AgentAction, currency: string): string {
  const { type, target_entity, before } = action
  const name = before?.name ?? target_entity.name ?? target_entity.id
  const settings = buildDiffRows(action, currency).map(
    ({ before: from, proposed, change }) =>
      html`${from} → <strong>${proposed}</strong>!${change === null ? '' : html` ${change}`}`,
  )
  return html`${ACTION_TYPE_LABELS[type]}: ${ENTITY_TYPE_LABELS[target_entity.type]}
!${untrustedName(name)}, <span class="settings">!${settings.join(', ')}</span>`
}

/** Whether the entity of a pending action was changed elsewhere after the proposal. */
export function isStalePending({ id, status }: AgentAction, batch: QueuedBatch): boolean {
  return status === 'pending' && batch.stale_action_ids.includes(id)
}

/** The change, warnings and policy reasons of one action. Returns HTML. */
export function actionDetails(action: AgentAction, batch: QueuedBatch) {
  const { currency } = batch
  const isStale = isStalePending(action, batch)
  const shown = currentReasons(action, batch).filter(({ code }) => !MODE_REASONS.includes(code))
  const reasons = shown.map(({ message }) => html`<li>${escapeInvisibleLine(message)}</li>`)
  const list = html`<ul class="plain hint" aria-label="Policy reasons">
!${reasons.join('')}</ul>`
  return html`!${diffTable(buildDiffRows(action, currency))}
!${isStale ? STALE : ''}
!${nameMismatch(action)}
!${reasons.length === 0 ? '' : list}`
}

/** The mode is the same for all actions and is shown once, next to the buttons. */
const MODE_REASONS = ['suggest_only', 'ask']

const STALE = html`<div class="message notice"><p>The entity was changed elsewhere after the
proposal, so the values above are out of date. If you approve this change, it is rejected and not
executed.</p></div>`

/** Warns if the agent's name for the entity differs, which could mislead the user. */
function nameMismatch({ target_entity, before }: AgentAction): string {
  const { name } = target_entity
  if (before === null) return ENTITY_MISSING
  if (!name || escapeInvisibleLine(name) === escapeInvisibleLine(before.name)) return ''
  return html`<div class="message notice"><p>The agent calls it !${untrustedName(name)}. Its name on
the platform is !${untrustedName(before.name)}.</p></div>`
}

const ENTITY_MISSING = html`<div class="message notice"><p>The ad account has no entity with this
ID. The name is the one that the agent uses.</p></div>`

function diffTable(rows: readonly DiffRow[]): string {
  const hasActual = rows.some(({ after }) => after !== null)
  const lines = rows.map(
    ({ label, before, proposed, change, after }) => html`<tr><th scope="row">${label}</th>
<td>${before}</td>
<td class="new">${proposed}!${change === null ? '' : html`<br><small>${change}</small>`}</td>
!${hasActual ? html`<td>${after ?? ''}</td>` : ''}</tr>`,
  )
  return html`<table>
<thead><tr><th scope="col">Setting</th><th scope="col">Before</th><th scope="col">Proposed</th>
!${hasActual ? '<th scope="col">Actual</th>' : ''}</tr></thead>
<tbody>!${lines.join('')}</tbody>
</table>`
}

/** The agent's rationale for one action. Returns HTML. */
export function actionRationale({ rationale }: AgentAction, batch: QueuedBatch): string {
  // Agents often repeat the rationale of the proposal.
  return rationale === batch.rationale ? '' : untrustedText(rationale)
}

/** One changed setting, formatted. */
interface DiffRow {
  label: string
  before: string
  proposed: string
  /** `+€10.00 (+20%)`; null unless it is an amount. */
  change: string | null
  /** The state read after the execution; null before it. */
  after: string | null
}

type ActionDiff = Pick<AgentAction, 'type' | 'params' | 'before' | 'proposed' | 'after'>

/**
 * The setting that the type of an action changes, and every other setting that differs, so that no
 * change is hidden.
 */
export function buildDiffRows(action: ActionDiff, currency: string): DiffRow[] {
  const { before, proposed, after } = action
  const isBudget = action.type === 'increase_budget' || action.type === 'decrease_budget'
  const budget = budgetRow(action, currency)
  const status = statusRow(action)
  const isBudgetChanged = hasFieldChanged('daily_budget_minor', before, proposed, after)
  const isStatusChanged = hasFieldChanged('status', before, proposed, after)
  return [
    ...(isBudget || isBudgetChanged ? [budget] : []),
    ...(!isBudget || isStatusChanged ? [status] : []),
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
const NO_BUDGET = 'none'

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
  const targetStatus = type === 'pause' ? 'paused' : 'active'
  const text = (state: EntityState | null) => (state ? ENTITY_STATUS_LABELS[state.status] : UNKNOWN)
  return {
    label: 'Status',
    before: text(before),
    proposed: proposed ? text(proposed) : ENTITY_STATUS_LABELS[targetStatus],
    change: null,
    after: after && text(after),
  }
}
