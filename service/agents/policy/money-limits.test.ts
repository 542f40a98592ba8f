import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import type { PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import {
  computeMoneyChange,
  findExceededLimits,
  largestPercent,
  NO_AMOUNT_LIMITS,
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
const UNUSED = { changedMinor: 0, actionCount: 0 }

interface Case {
  /** Undefined for a resume. */
  budget?: number
  current?: number
  dayStart?: number | null
  inMotion?: number | null
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

function exceeded(given: Case, limits: Partial<PolicyLimits>, usedToday = UNUSED) {
  const unlimited = { change_percent_max: null, change_minor_max: null, actions_per_day_max: null }
  return findExceededLimits(changeOf(given), {
    limits: { ...DEFAULT_POLICY.limits, ...unlimited, daily_total_minor_max: null, ...limits },
    usedToday,
    currency: 'EUR',
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
