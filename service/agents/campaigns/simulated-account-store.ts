import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import type { EntityRef } from './campaign-api.ts'
import { toEntityState } from './simulated-campaign-store.ts'
import {
  buildSimulatedEntities,
  type SimulatedAccount,
  type SimulatedEntity,
} from './simulated-entities.ts'

/**
 * Creates the simulated campaigns of an ad account. Returns false and changes nothing if the
 * account already has entities.
 */
export function seedSimulatedAccount(
  transaction: Transaction,
  { at, ...account }: SimulatedAccount & { at: Date },
): Promise<boolean> {
  const entities = buildSimulatedEntities(account)
  return insertSimulatedEntities(transaction, { adAccountId: account.adAccountId, entities, at })
}

interface NewEntities {
  adAccountId: number
  /** The ad account itself first. */
  entities: readonly SimulatedEntity[]
  at: Date
}

/**
 * Stores the entities of an ad account unless it has any; concurrent calls wait for each other.
 * Returns false if the account already has entities.
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
    last_change_key: null,
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

/** A change outside the approval process; undefined members stay unchanged. */
export interface ExternalChange {
  name?: string | undefined
  status?: EntityState['status'] | undefined
  /** In minor units, for entities with a budget. */
  dailyBudgetMinor?: number | undefined
}

type ExternalChangeResult = { changed: EntityState } | 'no_entity' | 'no_budget'

/**
 * Changes a simulated entity like an ads manager: without a proposal, policy or audit entry.
 * Increments the version, so that approvals of the earlier version become stale, and forgets the
 * key of the last change, so that a repeat of that change is answered as stale.
 */
export async function applyExternalChange(
  database: Database,
  location: EntityLocation,
  { at, ...change }: ExternalChange & { at: Date },
): Promise<ExternalChangeResult> {
  return database.query.transaction().execute(async query => {
    const before = await lockEntity({ query }, location)
    if (!before) return 'no_entity'
    const { name = before.name, status = before.status, dailyBudgetMinor } = change
    if (dailyBudgetMinor !== undefined && before.daily_budget_minor === null) return 'no_budget'
    const daily_budget_minor = dailyBudgetMinor ?? before.daily_budget_minor
    const entity = { ...before, name, status, daily_budget_minor }
    return { changed: await overwriteEntity({ query }, location.adAccountId, { entity, at }) }
  })
}

/** Faults that can be injected into the next change of an entity. */
export const SIMULATED_FAULTS = ['ignored', 'altered'] as const
export type SimulatedFault = (typeof SIMULATED_FAULTS)[number]

export interface EntityLocation extends EntityRef {
  adAccountId: number
}

async function lockEntity(
  { query }: Transaction,
  { adAccountId, type, id }: EntityLocation,
): Promise<EntityState | null> {
  const row = await query
    .selectFrom('ad_entities')
    .selectAll()
    .where('ad_account_id', '=', adAccountId)
    .where('type', '=', type)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  return row ? toEntityState(row) : null
}

/** Writes the next version of a locked entity. */
async function overwriteEntity(
  { query }: Transaction,
  adAccountId: number,
  { entity, at }: { entity: EntityState; at: Date },
): Promise<EntityState> {
  const { name, status, daily_budget_minor } = entity
  const row = await query
    .updateTable('ad_entities')
    .set({ name, status, daily_budget_minor, version: entity.version + 1, changed_at: at })
    .set('last_change_key', null)
    .where('ad_account_id', '=', adAccountId)
    .where('type', '=', entity.type)
    .where('id', '=', entity.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return toEntityState(row)
}

/**
 * Injects a fault into the next change of an entity by the executor: `ignored` changes nothing,
 * `altered` applies another change, and both report success. Null removes the fault. Returns false
 * if there is no such entity.
 */
export async function setNextFault(
  { query }: Transaction,
  { adAccountId, type, id }: EntityLocation,
  fault: SimulatedFault | null,
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
