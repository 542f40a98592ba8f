import type {
  ActionSubmission,
  ActionType,
  EntityState,
  EntityType,
} from '@signalbox/contract/agents/actions.ts'
import { type CampaignApi, type EntityRef, findEntity } from '../campaigns/campaign-api.ts'

/** In minor units by `entityKey`; null for an entity that belongs to too many others to add up. */
export type BudgetsInMotion = ReadonlyMap<string, number | null>

export function entityKey({ type, id }: EntityRef): string {
  return `${type} ${id}`
}

/** A change that has not been made yet. */
export interface PlannedChange {
  type: ActionType
  target: EntityRef
  params: ActionSubmission['params']
}

/**
 * What each `resume` among the changes, which follow each other, would set in motion. Asks the
 * platform.
 */
export async function readBudgetsInMotion(
  campaigns: CampaignApi,
  adAccountId: number,
  changes: readonly PlannedChange[],
): Promise<BudgetsInMotion> {
  const budgets = new Map<string, number | null>()
  for (const [position, { type, target }] of changes.entries()) {
    if (type !== 'resume') continue
    const related = await campaigns.readRelatedEntities(adAccountId, target)
    const earlier = changes.slice(0, position)
    budgets.set(entityKey(target), related && sumBudgetInMotion(target, related, earlier))
  }
  return budgets
}

/**
 * The daily budget that resuming an entity sets in motion: its own and those of active entities
 * below it. If there are none, the entity spends the budget of an ancestor, which counts unless
 * other active ads spend it already. Ignores the status of ancestors, so that it makes no
 * difference which of a campaign and its ad set is resumed first. Any of the `earlier` changes may
 * still be rejected, so the result is the largest amount that is possible with some of them.
 */
export function sumBudgetInMotion(
  target: EntityRef,
  related: readonly EntityState[],
  earlier: readonly PlannedChange[] = [],
): number {
  const most = related.map(entity => applyChange(entity, earlier, 'most'))
  const entity = findEntity(most, target)
  if (!entity) return 0
  const below = sumActiveBudgets(entity, Map.groupBy(most, parentKey))
  if (below > 0) return below
  const holder = findBudgetHolder(entity, most)
  const least = related.map(other => applyChange(other, earlier, 'least'))
  const isSpent = holder && hasActiveAd(holder, entity, Map.groupBy(least, parentKey))
  return isSpent ? 0 : (holder?.daily_budget_minor ?? 0)
}

/** The entity as it spends the most, or the least, if some of the changes are made. */
function applyChange(
  entity: EntityState,
  changes: readonly PlannedChange[],
  extreme: 'most' | 'least',
): EntityState {
  const change = changes.find(({ target }) => entityKey(target) === entityKey(entity))
  if (!change) return entity
  if (extreme === 'least') return change.type === 'pause' ? { ...entity, status: 'paused' } : entity
  if (change.type === 'resume') return { ...entity, status: 'active' }
  const { new_daily_budget_minor: newBudget = 0 } = change.params
  const { daily_budget_minor: budget } = entity
  return { ...entity, daily_budget_minor: budget && Math.max(budget, newBudget) }
}

/** By `entityKey` of the parent. */
type Children = ReadonlyMap<string | null, readonly EntityState[]>

/** The budget of the entity, active or paused, and those of its active descendants. */
function sumActiveBudgets(entity: EntityState, children: Children): number {
  return (children.get(entityKey(entity)) ?? [])
    .filter(({ status }) => status === 'active')
    .reduce((sum, child) => sum + sumActiveBudgets(child, children), entity.daily_budget_minor ?? 0)
}

/** The closest ancestor that has a budget. */
function findBudgetHolder(
  entity: EntityState,
  related: readonly EntityState[],
): EntityState | null {
  const key = parentKey(entity)
  const parent = related.find(other => entityKey(other) === key)
  if (!parent || parent.daily_budget_minor !== null) return parent ?? null
  return findBudgetHolder(parent, related)
}

/** Whether an ad below `entity`, other than those below `except`, is active with its parents. */
function hasActiveAd(entity: EntityState, except: EntityState, children: Children): boolean {
  return (children.get(entityKey(entity)) ?? []).some(
    child =>
      entityKey(child) !== entityKey(except) &&
      child.status === 'active' &&
      (child.type === 'ad' || hasActiveAd(child, except, children)),
  )
}

const PARENT_TYPES = {
  ad_account: null,
  campaign: 'ad_account',
  ad_set: 'campaign',
  ad: 'ad_set',
} as const satisfies Record<EntityType, EntityType | null>

export function parentKey({ type, parent_id: id }: EntityState): string | null {
  const parentType = PARENT_TYPES[type]
  return parentType && id !== null ? entityKey({ type: parentType, id }) : null
}
