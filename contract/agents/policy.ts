import Type, { type Static } from 'typebox'
import { INTEGER_MAX, named, nullable } from '../scalars.ts'
import { ACTION_TYPES } from './actions.ts'

export const EXECUTION_MODES = ['suggest_only', 'ask', 'auto_with_limits'] as const
export type ExecutionMode = (typeof EXECUTION_MODES)[number]

const minor = (description: string) =>
  nullable(Type.Integer({ minimum: 0, maximum: INTEGER_MAX, description }))
const time = (description: string) =>
  Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description })

export const PolicyLimits = named(
  'PolicyLimits',
  Type.Object(
    {
      change_percent_max: nullable(
        Type.Integer({
          minimum: 0,
          maximum: 1_000,
          description: 'The largest change of one budget, of what it was. Null: no limit.',
        }),
      ),
      change_minor_max: minor('The largest change of one budget, in minor units. Null: no limit.'),
      daily_total_minor_max: minor(
        'The largest sum of changes of one ad account in its day, in minor units. Null: no limit.',
      ),
      actions_per_day_max: nullable(
        Type.Integer({ minimum: 0, maximum: 10_000, description: 'Of one ad account in its day.' }),
      ),
      allowed_types: Type.Array(Type.Enum([...ACTION_TYPES]), {
        maxItems: ACTION_TYPES.length,
        uniqueItems: true,
        description: 'Every other type is blocked in any mode.',
      }),
      quiet_hours: nullable(
        Type.Object(
          { from: time('First minute, HH:MM.'), until: time('First minute after, HH:MM.') },
          {
            additionalProperties: false,
            description: 'In the time zone of the ad account; nothing runs without a person then.',
          },
        ),
      ),
    },
    { additionalProperties: false },
  ),
)
export type PolicyLimits = Static<typeof PolicyLimits>

/** How a workspace lets its agents act. */
export const ActionPolicy = named(
  'ActionPolicy',
  Type.Object({
    version: Type.Integer({
      minimum: 0,
      description: 'Increases with every change; 0: never changed.',
    }),
    execution_mode: Type.Enum([...EXECUTION_MODES], {
      description:
        'suggest_only: a person decides and carries it out elsewhere. ask: what a person ' +
        'approves is carried out. auto_with_limits: what is within the limits is carried out at ' +
        'once, and a person decides on the rest.',
    }),
    limits: PolicyLimits,
    changed_at: nullable(Type.String({ format: 'date-time' })),
  }),
)
export type ActionPolicy = Static<typeof ActionPolicy>

export const PolicyAnswer = named('PolicyAnswer', Type.Object({ policy: ActionPolicy }))
export type PolicyAnswer = Static<typeof PolicyAnswer>

/** What an owner sends to change it: both members, whole. */
export const PolicySubmission = named(
  'PolicySubmission',
  Type.Object(
    {
      version: Type.Integer({
        minimum: 0,
        description: 'The version that was shown; 409 when it has changed since.',
      }),
      execution_mode: Type.Enum([...EXECUTION_MODES]),
      limits: PolicyLimits,
    },
    { additionalProperties: false },
  ),
)
export type PolicySubmission = Static<typeof PolicySubmission>
