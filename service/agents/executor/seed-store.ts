import type { Transaction } from '../../db/database.ts'
import type { SimulatedEntity } from './simulated-entities.ts'

export interface NewEntities {
  adAccountId: number
  /** The ad account itself first. */
  entities: readonly SimulatedEntity[]
  at: Date
}

/**
 * Stores the entities of an ad account, unless it has any: of two that try at once one waits here.
 * False when it had them already.
 */
export async function insertSimulatedEntities(
  { query }: Transaction,
  { adAccountId, entities, at }: NewEntities,
): Promise<boolean> {
  const rows = entities.map(entity => ({
    ...entity,
    ad_account_id: adAccountId,
    version: 1,
    next_fault: null,
    changed_at: at,
  }))
  const [account, ...rest] = rows
  if (!account) return false
  const inserted = await query
    .insertInto('ad_entities')
    .values(account)
    .onConflict(conflict => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!inserted) return false
  if (rest.length > 0) await query.insertInto('ad_entities').values(rest).execute()
  return true
}
