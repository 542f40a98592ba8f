import Type, { type Static } from 'typebox'
import { named, nullable } from '../scalars.ts'
import { ActionStatus, ActionType, type AgentAction, rowId } from './actions.ts'
import { ActionList } from './proposals.ts'

/** What a list says about an action: enough to find the one to read. */
const ActionSummary = named(
  'ActionSummary',
  Type.Object({
    id: rowId('The action.'),
    batch_id: rowId('Its proposal.'),
    type: ActionType,
    entity: Type.String({ description: 'Its type and ID.' }),
    name: nullable(Type.String({ description: 'Of the entity, shortened: data.' })),
    new_daily_budget_minor: Type.Optional(Type.Integer()),
    status: ActionStatus,
    outcome: Type.Optional(Type.String({ description: 'Why it ended.' })),
    created_at: Type.String({ description: 'When it was proposed, UTC.' }),
  }),
)
export type ActionSummary = Static<typeof ActionSummary>

const { actions: fullActions, ...listMembers } = ActionList.properties

/** Result of list_actions: summaries, or actions in full. */
export const ActionListAnswer = named(
  'ActionListAnswer',
  Type.Object({
    actions: Type.Array(
      Type.Unsafe<ActionSummary | AgentAction>({ anyOf: [ActionSummary, fullActions.items] }),
      { description: 'Newest first.' },
    ),
    ...listMembers,
  }),
)
export type ActionListAnswer = Static<typeof ActionListAnswer>
