import Type, { type Static } from 'typebox'
import { INTEGER_MAX, named, nullable, stringEnum } from '../scalars.ts'
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

const CurrencyLimits = named(
  'CurrencyLimits',
  Type.Object(
    {
      currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217.' }),
      change_minor_max: minor('As in the general limits, which apply if it is null.'),
      daily_total_minor_max: minor('As in the general limits, which apply if it is null.'),
    },
    { additionalProperties: false },
  ),
)
export type CurrencyLimits = Static<typeof CurrencyLimits>

const CURRENCIES_MAX = 50
const currencyLimits = Type.Array(CurrencyLimits, {
  maxItems: CURRENCIES_MAX,
  description: 'Replace the limits on amounts for ad accounts in one currency.',
})

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

export const PolicyLimits = named(
  'PolicyLimits',
  Type.Object(
    { ...limitMembers, currency_limits: currencyLimits },
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

export const PolicyAnswer = named('PolicyAnswer', Type.Object({ policy: ActionPolicy }))
export type PolicyAnswer = Static<typeof PolicyAnswer>

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
      limits: named(
        'PolicyLimitsSubmission',
        Type.Object(
          { ...limitMembers, currency_limits: Type.Optional(currencyLimits) },
          { additionalProperties: false },
        ),
      ),
    },
    { additionalProperties: false },
  ),
)
export type PolicySubmission = Static<typeof PolicySubmission>
