import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { type AccountHistory, simulateSpend } from './simulated-spend.ts'
import { addAmounts, computeEfficiency } from './spend-figures.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const DAYS = ['2026-11-18', '2026-11-19', '2026-11-20', '2026-11-21']
const PAUSED = { status: 'paused' } as const

function entityOf(changes: Partial<EntityState>): EntityState {
  const base = { type: 'campaign', id: '2', name: 'C', parent_id: '1', status: 'active' } as const
  return { ...base, daily_budget_minor: null, version: 1, ...changes }
}

const ACCOUNT = entityOf({ type: 'ad_account', id: '1', parent_id: null })
const CAMPAIGN = entityOf({ daily_budget_minor: 10_000 })
const SHARED = entityOf({ id: '3' })
const AD_SETS = [
  entityOf({ type: 'ad_set', id: '4', parent_id: '3', daily_budget_minor: 3_000 }),
  entityOf({ type: 'ad_set', id: '5', parent_id: '3', daily_budget_minor: 2_000 }),
]

function historyOf(changes: Partial<AccountHistory> = {}): AccountHistory {
  const entities = [ACCOUNT, CAMPAIGN, SHARED, ...AD_SETS]
  return {
    entities,
    changes: [],
    lifetimeBudgets: new Map(),
    createdAt: new Date('2026-01-01T00:00:00Z'),
    ...changes,
  }
}

function spendOf(history: AccountHistory, campaignId = '2'): number[] {
  return [...(simulateSpend(history, DAYS, NOW).get(campaignId) ?? new Map()).values()]
}

it('spends most of the daily budget, half of it by noon, and the same when read again', () => {
  const spend = spendOf(historyOf())
  for (const [index, minor] of spend.entries()) {
    const budget = index === 3 ? 5_000 : 10_000
    assert.ok(minor >= budget * 0.92 && minor <= budget, `${DAYS[index]}: ${minor}`)
  }
  assert.ok(new Set(spend.slice(0, 3)).size > 1)
  assert.deepEqual(spendOf(historyOf()), spend)
})

it('adds up active ad sets, and spends nothing while the campaign or the account is paused', () => {
  const full = spendOf(historyOf(), '3')
  assert.ok((full[0] ?? 0) > 4_600 && (full[0] ?? 0) <= 5_000)
  const oneSet = [
    ACCOUNT,
    SHARED,
    ...AD_SETS.map((set, at) => (at === 0 ? set : { ...set, ...PAUSED })),
  ]
  assert.ok((spendOf(historyOf({ entities: oneSet }), '3')[0] ?? 0) <= 3_000)
  for (const entities of [
    [{ ...ACCOUNT, ...PAUSED }, CAMPAIGN],
    [ACCOUNT, { ...CAMPAIGN, ...PAUSED }],
  ]) {
    assert.deepEqual(spendOf(historyOf({ entities })), [0, 0, 0, 0])
  }
})

it('uses the budget and status that an entity had on each day', () => {
  const executedAt = new Date('2026-11-20T09:00:00Z')
  const before = { ...CAMPAIGN, daily_budget_minor: 1_000 }
  const spend = spendOf(historyOf({ changes: [{ before, executedAt }] }))
  assert.ok((spend[0] ?? 0) <= 1_000 && (spend[1] ?? 0) <= 1_000)
  assert.ok((spend[2] ?? 0) >= 9_200)
  const resumed = { before: { ...CAMPAIGN, ...PAUSED }, executedAt }
  assert.deepEqual(spendOf(historyOf({ changes: [resumed] })).slice(0, 2), [0, 0])
})

it('spends nothing before the ad account was added', () => {
  const createdAt = new Date('2026-11-20T12:00:00Z')
  const spend = spendOf(historyOf({ createdAt }))
  assert.deepEqual(spend.slice(0, 2), [0, 0])
  assert.ok((spend[2] ?? 0) <= 5_000 && (spend[2] ?? 0) > 4_500)
})

it('computes cost per purchase and return on spend without binary fractions', () => {
  assert.equal(addAmounts(['0.1', '0.2', '123456789012345.678901']), '123456789012345.978901')
  assert.equal(addAmounts(['-5.00', '2']), '-3')
  assert.equal(addAmounts([]), '0')
  const input = { purchases: 3, revenue: '50.00', spendMinor: 2_000, currency: 'EUR' }
  assert.deepEqual(computeEfficiency(input), {
    purchases: 3,
    revenue: '50.00',
    spend_minor: 2_000,
    cost_per_purchase_minor: 667,
    roas: '2.50',
  })
  const yen = computeEfficiency({ ...input, currency: 'JPY' })
  assert.equal(yen.roas, '0.03')
  const idle = computeEfficiency({ ...input, purchases: 0, revenue: '0', spendMinor: 0 })
  assert.deepEqual([idle.cost_per_purchase_minor, idle.roas], [null, null])
})
