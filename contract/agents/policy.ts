import Type, { type Static } from 'typebox'
import { INTEGER_MAX, named, nullable, stringEnum, timestamp } from '../scalars.ts'
import { ACTION_TYPES, ActionType } from './actions.ts'

export const EXECUTION_MODES = ['suggest_only', 'ask', 'auto_with_limits'] as const
export type ExecutionMode = (typeof EXECUTION_MODES)[number]
export const ExecutionMode = named(
  'ExecutionMode',
  stringEnum(EXECUTION_MODES, {
    description:
      'suggest_only: a person decides and makes the change elsewhere. ask: approved actions are ' +
      'executed. auto_with_limits: actions within the limits are executed immediately, and all ' +
      'others require approval.',
  }),
)

/** The policy reasons that name an exceeded limit. */
export const LIMIT_CODES = [
  'change_percent_exceeded',
  'change_amount_exceeded',
  'daily_total_exceeded',
  'actions_per_day_exceeded',
  'budget_unknown',
  'weekly_total_exceeded',
  'monthly_total_exceeded',
  'entity_budget_exceeded',
  'account_budget_exceeded',
  'whole_account',
] as const
export type LimitCode = (typeof LIMIT_CODES)[number]

const minor = (description: string) =>
  nullable(Type.Integer({ minimum: 0, maximum: INTEGER_MAX, description }))
const time = (description: string) =>
  Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description })

const QuietHours = named(
  'QuietHours',
  Type.Object(
    { from: time('Start, HH:MM, inclusive.'), until: time('End, HH:MM, exclusive.') },
    {
      additionalProperties: false,
      description: 'In the time zone of the ad account; every action requires approval then.',
    },
  ),
)

const general = minor('Null: the general limit.')
const currencyMembers = {
  currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217.' }),
  change_minor_max: general,
  daily_total_minor_max: general,
}
const ceilings = (amount: (description: string) => ReturnType<typeof minor>) => ({
  weekly_total_minor_max: amount('For the last 7 days.'),
  monthly_total_minor_max: amount('For the last 30 days.'),
  entity_budget_minor_max: amount('The highest daily budget of one entity.'),
  account_budget_minor_max: amount('The highest daily budgets of the account together.'),
})

const CurrencyLimits = named(
  'CurrencyLimits',
  Type.Object({ ...currencyMembers, ...ceilings(() => general) }, { additionalProperties: false }),
)
export type CurrencyLimits = Static<typeof CurrencyLimits>

const CURRENCIES_MAX = 50
const CURRENCY_LIMITS = {
  maxItems: CURRENCIES_MAX,
  description: 'Replace the limits on amounts for ad accounts in one currency.',
} as const

const limitMembers = {
  change_percent_max: nullable(
    Type.Integer({
      minimum: 0,
      maximum: 1_000,
      description: 'The largest change of one budget, in percent. Null: no limit.',
    }),
  ),
  change_minor_max: minor('The largest change of one budget, in minor units. Null: no limit.'),
  daily_total_minor_max: minor(
    'The largest sum of changes to an ad account per day, in minor units. Null: no limit.',
  ),
  actions_per_day_max: nullable(
    Type.Integer({ minimum: 0, maximum: 10_000, description: 'Per ad account and day.' }),
  ),
  allowed_types: Type.Array(ActionType, {
    maxItems: ACTION_TYPES.length,
    uniqueItems: true,
    description: 'All other types are blocked in every mode.',
  }),
  quiet_hours: nullable(QuietHours),
}

const growthMembers = {
  entity_budget_times_max: nullable(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: 'The same, as a multiple of the budget before the first change of an agent.',
    }),
  ),
  active_spend_percent_max: nullable(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description:
        'Pausing or lowering more of the active budgets in 30 days, or pausing the last one, ' +
        'counts as pausing the whole ad account.',
    }),
  ),
}

export const PolicyLimits = named(
  'PolicyLimits',
  Type.Object(
    {
      ...limitMembers,
      ...ceilings(minor),
      ...growthMembers,
      currency_limits: Type.Array(CurrencyLimits, CURRENCY_LIMITS),
    },
    { additionalProperties: false },
  ),
)
export type PolicyLimits = Static<typeof PolicyLimits>

/** What the agents of a workspace may do. */
export const ActionPolicy = named(
  'ActionPolicy',
  Type.Object({
    version: Type.Integer({
      minimum: 0,
      description: 'Increases with every change; 0 if never changed.',
    }),
    execution_mode: ExecutionMode,
    limits: PolicyLimits,
    changed_at: nullable(Type.String({ format: 'date-time' })),
  }),
)
export type ActionPolicy = Static<typeof ActionPolicy>

/** A policy that permits more than the valid one, and waits. */
const PendingPolicy = named(
  'PendingPolicy',
  Type.Object({
    version: ActionPolicy.properties.version,
    execution_mode: ExecutionMode,
    limits: PolicyLimits,
    valid_from: timestamp('When it becomes valid.'),
    saved_at: timestamp('When it was saved.'),
    saved_by: nullable(Type.String({ description: 'Email; null for a deleted user.' })),
    may_confirm: Type.Boolean({ description: 'Whether the signed-in user may confirm it early.' }),
    may_not_confirm_reason: nullable(Type.String({ description: 'Why not, in one sentence.' })),
  }),
)

/** The policy as people see it. */
export const PolicyStateAnswer = named(
  'PolicyStateAnswer',
  Type.Object({
    policy: ActionPolicy,
    pending: nullable(PendingPolicy),
    wait_hours: Type.Integer({ description: 'How long a policy waits that permits more.' }),
    currencies: Type.Array(Type.String(), {
      description: 'ISO 4217, of the active ad accounts: what amounts of the limits mean.',
    }),
  }),
)
export type PolicyStateAnswer = Static<typeof PolicyStateAnswer>

/** Names the waiting policy that was displayed. */
export const PendingPolicyReference = named(
  'PendingPolicyReference',
  Type.Object(
    {
      version: Type.Integer({
        minimum: 1,
        maximum: INTEGER_MAX,
        description: 'The waiting version; 409 if another one waits, or none.',
      }),
    },
    { additionalProperties: false },
  ),
)

export const PolicyAnswer = named('PolicyAnswer', Type.Object({ policy: ActionPolicy }))
export type PolicyAnswer = Static<typeof PolicyAnswer>

/** Limits that older forms do not know: what is omitted stays as it is. */
const optionalCeilings = Type.Partial(Type.Object({ ...ceilings(minor) })).properties
const optionalGrowth = Type.Partial(Type.Object(growthMembers)).properties
const optionalOwn = Type.Partial(Type.Object({ ...ceilings(() => general) })).properties

const CurrencyLimitsSubmission = named(
  'CurrencyLimitsSubmission',
  Type.Object({ ...currencyMembers, ...optionalOwn }, { additionalProperties: false }),
)

const PolicyLimitsSubmission = named(
  'PolicyLimitsSubmission',
  Type.Object(
    {
      ...limitMembers,
      ...optionalCeilings,
      ...optionalGrowth,
      currency_limits: Type.Optional(Type.Array(CurrencyLimitsSubmission, CURRENCY_LIMITS)),
    },
    { additionalProperties: false },
  ),
)
export type PolicyLimitsSubmission = Static<typeof PolicyLimitsSubmission>

/** What an owner sends to change the policy: both members, complete. */
export const PolicySubmission = named(
  'PolicySubmission',
  Type.Object(
    {
      version: Type.Integer({
        minimum: 0,
        description: 'The version that was displayed; 409 if it has changed since.',
      }),
      execution_mode: ExecutionMode,
      limits: PolicyLimitsSubmission,
    },
    { additionalProperties: false },
  ),
)
export type PolicySubmission = Static<typeof PolicySubmission>
