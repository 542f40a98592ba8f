import type { EntityState } from '@signalbox/contract/agents/actions.ts'

export type SimulatedEntity = Omit<EntityState, 'version'> & {
  parent_type: EntityState['type'] | null
}

export interface SimulatedAccount {
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
