import Type, { type Static, type TProperties } from 'typebox'
import { described, INTEGER_MAX } from '../scalars.ts'
import { ActionStatus, ENTITY_ID_PATTERN, EntityStatus, EntityType, rowId } from './actions.ts'
import { DryRunSubmission } from './proposals.ts'

/** The most days that get_performance can look back, and its default. */
const PERFORMANCE_DAYS_MAX = 90
export const PERFORMANCE_DAYS = 7

/** Allows no other members: the ad account always comes from the credential. */
function strict<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false })
}

/** Input of tools without arguments. */
export const NoInput = strict({})

/** Input of get_performance. */
export const PerformanceInput = strict({
  days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: PERFORMANCE_DAYS_MAX,
      default: PERFORMANCE_DAYS,
      description: 'Number of days up to and including today (UTC).',
    }),
  ),
})
export type PerformanceInput = Static<typeof PerformanceInput>

export const ActionPage = Type.Integer({
  minimum: 1,
  maximum: INTEGER_MAX,
  default: 1,
  description: 'Counted from 1; see has_more.',
})

/** Input of get_account_state: which entities to list. */
export const AccountStateInput = strict({
  entity_type: Type.Optional(described(EntityType, 'Only entities of this type.')),
  status: Type.Optional(described(EntityStatus, 'Only entities with this status of their own.')),
  parent_id: Type.Optional(
    Type.String({
      pattern: ENTITY_ID_PATTERN,
      description: 'Only children of this entity, such as the ad sets of a campaign.',
    }),
  ),
  name_contains: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'Only entities with this text in their name, in any case.',
    }),
  ),
  page: Type.Optional(ActionPage),
})
export type AccountStateInput = Static<typeof AccountStateInput>

/** Input of dry_run_actions as tools list it. It accepts a whole proposal too. */
export const DryRunInput = strict({
  actions: DryRunSubmission.properties.actions,
  account_id: DryRunSubmission.properties.account_id,
})

/** The query of a list of actions. */
export const ActionQuery = Type.Object({
  status: Type.Optional(described(ActionStatus, 'Only actions with this status.')),
  page: Type.Optional(ActionPage),
})

/** Input of list_actions. */
export const ActionListInput = strict(ActionQuery.properties)

/** Input of get_action and get_action_decision_receipt. */
export const ActionIdInput = strict({
  action_id: rowId('From the result of propose-actions, get_action_batch or list_actions.'),
})

/** Input of get_action_batch. */
export const BatchIdInput = strict({
  batch_id: rowId(
    'The proposal.id in the result of propose-actions, or the batch_id of an action.',
  ),
})
