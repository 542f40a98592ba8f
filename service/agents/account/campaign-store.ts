import { sql } from 'kysely'
import type { Database } from '../../runtime/db/database.ts'
import { payloadCondition } from '../../signals/events/event-store.ts'
import { toEntityState } from '../campaigns/simulated-campaign-store.ts'
import type { AccountHistory } from './simulated-spend.ts'

const ENTITIES_MAX = 2_000
const CHANGES_MAX = 5_000

/** What the spend of an ad account since a given time is simulated from. */
export async function findAccountHistory(
  { query }: Database,
  adAccountId: number,
  since: Date,
): Promise<AccountHistory> {
  const { created_at: createdAt } = await query
    .selectFrom('ad_accounts')
    .select('created_at')
    .where('id', '=', adAccountId)
    .executeTakeFirstOrThrow()
  const entities = await query
    .selectFrom('ad_entities')
    .selectAll()
    .where('ad_account_id', '=', adAccountId)
    // Parents first, if there are too many.
    .orderBy(sql`array_position(array['ad_account', 'campaign', 'ad_set', 'ad'], type)`)
    .orderBy('id')
    .limit(ENTITIES_MAX)
    .execute()
  const lifetimeBudgets = new Map(
    entities.flatMap(({ id, lifetime_budget_minor: minor }) =>
      minor === null ? [] : [[id, minor] as const],
    ),
  )
  const from = lifetimeBudgets.size > 0 && createdAt < since ? createdAt : since
  // An action that was rolled back left the entity as it was.
  const changes = await query
    .selectFrom('agent_actions')
    .select(['state_before', 'executed_at'])
    .where('ad_account_id', '=', adAccountId)
    .where('execution_started_at', '>=', from)
    .where('executed_at', 'is not', null)
    .where('status', 'in', ['verified', 'executed_pending_verification'])
    .orderBy('executed_at')
    .orderBy('id')
    .limit(CHANGES_MAX)
    .execute()
  return {
    createdAt,
    lifetimeBudgets,
    entities: entities.map(toEntityState),
    changes: changes.flatMap(({ state_before: before, executed_at: executedAt }) =>
      before === null || executedAt === null ? [] : [{ before: parseState(before), executedAt }],
    ),
  }
}

/** The driver returns jsonb as an object. */
function parseState(state: unknown) {
  return state as AccountHistory['entities'][number]
}

/** Purchases of a tracker whose page names the campaign, newest first. */
const PURCHASES_MAX = 20_000

/** As the URL parameters of ads name it; IDs only, because names change. */
const CAMPAIGN_PARAMETER = '[?&](?:utm_id|campaign_id|utm_campaign)=([1-9][0-9]{0,19})(?:[&#]|$)'

const PURCHASES_BY_CAMPAIGN = `
  select campaign_id, value_currency, count(*)::bigint as purchases,
    sum(value_amount)::text as amount
  from (
    select newest.value_currency, newest.value_amount,
      substring(payload.page_url from '${CAMPAIGN_PARAMETER}') as campaign_id
    from (
      select event_id, space, created_at, value_currency, value_amount from events
      where tracker_id = $1::uuid and created_at >= $2::timestamptz
        and event_time >= $2::timestamptz and event_time < $3::timestamptz
        and event_name = 'Purchase' and coalesce(event_class, 'conversion') = 'conversion'
      order by created_at desc limit ${PURCHASES_MAX}
    ) newest
    join lateral (
      select page_url from event_payloads where ${payloadCondition('newest')} limit 1
    ) payload on true
  ) named
  where campaign_id is not null
  group by campaign_id, value_currency
  order by campaign_id, value_currency`

interface CampaignPurchases {
  campaignId: string
  currency: string | null
  purchases: number
  /** Decimal text; null if no event has an amount. */
  amount: string | null
}

/**
 * Purchases of a time by the campaign that the address of their page names. The query of
 * an address is identity, so it is known only as long as the payload of the event is kept.
 */
export async function findPurchasesByCampaign(
  { pool }: Database,
  trackerIds: readonly string[],
  { from, until }: { from: Date; until: Date },
): Promise<CampaignPurchases[]> {
  const found: CampaignPurchases[] = []
  for (const trackerId of trackerIds) {
    const { rows } = await pool.query({
      name: 'find-purchases-by-campaign',
      text: PURCHASES_BY_CAMPAIGN,
      values: [trackerId, from, until],
    })
    for (const row of rows) {
      const { campaign_id: campaignId, value_currency: currency, purchases, amount } = row
      found.push({ campaignId, currency, purchases, amount })
    }
  }
  return found
}
