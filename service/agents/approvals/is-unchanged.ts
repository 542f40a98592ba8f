import type { EntityState } from '@signalbox/contract/agents/actions.ts'

/**
 * Whether an entity is as it was when an action was judged. The version grows with every change;
 * the rest is compared as well, for a platform that forgets to count.
 */
export function isUnchanged(before: EntityState | null, found: EntityState | null): boolean {
  if (before === null || found === null) return false
  return (
    found.type === before.type &&
    found.id === before.id &&
    found.version === before.version &&
    isSameSetting(found, before)
  )
}

/** Whether two states deliver the same: what an action can change is equal in both. */
export function isSameSetting(one: EntityState, other: EntityState): boolean {
  return one.status === other.status && one.daily_budget_minor === other.daily_budget_minor
}
