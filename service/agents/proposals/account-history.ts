import type { ActionSubmission, EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { type CampaignApi, findEntity } from '../campaigns/campaign-api.ts'
import { AccountSpend } from '../policy/account-spend.ts'
import {
  type BudgetsInMotion,
  entityKey,
  type PlannedChange,
  readBudgetsInMotion,
} from '../policy/budget-in-motion.ts'
import type { BudgetContext, Usage } from '../policy/money-limits.ts'
import {
  type AccountDay,
  type FirstBudgets,
  findConnectionBudgets,
  findDayStartBudgets,
  findRecentDecreases,
  findRecentPauses,
  findUnseenChanges,
  findUsage,
} from './ad-account-store.ts'

/** The targets of actions as the platform has them. */
export interface TargetStates {
  entities: readonly EntityState[]
  budgetsInMotion: BudgetsInMotion
  /** Every entity of the ad account; null if they are too many. */
  accountEntities: readonly EntityState[] | null
}

export const NO_TARGETS: TargetStates = {
  entities: [],
  budgetsInMotion: new Map(),
  accountEntities: [],
}

/** Reads the targets of actions, and what their resumes would set in motion. */
export async function readTargetStates(
  campaigns: CampaignApi,
  adAccountId: number,
  changes: readonly PlannedChange[],
): Promise<TargetStates> {
  const refs = changes.map(({ target }) => target)
  const entities = await campaigns.readEntities(adAccountId, refs)
  const budgetsInMotion = await readBudgetsInMotion(campaigns, adAccountId, changes)
  const [account] = await campaigns.listEntities(adAccountId, 'ad_account', 1)
  const accountEntities = account ? await campaigns.readRelatedEntities(adAccountId, account) : []
  return { entities, budgetsInMotion, accountEntities }
}

/** The same for actions that are not stored yet. */
export function readSubmittedTargets(
  campaigns: CampaignApi,
  adAccountId: number,
  submissions: readonly ActionSubmission[],
): Promise<TargetStates> {
  return readTargetStates(campaigns, adAccountId, submissions.map(toPlannedChange))
}

export function toPlannedChange({ type, params, target_entity: target }: ActionSubmission) {
  return { type, params, target }
}

/**
 * What agents did in an ad account so far, while changes are evaluated in the order of their
 * execution. Each one counts the earlier ones that are not blocked as executed.
 */
export class AccountHistory {
  used: Usage
  readonly #targets: TargetStates
  readonly #spend: AccountSpend
  readonly #dayStart: FirstBudgets
  readonly #connection: FirstBudgets

  private constructor(targets: TargetStates, read: HistoryParts) {
    this.#targets = targets
    this.used = read.used
    this.#spend = read.spend
    this.#dayStart = read.dayStart
    this.#connection = read.connection
  }

  /** The targets were read before the transaction, which holds a lock of the ad account. */
  static async read(
    transaction: Transaction,
    day: AccountDay,
    targets: TargetStates,
  ): Promise<AccountHistory> {
    const recent = await findUnseenChanges(transaction, day)
    const pauses = await findRecentPauses(transaction, day)
    const decreases = await findRecentDecreases(transaction, day)
    const entities = targets.accountEntities
    return new AccountHistory(targets, {
      used: await findUsage(transaction, day),
      spend: new AccountSpend({ entities, recent, pauses, decreases }),
      dayStart: await findDayStartBudgets(transaction, day),
      connection: await findConnectionBudgets(transaction, day, targets.entities),
    })
  }

  contextOf(change: PlannedChange): BudgetContext {
    const { entities, budgetsInMotion } = this.#targets
    const { target } = change
    return {
      entity: findEntity(entities, target),
      dayStartBudgetMinor: this.#dayStart(target),
      connectionBudgetMinor: this.#connection(target),
      budgetInMotionMinor: budgetsInMotion.get(entityKey(target)) ?? null,
      spend: this.#spend.changeOf(change),
    }
  }

  /** Counts a change that is not blocked. */
  add(change: PlannedChange, changeMinor: number): void {
    const { changedMinor, weekMinor, monthMinor, actionCount } = this.used
    this.used = {
      changedMinor: changedMinor + changeMinor,
      weekMinor: weekMinor + changeMinor,
      monthMinor: monthMinor + changeMinor,
      actionCount: actionCount + 1,
    }
    this.#spend.add(change)
  }
}

interface HistoryParts {
  used: Usage
  spend: AccountSpend
  dayStart: FirstBudgets
  connection: FirstBudgets
}
