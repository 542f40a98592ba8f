import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { type PlannedChange, sumBudgetInMotion } from './budget-in-motion.ts'

function entity(
  type: EntityState['type'],
  id: string,
  rest: Partial<EntityState> & { parent_id: string },
): EntityState {
  return { type, id, name: id, status: 'active', daily_budget_minor: null, version: 1, ...rest }
}

const ACCOUNT = entity('ad_account', '1', { parent_id: '' })
/** A campaign with a budget, and one whose ad sets have budgets. */
const SHARED = [
  entity('campaign', '10', { parent_id: '1', daily_budget_minor: 5_000 }),
  entity('ad_set', '11', { parent_id: '10', status: 'paused' }),
  entity('ad', '12', { parent_id: '11' }),
  entity('ad_set', '13', { parent_id: '10', status: 'paused' }),
  entity('ad', '14', { parent_id: '13', status: 'paused' }),
]
const SEPARATE = [
  entity('campaign', '20', { parent_id: '1', status: 'paused' }),
  entity('ad_set', '21', { parent_id: '20', daily_budget_minor: 300 }),
  entity('ad_set', '22', { parent_id: '20', daily_budget_minor: 40 }),
  entity('ad_set', '23', { parent_id: '20', daily_budget_minor: 7, status: 'paused' }),
  entity('ad', '24', { parent_id: '23' }),
]
const ALL = [ACCOUNT, ...SHARED, ...SEPARATE]

const campaign = (id: string) => ({ type: 'campaign', id }) as const
const adSet = (id: string) => ({ type: 'ad_set', id }) as const
const ad = (id: string) => ({ type: 'ad', id }) as const

it('adds the budgets of active children', () => {
  assert.equal(sumBudgetInMotion(campaign('20'), ALL), 340)
  assert.equal(sumBudgetInMotion({ type: 'ad_account', id: '1' }, ALL), 5_000)
  assert.equal(sumBudgetInMotion(adSet('23'), ALL), 7)
  assert.equal(sumBudgetInMotion(campaign('10'), ALL), 5_000)
})

it('counts the budget of an ancestor unless other active ads spend it', () => {
  assert.equal(sumBudgetInMotion(adSet('11'), ALL), 5_000)
  assert.equal(sumBudgetInMotion(ad('24'), ALL), 7)
  const isRunning = ALL.map(found => (found.id === '11' ? { ...found, status: 'active' } : found))
  assert.equal(sumBudgetInMotion(adSet('13'), isRunning as EntityState[]), 0)
  assert.equal(sumBudgetInMotion(ad('14'), isRunning as EntityState[]), 0)
})

it('counts nothing for an unknown entity and for one without any budget', () => {
  assert.equal(sumBudgetInMotion(campaign('99'), ALL), 0)
  const none = ALL.map(found => ({ ...found, daily_budget_minor: null }))
  assert.equal(sumBudgetInMotion(adSet('11'), none), 0)
})

it('counts what some of the earlier changes make possible', () => {
  const change = (
    type: PlannedChange['type'],
    target: PlannedChange['target'],
    budget?: number,
  ) => ({
    type,
    target,
    params: budget === undefined ? {} : { new_daily_budget_minor: budget },
  })
  const resumeChild = change('resume', adSet('23'))
  assert.equal(sumBudgetInMotion(campaign('20'), ALL, [resumeChild]), 347)
  const raise = change('increase_budget', adSet('21'), 1_000)
  const lower = change('decrease_budget', adSet('22'), 1)
  assert.equal(sumBudgetInMotion(campaign('20'), ALL, [raise, lower]), 1_040)
  // A pause may be rejected, so it takes nothing away.
  assert.equal(sumBudgetInMotion(campaign('20'), ALL, [change('pause', adSet('21'))]), 340)
  const isRunning = ALL.map(found => (found.id === '11' ? { ...found, status: 'active' } : found))
  const pauseOther = change('pause', ad('12'))
  assert.equal(sumBudgetInMotion(adSet('13'), isRunning as EntityState[], [pauseOther]), 5_000)
})
