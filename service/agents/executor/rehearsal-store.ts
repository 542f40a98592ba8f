import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Transaction } from '../../db/database.ts'
import type { EntityName } from '../policy/ad-platform.ts'
import { entityOf } from './ad-entity-store.ts'

/** How the next change of an entity goes wrong. */
export const FAULTS = ['ignored', 'altered'] as const
export type Fault = (typeof FAULTS)[number]

export interface EntityPlace extends EntityName {
  adAccountId: number
}

/** One entity as it is, held until the transaction ends; null when there is none. */
export async function lockEntity(
  { query }: Transaction,
  { adAccountId, type, id }: EntityPlace,
): Promise<EntityState | null> {
  const row = await query
    .selectFrom('ad_entities')
    .selectAll()
    .where('ad_account_id', '=', adAccountId)
    .where('type', '=', type)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  return row ? entityOf(row) : null
}

/** Writes an entity over the one that is held, as its next version. */
export async function overwriteEntity(
  { query }: Transaction,
  adAccountId: number,
  { entity, at }: { entity: EntityState; at: Date },
): Promise<EntityState> {
  const { name, status, daily_budget_minor } = entity
  const row = await query
    .updateTable('ad_entities')
    .set({ name, status, daily_budget_minor, version: entity.version + 1, changed_at: at })
    .where('ad_account_id', '=', adAccountId)
    .where('type', '=', entity.type)
    .where('id', '=', entity.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return entityOf(row)
}

/**
 * Makes the next change of an entity by the executor go wrong: `ignored` changes nothing, `altered`
 * something else, and both say that all is well. Null takes the fault back. False: no such entity.
 */
export async function setNextFault(
  { query }: Transaction,
  { adAccountId, type, id }: EntityPlace,
  fault: Fault | null,
): Promise<boolean> {
  const found = await query
    .updateTable('ad_entities')
    .set({ next_fault: fault })
    .where('ad_account_id', '=', adAccountId)
    .where('type', '=', type)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst()
  return found !== undefined
}
