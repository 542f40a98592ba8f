import type { ActionSubmission, EntityState } from '@signalbox/contract/agents/actions.ts'

/** How far an action moves a daily budget. */
export interface BudgetMove {
  /** Up or down, in minor units; 0 where no budget moves. */
  changeMinor: number
  /** Of what it was, rounded up to hundredths, so that what is too much never reads as enough. */
  changePercent: number | null
  /** Compared in whole numbers, without rounding. */
  exceedsPercent: (percentMax: number) => boolean
}

const STILL: BudgetMove = { changeMinor: 0, changePercent: null, exceedsPercent: () => false }
const PERCENT = 100

export function budgetMove(
  { new_daily_budget_minor: wanted }: ActionSubmission['params'],
  entity: EntityState | null,
): BudgetMove {
  const budget = entity?.daily_budget_minor ?? null
  if (wanted === undefined || budget === null) return STILL
  const changeMinor = Math.abs(wanted - budget)
  return {
    changeMinor,
    changePercent: Math.ceil((changeMinor * PERCENT * PERCENT) / budget) / PERCENT,
    exceedsPercent: percentMax => changeMinor * PERCENT > percentMax * budget,
  }
}
