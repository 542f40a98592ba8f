import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Database } from '../../db/database.ts'
import { type EntityPlace, lockEntity, overwriteEntity } from './rehearsal-store.ts'

/** What somebody changes beside the agents; what is left out stays as it is. */
export interface OutsideChange {
  name?: string | undefined
  status?: EntityState['status'] | undefined
  /** In minor units. Only what has a budget gets another. */
  dailyBudgetMinor?: number | undefined
}

export type OutsideOutcome = { changed: EntityState } | 'no_entity' | 'no_budget'

/**
 * Changes a simulated entity as somebody does who opens the ads manager: no proposal, no policy, no
 * entry in the log, and a version that grows, by which approvals of the earlier one become stale.
 */
export async function changeOutside(
  database: Database,
  place: EntityPlace,
  { at, ...change }: OutsideChange & { at: Date },
): Promise<OutsideOutcome> {
  return database.query.transaction().execute(async query => {
    const before = await lockEntity({ query }, place)
    if (!before) return 'no_entity'
    const { name = before.name, status = before.status, dailyBudgetMinor } = change
    if (dailyBudgetMinor !== undefined && before.daily_budget_minor === null) return 'no_budget'
    const daily_budget_minor = dailyBudgetMinor ?? before.daily_budget_minor
    const entity = { ...before, name, status, daily_budget_minor }
    return { changed: await overwriteEntity({ query }, place.adAccountId, { entity, at }) }
  })
}
