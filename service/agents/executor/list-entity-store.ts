import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { sql } from 'kysely'
import type { Transaction } from '../../db/database.ts'
import { entityOf } from './ad-entity-store.ts'

/** Entities that one read shows. */
const ENTITIES_LISTED_MAX = 500

export interface ListedEntities {
  /** Parents before what belongs to them. */
  entities: EntityState[]
  /** How many more there are. */
  omitted: number
}

/** Every entity of an ad account: itself, its campaigns, their ad sets and their ads. */
export async function listEntities(
  { query }: Transaction,
  adAccountId: number,
  entitiesMax = ENTITIES_LISTED_MAX,
): Promise<ListedEntities> {
  const rows = await query
    .selectFrom('ad_entities')
    .selectAll()
    .select(({ fn }) => fn.countAll<number>().over().as('total'))
    .where('ad_account_id', '=', adAccountId)
    .orderBy(sql`array_position(array['ad_account', 'campaign', 'ad_set', 'ad'], type)`)
    .orderBy(sql`id::numeric`)
    .limit(entitiesMax)
    .execute()
  const total = rows[0]?.total ?? 0
  return { entities: rows.map(entityOf), omitted: total - rows.length }
}
