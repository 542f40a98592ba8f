import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import type { EntityRef } from './campaign-api.ts'
import { toEntityState } from './simulated-campaign-store.ts'

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
  /** In minor units, for campaigns. Agents cannot change it. */
  lifetimeBudgetMinor?: number | undefined
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
    const { lifetimeBudgetMinor } = change
    if (dailyBudgetMinor !== undefined && before.daily_budget_minor === null) return 'no_budget'
    if (lifetimeBudgetMinor !== undefined) {
      if (location.type !== 'campaign') return 'no_budget'
      await setLifetimeBudget({ query }, location, lifetimeBudgetMinor)
    }
    const daily_budget_minor = dailyBudgetMinor ?? before.daily_budget_minor
    const entity = { ...before, name, status, daily_budget_minor }
    return { changed: await overwriteEntity({ query }, location.adAccountId, { entity, at }) }
  })
}

async function setLifetimeBudget(
  { query }: Transaction,
  { adAccountId, type, id }: EntityLocation,
  minor: number,
): Promise<void> {
  await query
    .updateTable('ad_entities')
    .set({ lifetime_budget_minor: minor })
    .where('ad_account_id', '=', adAccountId)
    .where('type', '=', type)
    .where('id', '=', id)
    .execute()
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

type SimulatedEntity = Omit<EntityState, 'version'> & {
  parent_type: EntityState['type'] | null
}

interface SimulatedAccount {
  /** Our ID. */
  adAccountId: number
  /** The platform's ID, in digits. */
  platformAccountId: string
  name: string
}

interface EntityPlan {
  name: string
  status?: 'paused'
  /** In minor units. A campaign or its ad sets have a budget, never both. */
  budget?: number
}
type AdSetPlan = EntityPlan & { ads: readonly EntityPlan[] }
type CampaignPlan = EntityPlan & { adSets: readonly AdSetPlan[] }

const CAMPAIGNS: readonly CampaignPlan[] = [
  {
    name: 'Autumn collection - New customers',
    budget: 12_000,
    adSets: [
      {
        name: 'Broad, 25 to 54',
        ads: [{ name: 'Video - Behind the seams, 15 s' }, { name: 'Carousel - Six favorites' }],
      },
      {
        name: 'Lookalike of buyers, 1 %',
        ads: [{ name: 'Image - Wool coat, studio' }, { name: 'Image - Wool coat, street' }],
      },
    ],
  },
  {
    name: 'Retargeting - Shop visitors',
    adSets: [
      {
        name: 'Cart left behind, 14 days',
        budget: 3_500,
        ads: [{ name: 'Catalogue - What you looked at' }],
      },
      {
        name: 'Product viewed, 30 days',
        budget: 2_000,
        ads: [{ name: 'Image - Free returns' }, { name: 'Video - Customers say, 30 s' }],
      },
    ],
  },
  {
    name: 'Newsletter sign-ups - Summer',
    status: 'paused',
    budget: 1_500,
    adSets: [{ name: 'Interests, slow fashion', ads: [{ name: 'Image - 10 % for new readers' }] }],
  },
]

/**
 * Builds the ad account itself, 3 campaigns, 5 ad sets and 8 ads, parents first. Always the same,
 * so that examples and tests can rely on them. IDs are unique across simulated accounts.
 */
export function buildSimulatedEntities(account: SimulatedAccount): SimulatedEntity[] {
  const nextId = createIdSequence(account.adAccountId)
  const root = buildEntity('ad_account', account.platformAccountId, {
    planned: account,
    parent: null,
  })
  const campaigns = CAMPAIGNS.map(planned => ({
    planned,
    campaign: buildEntity('campaign', nextId(), { planned, parent: root }),
  }))
  const adSets = campaigns.flatMap(({ planned: { adSets }, campaign }) =>
    adSets.map(planned => ({
      planned,
      adSet: buildEntity('ad_set', nextId(), { planned, parent: campaign }),
    })),
  )
  const ads = adSets.flatMap(({ planned: { ads }, adSet }) =>
    ads.map(planned => buildEntity('ad', nextId(), { planned, parent: adSet })),
  )
  return [
    root,
    ...campaigns.map(({ campaign }) => campaign),
    ...adSets.map(({ adSet }) => adSet),
    ...ads,
  ]
}

/** Eighteen digits that include our ID. */
const FIRST_ID = 120_200_000_000_000_000n
const IDS_PER_ACCOUNT = 1_000n

function createIdSequence(adAccountId: number): () => string {
  let last = FIRST_ID + BigInt(adAccountId) * IDS_PER_ACCOUNT
  return () => {
    last += 1n
    return String(last)
  }
}

function buildEntity(
  type: EntityState['type'],
  id: string,
  { planned, parent }: { planned: EntityPlan; parent: SimulatedEntity | null },
): SimulatedEntity {
  return {
    type,
    id,
    name: planned.name,
    parent_type: parent?.type ?? null,
    parent_id: parent?.id ?? null,
    status: planned.status ?? 'active',
    daily_budget_minor: planned.budget ?? null,
  }
}
