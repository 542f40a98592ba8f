import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { AccountSpend } from './account-spend.ts'
import type { PlannedChange } from './budget-in-motion.ts'

function entity(
  type: EntityState['type'],
  id: string,
  rest: Partial<EntityState> & { parent_id: string | null },
): EntityState {
  return { type, id, name: id, status: 'active', daily_budget_minor: null, version: 1, ...rest }
}

/** Campaign 10 spends 5,000 by two ads; campaign 20 spends 3,000 by its ad sets; 30 is paused. */
const ACCOUNT = [
  entity('ad_account', '1', { parent_id: null }),
  entity('campaign', '10', { parent_id: '1', daily_budget_minor: 5_000 }),
  entity('ad_set', '11', { parent_id: '10' }),
  entity('ad', '12', { parent_id: '11' }),
  entity('ad', '13', { parent_id: '11' }),
  entity('campaign', '20', { parent_id: '1' }),
  entity('ad_set', '21', { parent_id: '20', daily_budget_minor: 2_000 }),
  entity('ad', '22', { parent_id: '21' }),
  entity('ad_set', '23', { parent_id: '20', daily_budget_minor: 1_000 }),
  entity('ad', '24', { parent_id: '23' }),
  entity('campaign', '30', { parent_id: '1', status: 'paused', daily_budget_minor: 7_000 }),
]

const change = (type: PlannedChange['type'], id: string, budget?: number): PlannedChange => {
  const found = ACCOUNT.find(other => other.id === id)
  if (!found) throw new Error(`there is no ${id}`)
  const params = budget === undefined ? {} : { new_daily_budget_minor: budget }
  return { type, target: { type: found.type, id }, params }
}
const pause = (id: string) => change('pause', id)

function spendOf(
  recent: (PlannedChange & { isDone: boolean })[] = [],
  pauses = NO_PAUSES,
  decreases = NO_DECREASES,
) {
  return new AccountSpend({ entities: ACCOUNT, recent, pauses, decreases })
}
const NO_PAUSES: { key: string; stoppedMinor: number }[] = []
const NO_DECREASES: { key: string; beforeMinor: number }[] = []

it('counts what a pause stops, at any level', () => {
  const stopped = (id: string) => spendOf().changeOf(pause(id))?.stoppedMinor
  assert.equal(spendOf().changeOf(pause('12'))?.activeMinor, 8_000)
  assert.equal(stopped('1'), 8_000)
  assert.equal(stopped('10'), 5_000)
  assert.equal(stopped('20'), 3_000)
  assert.equal(stopped('22'), 2_000)
  assert.equal(stopped('12'), 0, 'the other ad spends the budget')
  assert.equal(stopped('30'), 0, 'it is paused')
})

it('counts the earlier pauses of a proposal, and those that are being executed', () => {
  const together = spendOf()
  assert.equal(together.changeOf(pause('10'))?.stopsLast, false)
  together.add(pause('10'))
  assert.deepEqual(
    [together.changeOf(pause('20'))?.stopsLast, together.changeOf(pause('23'))?.stopsLast],
    [true, false],
  )
  for (const isDone of [false, true]) {
    const concurrent = spendOf([{ ...pause('10'), isDone }])
    assert.equal(concurrent.changeOf(pause('20'))?.stopsLast, true)
  }
})

it('counts no resume that may still fail', () => {
  const spend = spendOf([{ ...change('resume', '30'), isDone: false }])
  spend.add(pause('10'))
  assert.equal(spend.changeOf(pause('20'))?.stopsLast, true)
  const done = spendOf([{ ...change('resume', '30'), isDone: true }])
  done.add(pause('10'))
  assert.equal(done.changeOf(pause('20'))?.stopsLast, false)
})

it('adds what agents paused before, as long as it is paused', () => {
  const pauses = [
    { key: 'campaign 30', stoppedMinor: 7_000 },
    { key: 'campaign 10', stoppedMinor: 5_000 },
  ]
  const { earlierMinor } = spendOf([], pauses).changeOf(pause('20')) ?? {}
  assert.equal(earlierMinor, 7_000, 'campaign 10 was resumed')
})

it('adds what earlier changes of the proposal stop, once', () => {
  const older = [{ key: 'campaign 10', stoppedMinor: 5_000 }]
  const spend = spendOf([], older)
  spend.add(change('decrease_budget', '10', 4_000))
  spend.add(pause('10'))
  const { stoppedMinor, earlierMinor, activeMinor } = spend.changeOf(pause('21')) ?? {}
  assert.deepEqual([stoppedMinor, earlierMinor, activeMinor], [2_000, 5_000, 3_000])
})

it('adds what agents took from budgets that are still lower', () => {
  const decreases = [
    { key: 'campaign 10', beforeMinor: 9_000 },
    { key: 'ad_set 21', beforeMinor: 1_500 },
    { key: 'campaign 99', beforeMinor: 9_000 },
  ]
  const { stoppedMinor, earlierMinor } =
    spendOf([], [], decreases).changeOf(change('decrease_budget', '10', 3_000)) ?? {}
  assert.deepEqual([stoppedMinor, earlierMinor], [2_000, 4_000], 'ad set 21 was raised since')
})

it('adds the earlier increases and resumes of a proposal to the total', () => {
  const spend = spendOf()
  const raise = change('increase_budget', '21', 2_500)
  assert.deepEqual(pick(spend.changeOf(raise)), [8_500, true])
  spend.add(raise)
  spend.add(pause('10'))
  assert.deepEqual(pick(spend.changeOf(change('resume', '30'))), [15_500, true])
  assert.deepEqual(pick(spend.changeOf(change('decrease_budget', '23', 500))), [8_000, false])
})

function pick(found: ReturnType<AccountSpend['changeOf']>) {
  return [found?.totalAfterMinor, found?.raisesTotal]
}

it('knows nothing about an account with too many entities', () => {
  const spend = new AccountSpend({ entities: null, recent: [], pauses: [], decreases: [] })
  assert.equal(spend.changeOf(pause('10')), null)
})
