import type { AgentAction, EntityState } from '@signalbox/contract/agents/actions.ts'
import { ENTITY_STATUS_WORDS } from './action-words.ts'
import { amountText } from './policy/amount-text.ts'

/** One thing that an action changes, in words. */
export interface DiffRow {
  label: string
  before: string
  proposed: string
  /** `+€10.00 (+20 %)`; null where it is no amount. */
  change: string | null
  /** As it was read back; null before that. */
  after: string | null
}

type Changed = Pick<AgentAction, 'type' | 'params' | 'before' | 'proposed' | 'after'>

/**
 * Before and after of one action: what its type is about, and whatever else differs, so that
 * nothing changes unseen.
 */
export function diffRows(action: Changed, currency: string): DiffRow[] {
  const { before, proposed, after } = action
  const isBudget = action.type === 'increase_budget' || action.type === 'decrease_budget'
  const budget = budgetRow(action, currency)
  const status = statusRow(action)
  const isBudgetMoved = differs('daily_budget_minor', before, proposed, after)
  const isStatusMoved = differs('status', before, proposed, after)
  return [
    ...(isBudget || isBudgetMoved ? [budget] : []),
    ...(!isBudget || isStatusMoved ? [status] : []),
  ]
}

type Member = 'daily_budget_minor' | 'status'

function differs(member: Member, before: EntityState | null, ...later: (EntityState | null)[]) {
  return before !== null && later.some(state => state && state[member] !== before[member])
}

const UNKNOWN = 'unknown'
const NO_BUDGET = 'none of its own'

function budgetRow({ params, before, proposed, after }: Changed, currency: string): DiffRow {
  const text = (minor: number | null | undefined) => {
    if (minor === undefined) return UNKNOWN
    return minor === null ? NO_BUDGET : amountText(minor, currency)
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
  const money = amountText(to - from, currency, true)
  if (from === 0) return money
  return `${money} (${PERCENT.format((to - from) / from)})`
}

const PERCENT = new Intl.NumberFormat('en-GB', {
  style: 'percent',
  signDisplay: 'exceptZero',
  maximumFractionDigits: 1,
})

function statusRow({ type, before, proposed, after }: Changed): DiffRow {
  const wished = type === 'pause' ? 'paused' : 'active'
  const text = (state: EntityState | null) => (state ? ENTITY_STATUS_WORDS[state.status] : UNKNOWN)
  return {
    label: 'Status',
    before: text(before),
    proposed: proposed ? text(proposed) : ENTITY_STATUS_WORDS[wished],
    change: null,
    after: after && text(after),
  }
}
