import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { type Selectable, sql } from 'kysely'
import type { Transaction } from '../../runtime/db/database.ts'
import type { Tables } from '../../runtime/db/tables.ts'
import type { CampaignApi, EntityChange, EntityRef } from './campaign-api.ts'

/**
 * Simulated campaigns in the database; nothing here calls a real platform. Like one, it commits a
 * change before it answers.
 */
export function createSimulatedCampaignApi(database: Transaction): CampaignApi {
  return {
    readEntities: (adAccountId, refs) => readEntities(database, adAccountId, refs),
    listEntities: async (adAccountId, type, perPage) =>
      (await listEntities(database, adAccountId, { type, perPage })).entities,
    readRelatedEntities: (adAccountId, ref) => readRelatedEntities(database, adAccountId, ref),
    changeEntity: (adAccountId, change) =>
      database.query.transaction().execute(query => changeEntity({ query }, adAccountId, change)),
  }
}

async function readEntities(
  { query }: Transaction,
  adAccountId: number,
  refs: readonly EntityRef[],
): Promise<EntityState[]> {
  if (refs.length === 0) return []
  const rows = await query
    .selectFrom('ad_entities')
    .selectAll()
    .where('ad_account_id', '=', adAccountId)
    .where(({ or, and, eb }) =>
      or(refs.map(({ type, id }) => and([eb('type', '=', type), eb('id', '=', id)]))),
    )
    .execute()
  return refs.flatMap(({ type, id }) => {
    const row = rows.find(found => found.type === type && found.id === id)
    return row ? [toEntityState(row)] : []
  })
}

const RELATED_ENTITIES_MAX = 10_000

/** See CampaignApi. Goes up to the top of the branch, then down from there. */
async function readRelatedEntities(
  { query }: Transaction,
  adAccountId: number,
  { type, id }: EntityRef,
): Promise<EntityState[] | null> {
  const { rows } = await sql<Selectable<Tables['ad_entities']>>`
    with recursive ancestors as (
      select * from ad_entities
      where ad_account_id = ${adAccountId} and type = ${type} and id = ${id}
      union all
      select parent.* from ad_entities parent join ancestors child
        on parent.ad_account_id = child.ad_account_id and parent.type = child.parent_type
          and parent.id = child.parent_id
    ), branch as (
      select * from ancestors
      where (type = 'ad_account') = (${type} = 'ad_account')
        and coalesce(parent_type, 'ad_account') = 'ad_account'
      union all
      select child.* from ad_entities child join branch parent
        on child.ad_account_id = parent.ad_account_id and child.parent_type = parent.type
          and child.parent_id = parent.id
    )
    select * from branch union select * from ancestors
    limit ${RELATED_ENTITIES_MAX + 1}`.execute(query)
  return rows.length > RELATED_ENTITIES_MAX ? null : rows.map(toEntityState)
}

/** See CampaignApi. Locks the row, so that one of two concurrent changes fails on the version. */
async function changeEntity(
  { query }: Transaction,
  adAccountId: number,
  { key, expected, desired, at }: EntityChange,
): Promise<EntityState | null> {
  const entity = await query
    .selectFrom('ad_entities')
    .selectAll()
    .where('ad_account_id', '=', adAccountId)
    .where('type', '=', expected.type)
    .where('id', '=', expected.id)
    .forUpdate()
    .executeTakeFirst()
  if (entity?.last_change_key === key) return toEntityState(entity)
  if (entity?.version !== expected.version) return null
  const { status, daily_budget_minor } = applyFault(
    entity.next_fault,
    desired,
    toEntityState(entity),
  )
  const changed = await query
    .updateTable('ad_entities')
    .set({ status, daily_budget_minor, next_fault: null, changed_at: at })
    .set({ version: entity.version + 1, last_change_key: key })
    .where('ad_account_id', '=', adAccountId)
    .where('type', '=', expected.type)
    .where('id', '=', expected.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return toEntityState(changed)
}

type EntitySettings = Pick<EntityState, 'status' | 'daily_budget_minor'>

/** Simulates a platform that reports success but applies another change, or none. */
function applyFault(
  fault: string | null,
  desired: EntitySettings,
  before: EntitySettings,
): EntitySettings {
  if (fault === 'ignored') return before
  if (fault !== 'altered') return desired
  const budget = desired.daily_budget_minor
  return { status: desired.status, daily_budget_minor: budget && Math.ceil(budget / 2) }
}

export function toEntityState(row: Selectable<Tables['ad_entities']>): EntityState {
  return {
    type: row.type as EntityState['type'],
    id: row.id,
    name: row.name,
    parent_id: row.parent_id,
    status: row.status as EntityState['status'],
    daily_budget_minor: row.daily_budget_minor,
    version: row.version,
  }
}

/** The size of a page of entities. */
export const ENTITIES_PER_PAGE = 100

/** Which entities to list; without members, all of the ad account. */
export interface EntityFilter {
  type?: EntityState['type'] | undefined
  status?: EntityState['status'] | undefined
  parentId?: string | undefined
  /** Text in the name, in any case. */
  nameContains?: string | undefined
  /** Counted from 1. */
  page?: number | undefined
  perPage?: number | undefined
}

interface ListedEntities {
  /** Parents before their children. */
  entities: EntityState[]
  /** Number of matching entities that are not on this page. */
  omitted: number
}

/** Lists a page of the ad account itself, its campaigns, ad sets and ads. */
export async function listEntities(
  { query }: Transaction,
  adAccountId: number,
  { perPage = ENTITIES_PER_PAGE, page = 1, ...filter }: EntityFilter = {},
): Promise<ListedEntities> {
  const matching = selectMatching({ query }, adAccountId, filter)
  const rows = await matching
    .selectAll()
    .orderBy(sql`array_position(array['ad_account', 'campaign', 'ad_set', 'ad'], type)`)
    .orderBy(sql`id::numeric`)
    .limit(perPage)
    .offset((page - 1) * perPage)
    .execute()
  const { total } = await matching
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { entities: rows.map(toEntityState), omitted: total - rows.length }
}

function selectMatching(
  { query }: Transaction,
  adAccountId: number,
  { type, status, parentId, nameContains }: EntityFilter,
) {
  let matching = query.selectFrom('ad_entities').where('ad_account_id', '=', adAccountId)
  if (type !== undefined) matching = matching.where('type', '=', type)
  if (status !== undefined) matching = matching.where('status', '=', status)
  if (parentId !== undefined) matching = matching.where('parent_id', '=', parentId)
  if (nameContains === undefined) return matching
  // No pattern: a % in a name is only a character.
  return matching.where(sql<boolean>`strpos(lower(name), lower(${nameContains})) > 0`)
}
