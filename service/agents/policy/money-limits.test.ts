import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import { NO_CEILINGS, NOTHING_STOPPED } from '../../../testing/fixtures/agents.ts'
import type { SpendChange } from './account-spend.ts'
import {
  computeMoneyChange,
  findExceededLimits,
  findWholeAccountStop,
  largestPercent,
  NO_AMOUNT_LIMITS,
  type Usage,
} from './money-limits.ts'
import { DEFAULT_POLICY } from './policy-store.ts'

const CAMPAIGN: EntityState = {
  type: 'campaign',
  id: '901',
  name: 'Autumn',
  parent_id: '900',
  status: 'active',
  daily_budget_minor: 11_500,
  version: 7,
}
const UNUSED = { changedMinor: 0, actionCount: 0, weekMinor: 0, monthMinor: 0 }

const NO_TOTAL = { daily_total_minor_max: null }

interface Case {
  /** Undefined for a resume. */
  budget?: number
  current?: number
  dayStart?: number | null
  inMotion?: number | null
  connection?: number
}

function changeOf({ budget, current = 11_500, dayStart = null, inMotion = 0 }: Case) {
  const isResume = budget === undefined
  const params = isResume ? {} : { new_daily_budget_minor: budget }
  return computeMoneyChange(
    { type: isResume ? 'resume' : 'increase_budget', params },
    {
      entity: { ...CAMPAIGN, daily_budget_minor: current },
      dayStartBudgetMinor: dayStart,
      budgetInMotionMinor: inMotion,
    },
  )
}

function exceeded(given: Case, limits: Partial<PolicyLimits>, used: Partial<Usage> = {}) {
  const unlimited = { change_percent_max: null, change_minor_max: null, actions_per_day_max: null }
  return findExceededLimits(changeOf(given), {
    limits: { ...DEFAULT_POLICY.limits, ...unlimited, ...NO_CEILINGS, ...NO_TOTAL, ...limits },
    used: { ...UNUSED, ...used },
    currency: 'EUR',
    entity: CAMPAIGN,
    connectionBudgetMinor: given.connection ?? null,
    spend: null,
  })
}

it('applies the limits of one budget to its change since the start of the day', () => {
  const limits = { change_percent_max: 20, change_minor_max: 2_000 }
  assert.deepEqual(exceeded({ budget: 12_000, dayStart: 10_000 }, limits), [])
  assert.deepEqual(exceeded({ budget: 12_001, dayStart: 10_000 }, limits), [
    {
      code: 'change_percent_exceeded',
      message:
        'Since the start of the day it changes the daily budget by 20.01%; the policy allows 20% ' +
        'per budget and day.',
    },
    {
      code: 'change_amount_exceeded',
      message:
        'Since the start of the day it changes the daily budget by €20.01; the policy allows ' +
        '€20.00 per budget and day.',
    },
  ])
})

it('counts each change by its own size towards the total of the day', () => {
  const change = changeOf({ budget: 12_001, dayStart: 10_000 })
  assert.deepEqual([change.changeMinor, largestPercent(change)], [501, 20.01])
})

it('limits a change back towards the start of the day as well', () => {
  const back = { budget: 10_000, current: 15_000, dayStart: 10_000 }
  assert.deepEqual(
    exceeded(back, { change_percent_max: 20, change_minor_max: 2_000 }).map(({ code }) => code),
    ['change_percent_exceeded', 'change_amount_exceeded'],
  )
})

it('counts the daily budgets that a resume sets in motion', () => {
  const limits = { change_minor_max: 5_000, daily_total_minor_max: 6_000 }
  const used = { changedMinor: 1_000, actionCount: 1 }
  assert.deepEqual(exceeded({ inMotion: 5_000 }, limits, used), [])
  assert.equal(changeOf({ inMotion: 5_000 }).changeMinor, 5_000)
  assert.deepEqual(
    exceeded({ inMotion: 5_001 }, limits, used).map(({ message }) => message),
    [
      'It sets daily budgets of €50.01 in motion; the policy allows €50.00 per action.',
      'Budget changes of today would total €60.01; the policy allows €60.00 per day.',
    ],
  )
})

it('applies the limits of a currency instead of the general ones', () => {
  const own = {
    ...NO_AMOUNT_LIMITS,
    currency: 'EUR',
    change_minor_max: 100,
    daily_total_minor_max: null,
  }
  const other = { ...own, currency: 'JPY', change_minor_max: 1 }
  const limits = { change_minor_max: 5_000, daily_total_minor_max: 400 }
  const codesOf = (currency_limits: PolicyLimits['currency_limits'], budget: number) =>
    exceeded({ budget }, { ...limits, currency_limits }).map(({ code }) => code)
  assert.deepEqual(codesOf([other], 11_700), [])
  assert.deepEqual(codesOf([other, own], 11_600), [])
  assert.deepEqual(codesOf([other, own], 11_601), ['change_amount_exceeded'])
  // The general limit applies where the currency has none.
  assert.deepEqual(codesOf([own], 11_901), ['change_amount_exceeded', 'daily_total_exceeded'])
})

it('names an unknown amount only if the policy limits amounts', () => {
  assert.deepEqual(exceeded({ inMotion: null }, { change_percent_max: 0 }), [])
  for (const limits of [{ change_minor_max: 1 }, { daily_total_minor_max: 1 }]) {
    const codes = exceeded({ inMotion: null }, limits).map(({ code }) => code)
    assert.deepEqual(codes, ['budget_unknown'])
  }
})

it('limits the totals of the last 7 and 30 days', () => {
  const limits = { weekly_total_minor_max: 50_000, monthly_total_minor_max: 100_000 }
  const codesOf = (weekMinor: number, monthMinor: number) =>
    exceeded({ budget: 12_500 }, limits, { weekMinor, monthMinor }).map(({ code }) => code)
  assert.deepEqual(codesOf(49_000, 99_000), [])
  assert.deepEqual(codesOf(49_001, 99_000), ['weekly_total_exceeded'])
  assert.deepEqual(codesOf(49_000, 99_001), ['monthly_total_exceeded'])
})

it('limits one daily budget absolutely, and by what it was at the connection', () => {
  const codesOf = (given: Case, limits: Partial<PolicyLimits>) =>
    exceeded(given, limits).map(({ code }) => code)
  const absolute = { entity_budget_minor_max: 12_000 }
  assert.deepEqual(codesOf({ budget: 12_000 }, absolute), [])
  assert.deepEqual(codesOf({ budget: 12_001 }, absolute), ['entity_budget_exceeded'])
  // Getting closer to the limit from above is possible.
  assert.deepEqual(codesOf({ budget: 12_001, current: 20_000 }, absolute), [])
  const times = { entity_budget_times_max: 5 }
  assert.deepEqual(codesOf({ budget: 50_000, connection: 10_000 }, times), [])
  assert.deepEqual(codesOf({ budget: 50_001, connection: 10_000 }, times), [
    'entity_budget_exceeded',
  ])
  assert.deepEqual(codesOf({ budget: 57_501 }, times), ['entity_budget_exceeded'])
})

it('counts pauses that stop the account as one of the whole account', () => {
  let type: 'pause' | 'decrease_budget' | 'increase_budget' = 'pause'
  const codeOf = (spend: Partial<SpendChange> | null, percent: number | null = 50) => {
    const limits = { ...DEFAULT_POLICY.limits, active_spend_percent_max: percent }
    const change = spend && { ...NOTHING_STOPPED, ...spend }
    return findWholeAccountStop(type, change, limits)?.code ?? null
  }
  assert.equal(codeOf({ stoppedMinor: 5_000 }), null)
  assert.equal(codeOf({ stoppedMinor: 5_001 }), 'whole_account')
  assert.equal(codeOf({ stoppedMinor: 9_999 }, null), null)
  // 70 % of what was spent before agents paused 4,000 of it.
  const again = { activeMinor: 6_000, earlierMinor: 4_000, stoppedMinor: 3_000 }
  assert.equal(codeOf(again), 'whole_account')
  assert.equal(codeOf({ ...again, earlierMinor: 0, activeMinor: 10_000 }), null)
  assert.equal(codeOf({ stopsLast: true }, null), 'whole_account')
  assert.equal(codeOf(null, null), 'whole_account')
  // A pause of what spends nothing stops nothing.
  assert.equal(codeOf({ earlierMinor: 9_999, stoppedMinor: 0 }), null)
  type = 'decrease_budget'
  assert.equal(codeOf(again), 'whole_account')
  assert.equal(codeOf(null), 'whole_account')
  assert.equal(codeOf(null, null), null)
  type = 'increase_budget'
  assert.equal(codeOf(again), null)
})
