import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Selectable } from 'kysely'
import type { Transaction } from '../../db/database.ts'
import type { Tables } from '../../db/tables.ts'
import type { EntityChange, EntityName } from '../policy/ad-platform.ts'

/** See AdPlatform. */
export async function readEntities(
  { query }: Transaction,
  adAccountId: number,
  names: readonly EntityName[],
): Promise<EntityState[]> {
  if (names.length === 0) return []
  const rows = await query
    .selectFrom('ad_entities')
    .selectAll()
    .where('ad_account_id', '=', adAccountId)
    .where(({ or, and, eb }) =>
      or(names.map(({ type, id }) => and([eb('type', '=', type), eb('id', '=', id)]))),
    )
    .execute()
  return names.flatMap(({ type, id }) => {
    const row = rows.find(found => found.type === type && found.id === id)
    return row ? [entityOf(row)] : []
  })
}

/** See AdPlatform. The version is compared in the statement, so that of two changes one is made. */
export async function changeEntity(
  { query }: Transaction,
  adAccountId: number,
  { expected, wanted, at }: EntityChange,
): Promise<boolean> {
  const entity = await query
    .selectFrom('ad_entities')
    .selectAll()
    .where('ad_account_id', '=', adAccountId)
    .where('type', '=', expected.type)
    .where('id', '=', expected.id)
    .forUpdate()
    .executeTakeFirst()
  if (entity?.version !== expected.version) return false
  const { status, daily_budget_minor } = faulty(entity.next_fault, wanted, entityOf(entity))
  await query
    .updateTable('ad_entities')
    .set({ status, daily_budget_minor, next_fault: null, changed_at: at })
    .set('version', entity.version + 1)
    .where('ad_account_id', '=', adAccountId)
    .where('type', '=', expected.type)
    .where('id', '=', expected.id)
    .execute()
  return true
}

type Delivered = Pick<EntityState, 'status' | 'daily_budget_minor'>

/** A rehearsal of a platform that says yes and does something else. */
function faulty(fault: string | null, wanted: Delivered, before: Delivered): Delivered {
  if (fault === 'ignored') return before
  if (fault !== 'altered') return wanted
  const budget = wanted.daily_budget_minor
  return { status: wanted.status, daily_budget_minor: budget && Math.ceil(budget / 2) }
}

/** A row as everybody else sees it. */
export function entityOf(row: Selectable<Tables['ad_entities']>): EntityState {
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
