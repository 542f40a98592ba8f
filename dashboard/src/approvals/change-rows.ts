import type { AgentAction, EntityState } from '@signalbox/contract/agents/actions.ts'
import { formatAmount } from '@signalbox/contract/agents/amounts.ts'
import { ENTITY_STATUS_LABELS } from './approval-texts.ts'

/** One changed setting, formatted. */
export interface ChangeRow {
  label: string
  before: string
  proposed: string
  /** `+€10.00 (+20%)`; null unless it is an amount. */
  change: string | null
  /** The state read after the execution; null before it. */
  after: string | null
}

type Change = Pick<AgentAction, 'type' | 'params' | 'before' | 'proposed' | 'after'>

/**
 * The setting that the type of an action changes, and every other setting that differs, so that no
 * change is hidden.
 */
export function buildChangeRows(action: Change, currency: string): ChangeRow[] {
  const { before, proposed, after } = action
  const isBudget = action.type === 'increase_budget' || action.type === 'decrease_budget'
  const isBudgetChanged = hasFieldChanged('daily_budget_minor', before, proposed, after)
  const isStatusChanged = hasFieldChanged('status', before, proposed, after)
  return [
    ...(isBudget || isBudgetChanged ? [budgetRow(action, currency)] : []),
    ...(!isBudget || isStatusChanged ? [statusRow(action)] : []),
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

function budgetRow({ params, before, proposed, after }: Change, currency: string): ChangeRow {
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

function statusRow({ type, before, proposed, after }: Change): ChangeRow {
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
