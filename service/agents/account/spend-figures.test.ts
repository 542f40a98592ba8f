import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Performance } from '@signalbox/contract/agents/account.ts'
import {
  type AdAccountFixture,
  assertMatchesSchema,
  startAdAccountFixture,
} from '../../../testing/fixtures/ad-account.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import type { Refusal } from '../../runtime/http/refusal.ts'
import { applyExternalChange } from '../campaigns/simulated-account-store.ts'
import { readPerformance } from './read-performance.ts'

const START = '2026-11-01T00:00:00Z'

it('returns spend, cost per purchase and ROAS by day and for the period before', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  const { clock } = account.service
  clock.advance(6 * 86_400)
  await buy(account, { event_id: 'before', value_data: { value: '30', currency: 'EUR' } })
  clock.advance(6 * 86_400 + 43_200)
  await buy(account, { event_id: 'a', value_data: { value: '100.50', currency: 'EUR' } })
  await buy(account, { event_id: 'b', value_data: { value: '100', currency: 'USD' } })
  await buy(account, { event_id: 'c', event_name: 'Lead' })
  const { spend, previous, since, until } = await read(account, { days: 3 })
  assert.deepEqual([since, until], ['2026-11-11', '2026-11-13'])
  assert.equal(spend.currency, 'EUR')
  assert.deepEqual([spend.total.purchases, spend.total.revenue], [2, '100.5'])
  assert.deepEqual(
    spend.days.map(({ day, purchases, revenue }) => [day, purchases, revenue]),
    [
      ['2026-11-11', 0, '0'],
      ['2026-11-12', 0, '0'],
      ['2026-11-13', 2, '100.5'],
    ],
  )
  const total = spend.days.reduce((sum, { spend_minor }) => sum + spend_minor, 0)
  assert.equal(spend.total.spend_minor, total)
  assert.equal(spend.total.cost_per_purchase_minor, Math.round(total / 2))
  assert.equal(spend.total.roas, (10_050 / total).toFixed(2))
  const ofCampaigns = spend.campaigns.reduce((sum, { spend_minor }) => sum + spend_minor, 0)
  assert.equal(ofCampaigns, total)
  // Budgets of 175 a day; the last day is half over.
  assert.ok(total > 17_500 * 2.5 * 0.92 && total <= 17_500 * 2.5, String(total))
  assert.equal(spend.previous_total?.purchases, 0)
  assert.deepEqual(previous, { since: '2026-11-08', until: '2026-11-10', events: [] })
  const longer = await read(account, { days: 6 })
  assert.deepEqual(longer.previous?.events, [
    { event_name: 'Purchase', stored: 1, revenue: [{ currency: 'EUR', amount: '30' }] },
  ])
  assert.equal(longer.spend.previous_total?.revenue, '30')
})

it('assigns a purchase to the campaign that its page address names by ID', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  account.service.clock.advance(86_400)
  const [first, second] = (await read(account)).spend.campaigns
  const page = (query: string) => `https://shop.example/thanks?${query}`
  const value_data = { value: '20', currency: 'EUR' }
  for (const [index, query] of [
    `utm_source=meta&utm_id=${first?.id}`,
    `campaign_id=${first?.id}#top`,
    `utm_campaign=${second?.id}`,
    'utm_campaign=Autumn',
    `utm_id=${first?.id}0`,
    'utm_id=999',
    `xutm_id=${first?.id}`,
    '',
  ].entries()) {
    await buy(account, { event_id: `${index}`, event_source: page(query), value_data })
  }
  const { campaigns, total } = (await read(account)).spend
  assert.equal(total.purchases, 8)
  assert.deepEqual(
    campaigns.map(({ id, known_purchases, known_revenue }) => [id, known_purchases, known_revenue]),
    campaigns.map(({ id }) => {
      if (id === first?.id) return [id, 2, '40']
      return id === second?.id ? [id, 1, '20'] : [id, 0, '0']
    }),
  )
})

it('returns impressions, clicks, CTR, CPM and frequency that add up over days and entities', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  account.service.clock.advance(12 * 86_400)
  const all = await read(account, { days: 4, entity_type: 'ad', by_day: true })
  const { spend } = all
  assert.deepEqual(await read(account, { days: 4, entity_type: 'ad', by_day: true }), all)
  const sum = (list: readonly object[], name: string) =>
    list.reduce((total, one) => total + Number((one as Record<string, unknown>)[name]), 0)
  for (const name of ['impressions', 'clicks', 'spend_minor'] as const) {
    assert.ok(spend.total[name] > 0, name)
    for (const list of [spend.days, spend.campaigns, spend.entities]) {
      assert.equal(sum(list, name), spend.total[name], name)
    }
    for (const entity of spend.entities) assert.equal(sum(entity.days, name), entity[name])
  }
  assert.equal(spend.entities.length, 8)
  const { impressions, clicks, spend_minor } = spend.total
  assert.equal(spend.total.ctr_percent, ((clicks * 100) / impressions).toFixed(2))
  assert.equal(spend.total.cpm_minor, Math.round((spend_minor * 1_000) / impressions))
  assert.ok(Number(spend.total.frequency) > 1)
  const [day] = spend.entities[0]?.days ?? []
  assert.ok(Number(spend.entities[0]?.frequency) > Number(day?.frequency))
  // The paused campaign delivers nothing, and nothing is divided by zero.
  const idle = spend.campaigns.find(({ status }) => status === 'paused')
  assert.deepEqual(
    [idle?.impressions, idle?.ctr_percent, idle?.cpm_minor, idle?.frequency],
    [0, null, null, null],
  )
})

it('returns one entity, or those of a type below it', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  account.service.clock.advance(5 * 86_400)
  const [campaign] = (await read(account)).spend.campaigns
  const of = async (input: object) => (await read(account, input)).spend.entities
  const [own, ...others] = await of({ entity_id: campaign?.id })
  assert.deepEqual([own?.id, own?.type, others, own?.days], [campaign?.id, 'campaign', [], []])
  assert.equal(own?.spend_minor, campaign?.spend_minor)
  const sets = await of({ entity_id: campaign?.id, entity_type: 'ad_set' })
  assert.equal(sets.length, 2)
  for (const { parent_id } of sets) assert.equal(parent_id, campaign?.id)
  assert.equal(
    sets.reduce((total, { spend_minor }) => total + spend_minor, 0),
    campaign?.spend_minor,
  )
  assert.deepEqual(await of({ entity_type: 'any', entity_id: 'any' }), [])
  assert.deepEqual(await of({ entity_id: '999' }), [])
})

it('stops a campaign at its lifetime budget', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  const { service, adAccountId } = account
  service.clock.advance(10 * 86_400)
  const [campaign] = (await read(account)).spend.campaigns
  const location = { adAccountId, type: 'campaign', id: campaign?.id ?? '' } as const
  const change = { lifetimeBudgetMinor: 50_000, at: service.clock.now() }
  await applyExternalChange(service.database, location, change)
  const { campaigns, entities } = (await read(account, { days: 4, entity_id: location.id })).spend
  const capped = campaigns.find(({ id }) => id === location.id)
  assert.deepEqual(
    [capped?.lifetime_budget_minor, capped?.lifetime_spend_minor, entities[0]?.spend_minor],
    [50_000, 50_000, 0],
  )
  const wide = (await read(account, { days: 11 })).spend.campaigns
  assert.equal(wide.find(({ id }) => id === location.id)?.spend_minor, 50_000)
  const other = campaigns.find(({ id }) => id !== location.id)
  assert.deepEqual([other?.lifetime_budget_minor, other?.lifetime_spend_minor], [null, null])
})

it('returns the days between two dates, and the same number before', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  const { clock } = account.service
  for (const day of [1, 2, 3, 4, 5]) {
    await buy(account, { event_id: `${day}`, value_data: { value: `${day}`, currency: 'EUR' } })
    clock.advance(86_400)
  }
  await account.service.deliver()
  const { since, until, ledger, spend, previous } = await read(account, {
    days: 1,
    since: '2026-11-03',
    until: '2026-11-04',
  })
  assert.deepEqual([since, until], ['2026-11-03', '2026-11-04'])
  const [purchases] = ledger.events
  assert.deepEqual([purchases?.stored, purchases?.accepted], [2, 2])
  assert.deepEqual([spend.total.revenue, spend.previous_total?.revenue], ['7', '3'])
  assert.deepEqual([previous?.since, previous?.until], ['2026-11-01', '2026-11-02'])
  assert.equal((await read(account, { since: '2026-11-05', until: 'any' })).until, '2026-11-06')
  for (const [input, field] of [
    [{ since: '2026-11-31' }, 'since'],
    [{ since: '2026-11-03', until: '2026-02-30' }, 'until'],
    [{ since: '2026-11-04', until: '2026-11-03' }, 'until'],
    [{ since: '2026-11-03', until: '2026-11-07' }, 'until'],
    [{ since: '2026-11-07' }, 'until'],
    [{ until: '2026-11-03' }, 'since'],
    [{ since: '2026-08-01', until: '2026-11-03' }, 'since'],
    [{ since: 'yesterday' }, 'since'],
  ] as const) {
    await assert.rejects(read(account, input), (error: Refusal) => {
      assert.deepEqual(Object.keys(error.errors ?? {}), [field], JSON.stringify(input))
      return true
    })
  }
})

it('leaves out the period before when there are too many events to read', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  await buy(account, { event_id: 'old' })
  account.service.clock.advance(2 * 86_400)
  await buy(account, { event_id: 'new' })
  const wide = await read(account, { days: 2 })
  assert.equal(wide.previous?.events.length, 1)
  const narrow = await read(account, { days: 2 }, 1)
  assert.deepEqual([narrow.previous, narrow.spend.previous_total], [null, null])
  assert.deepEqual(
    narrow.spend.campaigns.map(({ previous_spend_minor }) => previous_spend_minor),
    [null, null, null],
  )
})

it('follows a budget that an approved action changed', async test => {
  const account = await startAdAccountFixture(test, { startAt: START })
  const { service, adAccountId, workspaceId, principal } = account
  const { pool } = service.database
  service.clock.advance(5 * 86_400)
  const campaign = (await read(account)).spend.campaigns.find(
    ({ daily_budget_minor }) => daily_budget_minor === 12_000,
  )
  const before = {
    type: 'campaign',
    id: campaign?.id,
    name: 'x',
    parent_id: null,
    status: 'active',
    daily_budget_minor: 100,
    version: 1,
  }
  await pool.query(
    `with batch as (
       insert into agent_batches (workspace_id, ad_account_id, idempotency_key, proposal_key,
         content_sha256, rationale, target_source, evidence, proposer_kind, proposer_id,
         proposer_name, person_id, policy_version, policy_decision, created_at, expires_at)
       values ($1, $2, 'k', 'k', '\\x00', 'x', 'human_supplied', '[]', 'execution_token', 1,
         'x', $3, 0, 'allow', $4, $4) returning id
     )
     insert into agent_actions (batch_id, position, workspace_id, ad_account_id, type, target_type,
       target_id, params, rationale, status, policy_decision, policy_reasons, policy_evidence,
       state_before, execution_started_at, executed_at, created_at, updated_at)
     select id, 0, $1, $2, 'increase_budget', 'campaign', $5, '{}', 'x', 'verified', 'allow',
       '[]', '{}', $6, $4, $4, $4, $4 from batch`,
    [workspaceId, adAccountId, principal.userId, '2026-11-05T08:00:00Z', campaign?.id, before],
  )
  const ofDay = async (days: number) => {
    const { campaigns } = (await read(account, { days })).spend
    return campaigns.find(({ id }) => id === campaign?.id)?.spend_minor ?? 0
  }
  // Today has just begun; 5 November has the new budget, and the days before the old one.
  const [two, three] = [await ofDay(2), await ofDay(3)]
  assert.ok(two > 11_000 && two <= 12_000, String(two))
  assert.ok(three - two >= 92 && three - two <= 100, `${three} ${two}`)
})

async function read(
  { service, principal }: AdAccountFixture,
  input: object = {},
  eventsReadMax?: number,
) {
  const limits = eventsReadMax === undefined ? {} : { eventsReadMax }
  const context = { database: service.database, now: service.clock.now, ...limits }
  const performance = await readPerformance(context, principal, input)
  assertMatchesSchema(Performance, performance)
  return performance
}

async function buy({ submit }: AdAccountFixture, change: Record<string, unknown>): Promise<void> {
  const { status, text } = await submit(samplePurchase(change))
  assert.equal(status, 202, text)
}
