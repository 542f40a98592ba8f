import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { buildChangeRows } from './src/approvals/change-rows.ts'

const CAMPAIGN: EntityState = {
  type: 'campaign',
  id: '901',
  name: 'Autumn',
  parent_id: null,
  status: 'active',
  daily_budget_minor: 5_000,
  version: 1,
}
const RAISE = { type: 'increase_budget', params: { new_daily_budget_minor: 6_000 } } as const
const PAUSE = { type: 'pause', params: {} } as const
const UNREAD = { after: null }

it('shows a budget with its change as an amount and in percent', () => {
  const proposed = { ...CAMPAIGN, daily_budget_minor: 6_000 }
  assert.deepEqual(buildChangeRows({ ...RAISE, before: CAMPAIGN, proposed, ...UNREAD }, 'EUR'), [
    {
      label: 'Daily budget',
      before: '€50.00',
      proposed: '€60.00',
      change: '+€10.00 (+20%)',
      after: null,
    },
  ])
})

it('shows a status by its label', () => {
  const proposed = { ...CAMPAIGN, status: 'paused' as const }
  const [row] = buildChangeRows({ ...PAUSE, before: CAMPAIGN, proposed, after: proposed }, 'EUR')
  assert.deepEqual([row?.before, row?.proposed, row?.after], ['Active', 'Paused', 'Paused'])
})

it('shows every other setting that differs after the execution', () => {
  const proposed = { ...CAMPAIGN, status: 'paused' as const }
  const after = { ...proposed, daily_budget_minor: 2_500 }
  const rows = buildChangeRows({ ...PAUSE, before: CAMPAIGN, proposed, after }, 'EUR')
  assert.deepEqual(
    rows.map(({ label, after: read }) => [label, read]),
    [
      ['Daily budget', '€25.00'],
      ['Status', 'Paused'],
    ],
  )
})

it('shows a missing entity as unknown and a missing budget as none', () => {
  const nothing = { before: null, proposed: null, ...UNREAD }
  const [budget] = buildChangeRows({ ...RAISE, ...nothing }, 'EUR')
  assert.deepEqual([budget?.before, budget?.proposed, budget?.change], ['unknown', '€60.00', null])
  const [status] = buildChangeRows({ ...PAUSE, ...nothing }, 'EUR')
  assert.deepEqual([status?.before, status?.proposed], ['unknown', 'Paused'])
  const without = { ...CAMPAIGN, daily_budget_minor: null }
  const [none] = buildChangeRows({ ...RAISE, before: without, proposed: null, ...UNREAD }, 'EUR')
  assert.equal(none?.before, 'none')
})
