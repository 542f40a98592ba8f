import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { EntityState } from '@signalbox/contract/agents/actions.ts'
import { EXECUTION_MODES, type PolicyLimits } from '@signalbox/contract/agents/policy.ts'
import { type CandidateAction, evaluateAction, type PolicyInput } from './evaluate-action.ts'
import { POLICY_REASON_CODES } from './policy-reasons.ts'
import { DEFAULT_POLICY } from './policy-store.ts'

const CAMPAIGN: EntityState = {
  ...{ type: 'campaign', id: '901', name: 'Autumn', parent_id: '900' },
  ...{ status: 'active', daily_budget_minor: 10_000, version: 7 },
}
const NOON = new Date('2026-11-21T12:00:00.000Z')
const NO_LIMITS: PolicyLimits = {
  ...DEFAULT_POLICY.limits,
  ...{ change_percent_max: null, change_minor_max: null },
  ...{ daily_total_minor_max: null, actions_per_day_max: null },
}

type Mode = (typeof EXECUTION_MODES)[number]

interface Case {
  mode?: Mode
  limits?: Partial<PolicyLimits>
  entity?: Partial<EntityState> | null
  used?: [changedMinor: number, actionCount: number]
}

function groundsOf({ mode = 'auto_with_limits', limits = {}, entity, used = [0, 0] }: Case) {
  const grounds: PolicyInput = {
    policy: {
      ...{ version: 3, execution_mode: mode, changed_at: null },
      limits: { ...NO_LIMITS, ...limits },
    },
    entity: entity === null ? null : { ...CAMPAIGN, ...entity },
    usedToday: { changedMinor: used[0], actionCount: used[1] },
    account: { currency: 'EUR', timeZone: 'Europe/Berlin' },
    at: NOON,
  }
  return grounds
}

type Type = CandidateAction['type']

function actionOf(type: Type, budget?: number, target: EntityState['type'] = 'campaign') {
  const params = budget === undefined ? {} : { new_daily_budget_minor: budget }
  return { type, target: { type: target, id: '901' }, params } satisfies CandidateAction
}

/** What is decided, and by which codes. */
function verdict(action: CandidateAction, given: Case = {}): string {
  const { decision, reasons } = evaluateAction(action, groundsOf(given))
  return [decision, ...reasons.map(({ code }) => code)].join(' ')
}

const TO_12_000 = actionOf('increase_budget', 12_000)

it('in auto_with_limits every type within all limits is allowed', () => {
  assert.equal(verdict(TO_12_000), 'allow within_limits')
  assert.equal(verdict(actionOf('decrease_budget', 1)), 'allow within_limits')
  assert.equal(verdict(actionOf('pause')), 'allow within_limits')
  assert.equal(verdict(actionOf('resume'), { entity: { status: 'paused' } }), 'allow within_limits')
})

it('in the other modes a person decides, whatever is within the limits', () => {
  for (const mode of ['suggest_only', 'ask'] as const) {
    for (const action of [TO_12_000, actionOf('decrease_budget', 9_999), actionOf('pause')]) {
      assert.equal(verdict(action, { mode }), `require_approval ${mode}`)
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

it('what cannot or may not be is blocked in every mode, by that reason alone', () => {
  for (const mode of EXECUTION_MODES) {
    for (const [codes, action, given] of BLOCKED) {
      const limits = { change_minor_max: 0, ...given.limits }
      assert.equal(verdict(action, { ...given, limits, mode }), `block ${codes}`)
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
        ...{ change_percent_max: 1, change_minor_max: 1 },
        ...{ daily_total_minor_max: 1, actions_per_day_max: 1 },
      },
      used: [1, 1],
    },
  ],
]

it('a limit that is exceeded asks for a person, and is named in every mode', () => {
  for (const [codes, action, given] of EXCEEDED) {
    assert.equal(verdict(action, given), `require_approval ${codes}`)
    for (const mode of ['suggest_only', 'ask'] as const) {
      assert.equal(verdict(action, { ...given, mode }), `require_approval ${mode} ${codes}`)
    }
  }
})

it('a limit that is met exactly is not exceeded', () => {
  const limits = {
    ...{ change_percent_max: 20, change_minor_max: 2_000 },
    ...{ daily_total_minor_max: 10_000, actions_per_day_max: 5 },
  }
  assert.equal(verdict(TO_12_000, { limits, used: [8_000, 4] }), 'allow within_limits')
  assert.equal(
    verdict(actionOf('decrease_budget', 8_000), { limits, used: [8_000, 4] }),
    'allow within_limits',
  )
})

it('a percentage is compared before it is rounded', () => {
  const entity = { daily_budget_minor: 2_000_000_000 }
  const limits = { change_percent_max: 1 }
  const most = actionOf('increase_budget', 2_020_000_000)
  assert.equal(verdict(most, { entity, limits }), 'allow within_limits')
  const tooMuch = actionOf('increase_budget', 2_020_000_001)
  assert.equal(verdict(tooMuch, { entity, limits }), 'require_approval change_percent_exceeded')
  const { evidence } = evaluateAction(tooMuch, groundsOf({ entity, limits }))
  assert.equal(evidence.change_percent, 1.01)
})

it('limits of money do not hold back what moves no money', () => {
  const limits = { change_percent_max: 0, change_minor_max: 0, daily_total_minor_max: 0 }
  assert.equal(verdict(actionOf('pause'), { limits, used: [5_000, 1] }), 'allow within_limits')
})

it('in quiet hours nothing runs without a person; elsewhere a person decides anyway', () => {
  const limits = { quiet_hours: { from: '13:00', until: '13:01' } }
  assert.equal(verdict(TO_12_000, { limits }), 'require_approval quiet_hours')
  assert.equal(verdict(TO_12_000, { limits, mode: 'ask' }), 'require_approval ask')
  const over = { quiet_hours: { from: '13:01', until: '13:00' } }
  assert.equal(verdict(TO_12_000, { limits: over }), 'allow within_limits')
})

it('the evidence has everything that the decision was made from', () => {
  const { evidence, changeMinor } = evaluateAction(TO_12_000, groundsOf({ used: [8_000, 4] }))
  assert.equal(changeMinor, 2_000)
  assert.deepEqual(evidence, {
    policy_version: 3,
    execution_mode: 'auto_with_limits',
    change_minor: 2_000,
    change_percent: 20,
    changed_today_minor: 8_000,
    actions_today: 4,
    evaluated_at: NOON.toISOString(),
  })
})

it('the proposed state is the one before with the change, one version on', () => {
  const changes = [
    [actionOf('pause'), { status: 'paused' }],
    [TO_12_000, { daily_budget_minor: 12_000 }],
    [actionOf('decrease_budget', 10_001), { daily_budget_minor: 10_001 }],
  ] as const
  for (const [action, change] of changes) {
    const { before, proposed } = evaluateAction(action, groundsOf({}))
    assert.deepEqual(before, CAMPAIGN)
    assert.deepEqual(proposed, { ...CAMPAIGN, ...change, version: 8 })
  }
  const { before, proposed } = evaluateAction(TO_12_000, groundsOf({ entity: null }))
  assert.deepEqual([before, proposed], [null, null])
})

it('reasons are sentences with the figures that a person needs', () => {
  const limits = {
    ...{ change_percent_max: 10, change_minor_max: 1_500 },
    ...{ daily_total_minor_max: 9_000, actions_per_day_max: 4 },
  }
  const { reasons } = evaluateAction(TO_12_000, groundsOf({ limits, used: [8_000, 4] }))
  assert.deepEqual(
    reasons.map(({ message }) => message),
    [
      'It moves the daily budget by 20 %; the policy allows 10 % at once.',
      'It moves the daily budget by €20.00; the policy allows €15.00 at once.',
      'With it €100.00 would be moved today; the policy allows €90.00 a day.',
      'It would be action number 5 of today; the policy allows 4 a day.',
    ],
  )
})

it('every code is reached by one of the cases here', () => {
  const cases: [CandidateAction, Case][] = [
    ...[...BLOCKED, ...EXCEEDED].map(
      ([, action, given]) => [action, given] as [CandidateAction, Case],
    ),
    [TO_12_000, {}],
    [TO_12_000, { mode: 'ask' }],
    [TO_12_000, { mode: 'suggest_only' }],
    [TO_12_000, { limits: { quiet_hours: { from: '00:00', until: '00:00' } } }],
  ]
  const reached = cases.flatMap(([action, given]) =>
    evaluateAction(action, groundsOf(given)).reasons.map(({ code }) => code),
  )
  assert.deepEqual([...new Set(reached)].sort(), [...POLICY_REASON_CODES].sort())
})
