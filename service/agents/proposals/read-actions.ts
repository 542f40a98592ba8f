import type { ActionListAnswer } from '@signalbox/contract/agents/action-list.ts'
import { ACTION_STATUSES, ACTION_TYPES } from '@signalbox/contract/agents/actions.ts'
import type {
  ActionAnswer,
  ActionBatchAnswer,
  ActionList,
  DecisionReceipt,
} from '@signalbox/contract/agents/proposals.ts'
import {
  ACTIONS_PER_PAGE,
  ActionListInput,
  ActionQuery,
  ANY,
  filterValue,
} from '@signalbox/contract/agents/tool-inputs.ts'
import { INTEGER_MAX } from '@signalbox/contract/scalars.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import type { AgentPrincipal } from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import type { Action } from './action.ts'
import { findAction, findActionsOfBatch, findActionsPage } from './action-store.ts'
import { type Batch, findBatch } from './batch-store.ts'
import { toActionSummary, toActionView, toBatchView } from './proposal-view.ts'
import { findReceipt, toReceiptView } from './receipt-store.ts'

/** The actions that a reader may see. */
export interface ReadScope {
  workspaceId: number
  /** Null for every ad account of the workspace. */
  adAccountId: number | null
}

/** An agent sees the one ad account of its credential. */
export function agentScope({ workspaceId, adAccountId }: AgentPrincipal): ReadScope {
  return { workspaceId, adAccountId }
}

const BATCH_NOT_FOUND =
  'There is no such batch. Use the proposal.id that the proposal returned, or the batch_id of an ' +
  'action.'
const ACTION_NOT_FOUND = 'There is no such action. List the actions to find its ID.'
const RECEIPT_NOT_FOUND =
  'This action has no receipt yet: it gets one when it is completed. Read the action, and ask ' +
  'again when its finished_at is set.'

/** The page is a number in the arguments of a tool, and text in a query. */
const queryValidator = new Validator(ActionQuery, {
  coerceTypes: true,
  members: {
    status: { error: `The status field must be one of: ${[...ACTION_STATUSES, ANY].join(', ')}.` },
    type: { error: `The type field must be one of: ${[...ACTION_TYPES, ANY].join(', ')}.` },
    entity_id: { error: 'The entity_id field must be the ID of an entity, in digits, or any.' },
    per_page: { error: `The per_page field must be an integer from 1 to ${ACTIONS_PER_PAGE}.` },
    page: { error: `The page field must be an integer from 1 to ${INTEGER_MAX}.` },
  },
})

/** Lists actions, newest first. Throws a 422 refusal for an invalid status or page. */
export async function listActions(
  { database }: ProposalContext,
  scope: ReadScope,
  query: unknown,
): Promise<ActionList> {
  const found = await findListed(database, scope, query)
  return { ...found, actions: found.actions.map(toActionView) }
}

const listValidator = new Validator(ActionListInput, { nullIsAbsent: true })

/** list_actions: as listActions, in the requested form. Throws a 422 for invalid arguments. */
export async function listActionsForAgent(
  { database }: ProposalContext,
  scope: ReadScope,
  input: unknown,
): Promise<ActionListAnswer> {
  const { view = 'summary', ...query } = listValidator.validate(input)
  const found = await findListed(database, scope, query)
  const actions =
    view === 'full' ? found.actions.map(toActionView) : found.actions.map(toActionSummary)
  return { ...found, actions }
}

async function findListed(database: ProposalContext['database'], scope: ReadScope, query: unknown) {
  const {
    page = 1,
    per_page: perPage = ACTIONS_PER_PAGE,
    ...given
  } = queryValidator.validate(query)
  const found = await findActionsPage(database, {
    ...scope,
    status: filterValue(given.status) ?? null,
    type: filterValue(given.type) ?? null,
    entityId: filterValue(given.entity_id) ?? null,
    offset: (page - 1) * perPage,
    // One extra row reveals whether there is another page.
    limit: perPage + 1,
  })
  return {
    actions: found.slice(0, perPage),
    page,
    per_page: perPage,
    has_more: found.length > perPage,
  }
}

/** Reads one action. Throws a 404 refusal if it is not in the scope. */
export async function readAction(
  { database }: ProposalContext,
  scope: ReadScope,
  actionId: unknown,
): Promise<ActionAnswer> {
  return { action: toActionView(await findActionInScope(database, scope, actionId)) }
}

/** Reads one batch with its actions. Throws a 404 refusal if it is not in the scope. */
export async function readBatch(
  context: ProposalContext,
  scope: ReadScope,
  batchId: unknown,
): Promise<ActionBatchAnswer> {
  const batch = await findBatchInScope(context, scope, batchId)
  const actions = await findActionsOfBatch(context.database, batch.id)
  return toBatchView(context, { batch, actions })
}

/** Throws a 404 refusal if the batch is not in the scope. */
export async function findBatchInScope(
  { database }: Pick<ProposalContext, 'database'>,
  scope: ReadScope,
  batchId: unknown,
): Promise<Batch> {
  const ref = { workspaceId: scope.workspaceId, batchId: parseRowId(batchId) ?? 0 }
  const batch = await findBatch(database, ref)
  if (batch && isInScope(scope, batch)) return batch
  throw Refusal.notFound(BATCH_NOT_FOUND)
}

/** Reads the receipt of a completed action. Throws a 404 refusal until it is completed. */
export async function readReceipt(
  { database }: Pick<ProposalContext, 'database'>,
  scope: ReadScope,
  actionId: unknown,
): Promise<DecisionReceipt> {
  const action = await findActionInScope(database, scope, actionId)
  const receipt = await findReceipt(database, { ...scope, actionId: action.id })
  if (receipt) return toReceiptView(action, receipt)
  throw Refusal.notFound(RECEIPT_NOT_FOUND)
}

async function findActionInScope(
  database: ProposalContext['database'],
  scope: ReadScope,
  given: unknown,
): Promise<Action> {
  const actionId = parseRowId(given) ?? 0
  const action = await findAction(database, { workspaceId: scope.workspaceId, actionId })
  if (action && isInScope(scope, action)) return action
  throw Refusal.notFound(ACTION_NOT_FOUND)
}

function isInScope(scope: ReadScope, { adAccountId }: { adAccountId: number }): boolean {
  return scope.adAccountId === null || scope.adAccountId === adAccountId
}
