import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { EXECUTION_MODES, type PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import { NO_CEILINGS, NOTHING_STOPPED } from '../../../testing/fixtures/agents.ts'
import { type CandidateAction, evaluateAction, type PolicyInput } from './evaluate-action.ts'
import { POLICY_REASON_CODES } from './policy-reasons.ts'
import { DEFAULT_POLICY } from './policy-store.ts'

const CAMPAIGN: EntityState = {
  type: 'campaign',
  id: '901',
  name: 'Autumn',
  parent_id: '900',
  status: 'active',
  daily_budget_minor: 10_000,
  version: 7,
}
const NOON = new Date('2026-11-21T12:00:00.000Z')
const NO_LIMITS: PolicyLimits = {
  ...DEFAULT_POLICY.limits,
  change_percent_max: null,
  change_minor_max: null,
  daily_total_minor_max: null,
  actions_per_day_max: null,
  ...NO_CEILINGS,
}
type Mode = (typeof EXECUTION_MODES)[number]

interface Case {
  mode?: Mode
  inMotion?: number | null
  limits?: Partial<PolicyLimits>
  entity?: Partial<EntityState> | null
  used?: [changedMinor: number, actionCount: number]
  spend?: Partial<PolicyInput['spend']>
}

function policyInput(given: Case) {
  const { mode = 'auto_with_limits', limits = {}, entity, used = [0, 0], inMotion = 0 } = given
  const input: PolicyInput = {
    dayStartBudgetMinor: null,
    budgetInMotionMinor: inMotion,
    policy: {
      version: 3,
      execution_mode: mode,
      changed_at: null,
      limits: { ...NO_LIMITS, ...limits },
    },
    entity: entity === null ? null : { ...CAMPAIGN, ...entity },
    connectionBudgetMinor: null,
    spend: given.spend === null ? null : { ...NOTHING_STOPPED, ...given.spend },
    used: { changedMinor: used[0], weekMinor: 0, monthMinor: 0, actionCount: used[1] },
    account: { currency: 'EUR', timeZone: 'Europe/Berlin' },
    at: NOON,
  }
  return input
}

type Type = CandidateAction['type']

function actionOf(type: Type, budget?: number, target: EntityState['type'] = 'campaign') {
  const params = budget === undefined ? {} : { new_daily_budget_minor: budget }
  return { type, target: { type: target, id: '901' }, params } satisfies CandidateAction
}

/** The decision and its reason codes. */
function decide(action: CandidateAction, given: Case = {}): string {
  const { decision, reasons } = evaluateAction(action, policyInput(given))
  return [decision, ...reasons.map(({ code }) => code)].join(' ')
}

const RAISED = { totalAfterMinor: 12_000, raisesTotal: true }
const TO_12_000 = actionOf('increase_budget', 12_000)

it('allows every type within all limits in auto_with_limits', () => {
  assert.equal(decide(TO_12_000), 'allow within_limits')
  assert.equal(decide(actionOf('decrease_budget', 1)), 'allow within_limits')
  assert.equal(decide(actionOf('pause')), 'allow within_limits')
  assert.equal(decide(actionOf('resume'), { entity: { status: 'paused' } }), 'allow within_limits')
})

it('requires approval in the other modes, even within the limits', () => {
  for (const mode of ['suggest_only', 'ask'] as const) {
    for (const action of [TO_12_000, actionOf('decrease_budget', 9_999), actionOf('pause')]) {
      assert.equal(decide(action, { mode }), `require_approval ${mode}`)
    }
  }
})

const BLOCKED: [string, CandidateAction, Case][] = [
  ['type_not_allowed', actionOf('pause'), { limits: { allowed_types: ['resume'] } }],
  ['entity_not_found', TO_12_000, { entity: null }],
  ['already_paused', actionOf('pause'), { entity: { status: 'paused' } }],
  ['already_active', actionOf('resume'), {}],
  [
    'account_without_budget',
    actionOf('increase_budget', 12_000, 'ad_account'),
    { entity: { type: 'ad_account' } },
  ],
  [
    'account_without_budget',
    actionOf('decrease_budget', 5_000, 'ad_account'),
    { entity: { type: 'ad_account', daily_budget_minor: null } },
  ],
  ['no_daily_budget', TO_12_000, { entity: { daily_budget_minor: null } }],
  ['no_daily_budget', actionOf('decrease_budget', 1), { entity: { daily_budget_minor: null } }],
  ['not_an_increase', actionOf('increase_budget', 10_000), {}],
  ['not_an_increase', actionOf('increase_budget', 9_999), {}],
  ['not_an_increase', actionOf('increase_budget'), {}],
  ['not_a_decrease', actionOf('decrease_budget', 10_000), {}],
  ['not_a_decrease', actionOf('decrease_budget', 10_001), {}],
  ['not_a_decrease', actionOf('decrease_budget'), {}],
  [
    'type_not_allowed entity_not_found',
    actionOf('pause'),
    { limits: { allowed_types: [] }, entity: null },
  ],
]

it('blocks impossible and disallowed actions in every mode, for that reason alone', () => {
  for (const mode of EXECUTION_MODES) {
    for (const [codes, action, given] of BLOCKED) {
      const limits = { change_minor_max: 0, ...given.limits }
      assert.equal(decide(action, { ...given, limits, mode }), `block ${codes}`)
    }
  }
})

const EXCEEDED: [string, CandidateAction, Case][] = [
  ['change_percent_exceeded', TO_12_000, { limits: { change_percent_max: 19 } }],
  [
    'change_percent_exceeded',
    actionOf('decrease_budget', 7_999),
    { limits: { change_percent_max: 20 } },
  ],
  ['change_amount_exceeded', TO_12_000, { limits: { change_minor_max: 1_999 } }],
  [
    'change_amount_exceeded',
    actionOf('decrease_budget', 8_999),
    { limits: { change_minor_max: 1_000 } },
  ],
  [
    'daily_total_exceeded',
    TO_12_000,
    { limits: { daily_total_minor_max: 9_999 }, used: [8_000, 4] },
  ],
  ['daily_total_exceeded', TO_12_000, { limits: { daily_total_minor_max: 0 } }],
  [
    'actions_per_day_exceeded',
    actionOf('pause'),
    { limits: { actions_per_day_max: 4 }, used: [0, 4] },
  ],
  ['actions_per_day_exceeded', actionOf('pause'), { limits: { actions_per_day_max: 0 } }],
  [
    'budget_unknown',
    actionOf('resume'),
    { entity: { status: 'paused' }, inMotion: null, limits: { change_minor_max: 1 } },
  ],
  ['whole_account', actionOf('pause', undefined, 'ad_account'), { entity: { type: 'ad_account' } }],
  [
    'whole_account',
    actionOf('resume', undefined, 'ad_account'),
    { entity: { type: 'ad_account', status: 'paused' } },
  ],
  [
    'change_percent_exceeded change_amount_exceeded daily_total_exceeded actions_per_day_exceeded',
    TO_12_000,
    {
      limits: {
        change_percent_max: 1,
        change_minor_max: 1,
        daily_total_minor_max: 1,
        actions_per_day_max: 1,
      },
      used: [1, 1],
    },
  ],
]

it('requires approval for an exceeded limit, and names it in every mode', () => {
  for (const [codes, action, given] of EXCEEDED) {
    assert.equal(decide(action, given), `require_approval ${codes}`)
    for (const mode of ['suggest_only', 'ask'] as const) {
      assert.equal(decide(action, { ...given, mode }), `require_approval ${mode} ${codes}`)
    }
  }
})

it('allows an action that meets a limit exactly', () => {
  const limits = {
    change_percent_max: 20,
    change_minor_max: 2_000,
    daily_total_minor_max: 10_000,
    actions_per_day_max: 5,
  }
  assert.equal(decide(TO_12_000, { limits, used: [8_000, 4] }), 'allow within_limits')
  assert.equal(
    decide(actionOf('decrease_budget', 8_000), { limits, used: [8_000, 4] }),
    'allow within_limits',
  )
})

it('compares a percentage before rounding', () => {
  const entity = { daily_budget_minor: 2_000_000_000 }
  const limits = { change_percent_max: 1 }
  const most = actionOf('increase_budget', 2_020_000_000)
  assert.equal(decide(most, { entity, limits }), 'allow within_limits')
  const tooMuch = actionOf('increase_budget', 2_020_000_001)
  assert.equal(decide(tooMuch, { entity, limits }), 'require_approval change_percent_exceeded')
  const { evidence } = evaluateAction(tooMuch, policyInput({ entity, limits }))
  assert.equal(evidence.change_percent, 1.01)
})

it('ignores limits on amounts for actions that change no budget', () => {
  const limits = { change_percent_max: 0, change_minor_max: 0, daily_total_minor_max: 0 }
  assert.equal(decide(actionOf('pause'), { limits, used: [5_000, 1] }), 'allow within_limits')
})

it('requires approval in quiet hours', () => {
  const limits = { quiet_hours: { from: '13:00', until: '13:01' } }
  assert.equal(decide(TO_12_000, { limits }), 'require_approval quiet_hours')
  assert.equal(decide(TO_12_000, { limits, mode: 'ask' }), 'require_approval ask')
  const over = { quiet_hours: { from: '13:01', until: '13:00' } }
  assert.equal(decide(TO_12_000, { limits: over }), 'allow within_limits')
})

it('returns the input of the decision as evidence', () => {
  const { evidence, changeMinor } = evaluateAction(TO_12_000, policyInput({ used: [8_000, 4] }))
  assert.equal(changeMinor, 2_000)
  assert.deepEqual(evidence, {
    policy_version: 3,
    execution_mode: 'auto_with_limits',
    change_minor: 2_000,
    change_percent: 20,
    day_start_budget_minor: 10_000,
    set_in_motion_minor: null,
    changed_today_minor: 8_000,
    changed_week_minor: 0,
    changed_month_minor: 0,
    stopped_minor: 0,
    actions_today: 4,
    evaluated_at: NOON.toISOString(),
  })
})

it('proposes the current state with the change and the next version', () => {
  const changes = [
    [actionOf('pause'), { status: 'paused' }],
    [TO_12_000, { daily_budget_minor: 12_000 }],
    [actionOf('decrease_budget', 10_001), { daily_budget_minor: 10_001 }],
  ] as const
  for (const [action, change] of changes) {
    const { before, proposed } = evaluateAction(action, policyInput({}))
    assert.deepEqual(before, CAMPAIGN)
    assert.deepEqual(proposed, { ...CAMPAIGN, ...change, version: 8 })
  }
  const { before, proposed } = evaluateAction(TO_12_000, policyInput({ entity: null }))
  assert.deepEqual([before, proposed], [null, null])
})

it('writes amounts and limits into the reasons', () => {
  const limits = {
    change_percent_max: 10,
    change_minor_max: 1_500,
    daily_total_minor_max: 9_000,
    actions_per_day_max: 4,
  }
  const { reasons } = evaluateAction(TO_12_000, policyInput({ limits, used: [8_000, 4] }))
  assert.deepEqual(
    reasons.map(({ message }) => message),
    [
      'It changes the daily budget by 20%; the policy allows 10% per action.',
      'It changes the daily budget by €20.00; the policy allows €15.00 per action.',
      'Budget changes of today would total €100.00; the policy allows €90.00 per day.',
      'It would be action 5 of today; the policy allows 4 per day.',
    ],
  )
})

it('covers every reason code', () => {
  const cases: [CandidateAction, Case][] = [
    ...[...BLOCKED, ...EXCEEDED].map(
      ([, action, given]) => [action, given] as [CandidateAction, Case],
    ),
    [TO_12_000, {}],
    [TO_12_000, { mode: 'ask' }],
    [TO_12_000, { mode: 'suggest_only' }],
    [TO_12_000, { limits: { weekly_total_minor_max: 1, monthly_total_minor_max: 1 } }],
    [TO_12_000, { limits: { entity_budget_minor_max: 11_999 } }],
    [TO_12_000, { limits: { account_budget_minor_max: 11_999 }, spend: RAISED }],
    [TO_12_000, { limits: { quiet_hours: { from: '00:00', until: '00:00' } } }],
  ]
  const reached = cases.flatMap(([action, given]) =>
    evaluateAction(action, policyInput(given)).reasons.map(({ code }) => code),
  )
  assert.deepEqual([...new Set(reached)].sort(), [...POLICY_REASON_CODES].sort())
})
