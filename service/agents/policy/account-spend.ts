import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { entityKey, type PlannedChange, parentKey } from './budget-in-motion.ts'

/** What one change does to the spending of its ad account, in minor units a day. */
export interface SpendChange {
  /** What the account spends before it. */
  activeMinor: number
  /** What a pause or a lower budget stops. */
  stoppedMinor: number
  /** What agents stopped in the last 30 days and is still stopped. */
  earlierMinor: number
  /** Nothing is active after it. */
  stopsLast: boolean
  /** The daily budgets together after it, if every earlier increase and resume is made. */
  totalAfterMinor: number
  raisesTotal: boolean
}

/** A change that an agent made or may be making. */
export interface RecentChange extends PlannedChange {
  /** False while it is being executed: it may still fail. */
  isDone: boolean
}

/** A pause of the last 30 days, and what it stopped. */
export interface RecentPause {
  key: string
  stoppedMinor: number
}

/** The budget of an active entity before an agent first lowered it in the last 30 days. */
export interface RecentDecrease {
  key: string
  beforeMinor: number
}

export interface SpendInput {
  /** Every entity of the ad account as read from the platform; null if they are too many. */
  entities: readonly EntityState[] | null
  /** Changes that the platform may not have shown yet, oldest first. */
  recent: readonly RecentChange[]
  pauses: readonly RecentPause[]
  decreases: readonly RecentDecrease[]
}

/**
 * The spending of one ad account while changes are evaluated one after the other. Any of them may
 * still fail or be rejected: what stops spending is compared with the least that the account could
 * spend, a raise with the most. So two pauses that are evaluated together cannot both leave the
 * other one.
 */
export class AccountSpend {
  #least: readonly EntityState[]
  #most: readonly EntityState[]
  /** Stopped by earlier changes of the proposal. */
  #proposedMinor = 0
  readonly #isKnown: boolean
  /** Before the proposal, by `entityKey`. */
  readonly #paused: ReadonlyMap<string, number>
  readonly #loweredMinor: number

  constructor({ entities, recent, pauses, decreases }: SpendInput) {
    this.#isKnown = entities !== null
    this.#least = entities ?? []
    this.#most = entities ?? []
    for (const change of recent) this.#apply(change, change.isDone)
    this.#paused = listStillPaused(this.#least, pauses)
    this.#loweredMinor = sumStillLower(this.#least, decreases)
  }

  /** Counts a change whose turn it was and that is not blocked. */
  add(change: PlannedChange): void {
    const { before, after } = this.#leastAround(change)
    this.#proposedMinor += before.minor - after.minor
    this.#apply(change, false)
  }

  /** Null for an ad account with more entities than the platform lists at once. */
  changeOf(change: PlannedChange): SpendChange | null {
    if (!this.#isKnown) return null
    const { before, after } = this.#leastAround(change)
    const total = sumActiveSpend(this.#most).minor
    const totalAfter = sumActiveSpend(applyChange(this.#most, change)).minor
    return {
      activeMinor: before.minor,
      stoppedMinor: before.minor - after.minor,
      earlierMinor: this.#proposedMinor + this.#loweredMinor + this.#sumPausedExcept(change),
      stopsLast: before.leaves > 0 && after.leaves === 0,
      totalAfterMinor: totalAfter,
      raisesTotal: totalAfter > total,
    }
  }

  /** The least that the account spends before a change, and after it if it lowers that. */
  #leastAround(change: PlannedChange) {
    const before = sumActiveSpend(this.#least)
    const after = spendsLess(change) ? sumActiveSpend(applyChange(this.#least, change)) : before
    return { before, after }
  }

  #sumPausedExcept({ target }: PlannedChange): number {
    const sum = this.#paused.values().reduce((total, minor) => total + minor, 0)
    return sum - (this.#paused.get(entityKey(target)) ?? 0)
  }

  #apply(change: PlannedChange, isDone: boolean): void {
    if (isDone || spendsLess(change)) this.#least = applyChange(this.#least, change)
    if (isDone || !spendsLess(change)) this.#most = applyChange(this.#most, change)
  }
}

function listStillPaused(
  entities: readonly EntityState[],
  pauses: readonly RecentPause[],
): Map<string, number> {
  const paused = new Set(entities.filter(({ status }) => status === 'paused').map(entityKey))
  const still = pauses.filter(({ key }) => paused.has(key))
  return new Map(still.map(({ key, stoppedMinor }) => [key, stoppedMinor]))
}

function sumStillLower(
  entities: readonly EntityState[],
  decreases: readonly RecentDecrease[],
): number {
  const byKey = new Map(decreases.map(({ key, beforeMinor }) => [key, beforeMinor]))
  return entities.reduce((sum, entity) => {
    const { daily_budget_minor: budget } = entity
    const before = byKey.get(entityKey(entity))
    return budget === null || before === undefined ? sum : sum + Math.max(0, before - budget)
  }, 0)
}

function spendsLess({ type }: PlannedChange): boolean {
  return type === 'pause' || type === 'decrease_budget'
}

function applyChange(
  entities: readonly EntityState[],
  { type, target, params }: PlannedChange,
): EntityState[] {
  const key = entityKey(target)
  return entities.map(entity => {
    if (entityKey(entity) !== key) return entity
    if (type === 'pause') return { ...entity, status: 'paused' }
    if (type === 'resume') return { ...entity, status: 'active' }
    const budget = params.new_daily_budget_minor ?? entity.daily_budget_minor
    return { ...entity, daily_budget_minor: entity.daily_budget_minor && budget }
  })
}

interface Spend {
  /** Daily budgets of entities with something active below. */
  minor: number
  /** Active entities without any below, whose parents are active. */
  leaves: number
}

function sumActiveSpend(entities: readonly EntityState[]): Spend {
  const known = new Set(entities.map(entityKey))
  const roots = entities.filter(entity => !known.has(parentKey(entity) ?? ''))
  const children = Map.groupBy(entities, parentKey)
  return sumSpend(roots.map(root => spendOf(root, children)))
}

/** By `entityKey` of the parent. */
type Children = ReadonlyMap<string | null, readonly EntityState[]>

function spendOf(entity: EntityState, children: Children): Spend {
  if (entity.status !== 'active') return { minor: 0, leaves: 0 }
  const below = children.get(entityKey(entity)) ?? []
  const budget = entity.daily_budget_minor ?? 0
  // An ad account without campaigns spends nothing.
  if (below.length === 0) return { minor: budget, leaves: entity.type === 'ad_account' ? 0 : 1 }
  const spend = sumSpend(below.map(child => spendOf(child, children)))
  return spend.leaves === 0 ? spend : { ...spend, minor: spend.minor + budget }
}

function sumSpend(parts: readonly Spend[]): Spend {
  return parts.reduce(
    (sum, { minor, leaves }) => ({ minor: sum.minor + minor, leaves: sum.leaves + leaves }),
    { minor: 0, leaves: 0 },
  )
}
