import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Database, Transaction } from '../../db/database.ts'
import type { EntityRef } from '../policy/ad-platform.ts'
import { toEntityState } from './ad-entity-store.ts'
import {
  buildSimulatedEntities,
  type SimulatedAccount,
  type SimulatedEntity,
} from './simulated-entities.ts'

/**
 * Gives an ad account its simulated campaigns, in the transaction that makes the account or later.
 * An account that has some keeps them as they are. Returns whether they were made by this call.
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

/** What somebody changes beside the agents; what is left out stays as it is. */
export interface ExternalChange {
  name?: string | undefined
  status?: EntityState['status'] | undefined
  /** In minor units. Only what has a budget gets another. */
  dailyBudgetMinor?: number | undefined
}

type ExternalChangeResult = { changed: EntityState } | 'no_entity' | 'no_budget'

/**
 * Changes a simulated entity as somebody does who opens the ads manager: no proposal, no policy, no
 * entry in the log, and a version that grows, by which approvals of the earlier one become stale.
 */
export async function applyExternalChange(
  database: Database,
  place: EntityLocation,
  { at, ...change }: ExternalChange & { at: Date },
): Promise<ExternalChangeResult> {
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

/** How the next change of an entity goes wrong. */
export const SIMULATED_FAULTS = ['ignored', 'altered'] as const
export type SimulatedFault = (typeof SIMULATED_FAULTS)[number]

export interface EntityLocation extends EntityRef {
  adAccountId: number
}

/** One entity as it is, held until the transaction ends; null when there is none. */
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

/** Writes an entity over the one that is held, as its next version. */
async function overwriteEntity(
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
  return toEntityState(row)
}

/**
 * Makes the next change of an entity by the executor go wrong: `ignored` changes nothing, `altered`
 * something else, and both say that all is well. Null takes the fault back. False: no such entity.
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
