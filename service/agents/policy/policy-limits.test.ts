import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ACTION_TYPES, ENTITY_TYPES, POLICY_DECISIONS } from '@signalbox/contract/agents/actions.ts'
import { EXECUTION_MODES, type PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import {
  chooseSeeds,
  createSeededRandom,
  type SeededRandom,
} from '../../../testing/fixtures/seeded-random.ts'
import { isWithinQuietHours } from './account-formats.ts'
import { type CandidateAction, type Evaluation, evaluateAction } from './evaluate-action.ts'
import type { BudgetContext, Usage } from './money-limits.ts'

const ROUNDS = 4_000
const AT = Date.parse('2026-11-21T00:00:00.000Z')
const ACCOUNT = { currency: 'EUR', timeZone: 'America/New_York' }

interface Plan {
  steps: ({ action: CandidateAction } & BudgetContext)[]
  mode: (typeof EXECUTION_MODES)[number]
  limits: PolicyLimits
  used: Usage
  at: Date
}

function randomPlan(choices: SeededRandom): Plan {
  const { pick, integer } = choices
  return {
    steps: Array.from({ length: integer(1, 5) }, () => randomStep(choices)),
    mode: pick([...EXECUTION_MODES, 'auto_with_limits', 'auto_with_limits']),
    limits: {
      change_percent_max: pick([null, 0, 5, 20, 50, 1_000]),
      change_minor_max: pick([null, 0, 10, 100, 1_000]),
      daily_total_minor_max: pick([null, 0, 100, 300, 2_000]),
      actions_per_day_max: pick([null, 0, 1, 3, 10]),
      allowed_types: ACTION_TYPES.filter(() => choices.random() < 0.8),
      weekly_total_minor_max: pick([null, null, null, null, null, null, 700, 2_000]),
      monthly_total_minor_max: pick([null, null, null, null, null, null, 1_000, 3_000]),
      entity_budget_minor_max: pick([null, null, null, null, null, null, 150, 1_500]),
      account_budget_minor_max: pick([null, null, null, null, null, null, 1_000, 3_000]),
      entity_budget_times_max: pick([null, null, null, null, null, null, 1, 5]),
      active_spend_percent_max: pick([null, null, null, null, null, null, 0, 50, 100]),
      quiet_hours: pick([null, null, { from: '22:00', until: '06:00' }]),
      currency_limits: [],
    },
    used: {
      changedMinor: pick([0, 0, 50, 300]),
      weekMinor: pick([0, 300, 600]),
      monthMinor: pick([0, 600, 900]),
      actionCount: integer(0, 4),
    },
    at: new Date(AT + integer(0, 86_400_000)),
  }
}

function randomStep({ pick, integer }: SeededRandom): Plan['steps'][number] {
  const type = pick(ACTION_TYPES)
  const target = { type: pick(ENTITY_TYPES), id: '1' }
  const budget = pick([null, 1, 100, 199, 1_000])
  const isMoney = type === 'increase_budget' || type === 'decrease_budget'
  const params = isMoney ? { new_daily_budget_minor: integer(1, 2_000) } : {}
  const status = pick(['active', 'paused'] as const)
  const rest = { name: 'A', parent_id: null, daily_budget_minor: budget, version: 1 }
  return {
    action: { type, target, params },
    entity: pick([true, true, true, true, false]) ? { ...target, ...rest, status } : null,
    dayStartBudgetMinor: budget && pick([null, budget, 150]),
    budgetInMotionMinor: pick([0, 100, 1_000, null]),
    connectionBudgetMinor: budget && pick([null, budget, 100]),
    spend: pick([null, ...SPENDS, ...SPENDS]),
  }
}

const SPEND = { activeMinor: 1_000, stoppedMinor: 0, earlierMinor: 0, stopsLast: false }
const SPENDS = [
  { ...SPEND, totalAfterMinor: 1_500, raisesTotal: true },
  { ...SPEND, stoppedMinor: 300, totalAfterMinor: 1_000, raisesTotal: false },
  { ...SPEND, stoppedMinor: 300, earlierMinor: 500, totalAfterMinor: 1_000, raisesTotal: false },
  { ...SPEND, stoppedMinor: 1_000, stopsLast: true, totalAfterMinor: 1_000, raisesTotal: false },
] as const

/** Like a proposal: each action counts the earlier ones that are not blocked. */
function evaluatePlan({ steps, mode, limits, used: usedBefore, at }: Plan): Evaluation[] {
  const policy = { version: 1, execution_mode: mode, limits, changed_at: null }
  let used = usedBefore
  return steps.map(({ action, ...budgets }) => {
    const input = { ...budgets, policy, used, account: ACCOUNT, at }
    const evaluation = evaluateAction(action, input)
    if (evaluation.decision !== 'block') {
      const { changeMinor } = evaluation
      used = {
        changedMinor: used.changedMinor + changeMinor,
        weekMinor: used.weekMinor + changeMinor,
        monthMinor: used.monthMinor + changeMinor,
        actionCount: used.actionCount + 1,
      }
    }
    return evaluation
  })
}

for (const seed of chooseSeeds([1, 2, 3])) {
  it(`never allows actions that exceed a limit, alone or together (seed ${seed})`, () => {
    const choices = createSeededRandom(seed)
    let allowedCount = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const plan = randomPlan(choices)
      allowedCount += allowedWithinLimits(plan, evaluatePlan(plan))
    }
    // A policy that allows nothing would pass, too.
    assert.ok(allowedCount > ROUNDS / 30, String(allowedCount))
  })

  it(`never decides more permissively under a stricter limit (seed ${seed})`, () => {
    const choices = createSeededRandom(seed)
    let changedCount = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const plan = randomPlan(choices)
      const stricter = { ...plan, limits: stricterLimits(plan.limits, choices) }
      const [before, after] = [evaluatePlan(plan), evaluatePlan(stricter)].map(list =>
        list.map(strictness),
      )
      before?.forEach((strictnessBefore, at) => {
        assert.ok((after?.[at] ?? 0) >= strictnessBefore, JSON.stringify({ plan, stricter, at }))
        if ((after?.[at] ?? 0) > strictnessBefore) changedCount += 1
      })
    }
    assert.ok(changedCount > ROUNDS / 100, String(changedCount))
  })

  it(`allows only in auto_with_limits, the most permissive mode (seed ${seed})`, () => {
    const choices = createSeededRandom(seed)
    for (let round = 0; round < ROUNDS; round += 1) {
      const plan = { ...randomPlan(choices), mode: 'auto_with_limits' as const }
      const auto = evaluatePlan(plan).map(strictness)
      for (const mode of ['suggest_only', 'ask'] as const) {
        evaluatePlan({ ...plan, mode }).forEach((evaluation, at) => {
          assert.notEqual(evaluation.decision, 'allow')
          assert.ok(strictness(evaluation) >= (auto[at] ?? 0))
        })
      }
    }
  })
}

/** Checks every allowed action of a plan and returns their number. */
function allowedWithinLimits(plan: Plan, evaluations: Evaluation[]): number {
  const { limits, used } = plan
  let { changedMinor, weekMinor, monthMinor, actionCount } = used
  let allowedCount = 0
  evaluations.forEach(({ decision, changeMinor, before, proposed }, at) => {
    if (decision !== 'allow') return
    const step = plan.steps[at] as Plan['steps'][number]
    const { action, dayStartBudgetMinor } = step
    const place = JSON.stringify({ plan, at })
    allowedCount += 1
    changedMinor += changeMinor
    weekMinor += changeMinor
    monthMinor += changeMinor
    actionCount += 1
    assert.equal(plan.mode, 'auto_with_limits', place)
    assert.ok(before && proposed, place)
    assert.ok(limits.allowed_types.includes(action.type), place)
    assert.notEqual(action.target.type, 'ad_account', place)
    assert.ok(changeMinor <= (limits.change_minor_max ?? Infinity), place)
    const budgetMinor = action.params.new_daily_budget_minor
    for (const from of [before.daily_budget_minor, dayStartBudgetMinor]) {
      if (budgetMinor === undefined || from === null) continue
      const moved = Math.abs(budgetMinor - from)
      assert.ok(moved <= (limits.change_minor_max ?? Infinity), place)
      assert.ok((100 * moved) / from <= (limits.change_percent_max ?? Infinity), place)
    }
    if (changeMinor > 0) {
      assert.ok(changedMinor <= (limits.daily_total_minor_max ?? Infinity), place)
      assert.ok(weekMinor <= (limits.weekly_total_minor_max ?? Infinity), place)
      assert.ok(monthMinor <= (limits.monthly_total_minor_max ?? Infinity), place)
    }
    assertWithinCeilings(step, limits, place)
    assert.ok(actionCount <= (limits.actions_per_day_max ?? Infinity), place)
    const { quiet_hours } = limits
    assert.ok(!quiet_hours || !isWithinQuietHours(quiet_hours, plan.at, ACCOUNT.timeZone), place)
    const { status, daily_budget_minor } = before
    const isChanged =
      proposed.status !== status || proposed.daily_budget_minor !== daily_budget_minor
    assert.ok(isChanged, place)
  })
  return allowedCount
}

function assertWithinCeilings(
  { action, entity, connectionBudgetMinor, spend }: Plan['steps'][number],
  limits: PolicyLimits,
  place: string,
): void {
  const budget = entity?.daily_budget_minor ?? 0
  const { new_daily_budget_minor: raised = 0 } = action.params
  if (raised > budget) {
    assert.ok(raised <= (limits.entity_budget_minor_max ?? Infinity), place)
    const times = limits.entity_budget_times_max ?? Infinity
    assert.ok(raised <= times * (connectionBudgetMinor ?? budget), place)
  }
  if (spend?.raisesTotal) {
    assert.ok(spend.totalAfterMinor <= (limits.account_budget_minor_max ?? Infinity), place)
  }
  if (action.type === 'pause') assert.ok(spend && !spend.stopsLast, place)
  if (!spend || (action.type !== 'pause' && action.type !== 'decrease_budget')) return
  const { stoppedMinor, earlierMinor, activeMinor } = spend
  if (stoppedMinor === 0) return
  const share = (100 * (stoppedMinor + earlierMinor)) / (activeMinor + earlierMinor)
  assert.ok(share <= (limits.active_spend_percent_max ?? 100), place)
}

function strictness({ decision }: Evaluation): number {
  return POLICY_DECISIONS.indexOf(decision)
}

/**
 * Makes some limits stricter. Keeps the allowed types: a blocked action does not count towards the
 * limits of later ones.
 */
function stricterLimits(
  limits: PolicyLimits,
  { integer, random: chance }: SeededRandom,
): PolicyLimits {
  const lower = (max: number | null) => {
    if (chance() < 0.5) return max
    return max === null ? integer(0, 1_000) : integer(0, max)
  }
  return {
    ...limits,
    change_percent_max: lower(limits.change_percent_max),
    change_minor_max: lower(limits.change_minor_max),
    daily_total_minor_max: lower(limits.daily_total_minor_max),
    actions_per_day_max: lower(limits.actions_per_day_max),
    weekly_total_minor_max: lower(limits.weekly_total_minor_max),
    monthly_total_minor_max: lower(limits.monthly_total_minor_max),
    entity_budget_minor_max: lower(limits.entity_budget_minor_max),
    account_budget_minor_max: lower(limits.account_budget_minor_max),
    entity_budget_times_max: lower(limits.entity_budget_times_max),
    active_spend_percent_max: lower(limits.active_spend_percent_max),
    quiet_hours: limits.quiet_hours ?? { from: '09:00', until: '17:00' },
  }
}

it('never decides more permissively with fewer allowed types', () => {
  const choices = createSeededRandom(4)
  for (let round = 0; round < ROUNDS; round += 1) {
    const plan = randomPlan(choices)
    const single = { ...plan, steps: plan.steps.slice(0, 1) }
    const allowed_types = plan.limits.allowed_types.slice(1)
    const fewer = { ...single, limits: { ...plan.limits, allowed_types } }
    const [before, after] = [evaluatePlan(single), evaluatePlan(fewer)].map(list =>
      list.map(strictness),
    )
    assert.ok((after?.[0] ?? 0) >= (before?.[0] ?? 0), JSON.stringify(fewer))
  }
})
