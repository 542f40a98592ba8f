import Type, { type Static, type TProperties } from 'typebox'
import { INTEGER_MAX, stringEnum } from '../scalars.ts'
import { ACTION_STATUSES, ACTION_TYPES, ENTITY_STATUSES, ENTITY_TYPES, rowId } from './actions.ts'
import { DryRunSubmission, ProposalSubmission } from './proposals.ts'

/** The most days that get_performance can look back, and its default. */
export const PERFORMANCE_DAYS_MAX = 90
export const PERFORMANCE_DAYS = 7

/** Allows no other members: the ad account always comes from the credential. */
function strict<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false })
}

/**
 * The value of a filter that filters nothing. Strict converters of tool schemas make a model fill
 * every member, so each filter needs such a value.
 */
export const ANY = 'any'

/** An optional filter by one of several texts. */
export function filter<const Values extends readonly string[]>(
  values: Values,
  description: string,
) {
  return Type.Optional(stringEnum([...values, ANY], { description: `${description} any: all.` }))
}

/** The value of a filter; undefined if it is absent or `any`. */
export function filterValue<Value extends string>(given: Value | undefined) {
  return given === ANY ? undefined : (given as Exclude<Value, typeof ANY> | undefined)
}

/** The ID of an entity, or `any`. */
const EntityIdFilter = (description: string) =>
  Type.Optional(Type.String({ pattern: '^(any|[1-9][0-9]{0,19})$', description }))

/** Input of tools without arguments. */
export const NoInput = strict({})

const DateFilter = (description: string) =>
  Type.Optional(Type.String({ pattern: '^(any|[0-9]{4}-[0-9]{2}-[0-9]{2})$', description }))

const PERFORMANCE_LEVELS = ['campaign', 'ad_set', 'ad'] as const

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
  since: DateFilter('First day, YYYY-MM-DD, instead of days. any: days counts.'),
  until: DateFilter('Last day, at most 90 days with since. any: today.'),
  entity_type: filter(PERFORMANCE_LEVELS, 'Also the figures of each entity of this type.'),
  entity_id: EntityIdFilter('Only this entity, or those below it with entity_type. any: all.'),
  by_day: Type.Optional(Type.Boolean({ description: 'Also the days of each entity.' })),
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
  entity_type: filter(ENTITY_TYPES, 'Only entities of this type.'),
  status: filter(ENTITY_STATUSES, 'Only entities with this status of their own.'),
  parent_id: EntityIdFilter(
    'Only children of this entity, such as ad sets of a campaign. any: all.',
  ),
  name_contains: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'Only entities with this text in their name, in any case. Empty or any: all.',
    }),
  ),
  page: Type.Optional(ActionPage),
})
export type AccountStateInput = Static<typeof AccountStateInput>

/** Input of propose-actions as tools list it: the credential names the ad account. */
export const ProposalInput = strict(withoutAccount(ProposalSubmission.properties))

/** Input of dry_run_actions as tools list it. It accepts a whole proposal too. */
export const DryRunInput = strict({ actions: DryRunSubmission.properties.actions })

function withoutAccount<Properties extends { account_id: unknown }>({
  account_id: _,
  ...rest
}: Properties): Omit<Properties, 'account_id'> {
  return rest
}

/** The largest page of a list of actions, and its default. */
export const ACTIONS_PER_PAGE = 25

/** The query of a list of actions. */
export const ActionQuery = Type.Object({
  status: filter(ACTION_STATUSES, 'Only actions with this status.'),
  type: filter(ACTION_TYPES, 'Only actions of this type.'),
  entity_id: EntityIdFilter('Only actions on this entity. any: all.'),
  per_page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: ACTIONS_PER_PAGE,
      default: ACTIONS_PER_PAGE,
      description: 'Actions per page.',
    }),
  ),
  page: Type.Optional(ActionPage),
})

/** Input of list_actions. */
export const ActionListInput = strict({
  ...ActionQuery.properties,
  view: Type.Optional(
    stringEnum(['summary', 'full'], {
      description: 'full returns each action as get_action does. Default: summary.',
    }),
  ),
})

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
