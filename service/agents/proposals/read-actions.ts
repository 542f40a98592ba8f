import { ACTION_STATUSES, type ActionStatus } from '@signalbox/contract/agents/actions.ts'
import type {
  ActionAnswer,
  ActionBatch,
  ActionList,
  DecisionReceipt,
} from '@signalbox/contract/agents/proposals.ts'
import { FieldErrorList } from '../../http/field-errors.ts'
import { Refusal } from '../../http/refusal.ts'
import { parseRowId } from '../../util/row-id.ts'
import type { Action } from './action.ts'
import { findAction, findActionsOfBatch, findActionsPage } from './action-store.ts'
import { toActionView } from './action-view.ts'
import type { ProposalContext } from './agents-context.ts'
import { findBatch } from './batch-store.ts'
import { toBatchView } from './proposal-view.ts'
import { findReceipt, toReceiptView } from './receipt-store.ts'

/** Whose actions are read: those of one ad account, or (null) of the whole workspace. */
export interface ReadScope {
  workspaceId: number
  adAccountId: number | null
}

/** As they came from a query or from arguments. */
export interface ActionQuery {
  status?: unknown
  page?: unknown
}

export const ACTIONS_PER_PAGE = 25
/** A page number so high that no workspace has as many actions. */
const PAGE_MAX = 10_000_000

/** Newest first. Throws a 422 refusal for a status or a page that cannot be. */
export async function listActions(
  { database }: ProposalContext,
  scope: ReadScope,
  query: ActionQuery,
): Promise<ActionList> {
  const { status, page } = parseQuery(query)
  const found = await findActionsPage(database, {
    ...{ ...scope, status },
    offset: (page - 1) * ACTIONS_PER_PAGE,
    // One more than is shown says whether there is another page.
    limit: ACTIONS_PER_PAGE + 1,
  })
  return {
    actions: found.slice(0, ACTIONS_PER_PAGE).map(toActionView),
    page,
    per_page: ACTIONS_PER_PAGE,
    has_more: found.length > ACTIONS_PER_PAGE,
  }
}

function parseQuery({ status, page = 1 }: ActionQuery): {
  status: ActionStatus | null
  page: number
} {
  const faults = new FieldErrorList()
  const known = ACTION_STATUSES.find(one => one === status) ?? null
  if (status !== undefined && known === null) {
    faults.add('status', `The status field must be one of: ${ACTION_STATUSES.join(', ')}.`)
  }
  const number = parseRowId(page)
  if (number === null) faults.add('page', 'The page field must be an integer of at least 1.')
  if (!faults.isEmpty) throw Refusal.ofFields(faults.toErrors())
  return { status: known, page: Math.min(number ?? 1, PAGE_MAX) }
}

/** One action. Throws a 404 refusal for what the scope does not have. */
export async function readAction(
  { database }: ProposalContext,
  scope: ReadScope,
  actionId: unknown,
): Promise<ActionAnswer> {
  return { action: toActionView(await findActionInScope(database, scope, actionId)) }
}

/** One batch with its actions. Throws a 404 refusal for what the scope does not have. */
export async function readBatch(
  context: ProposalContext,
  scope: ReadScope,
  batchId: unknown,
): Promise<ActionBatch> {
  const { database } = context
  const name = { workspaceId: scope.workspaceId, batchId: parseRowId(batchId) ?? 0 }
  const batch = await findBatch(database, name)
  if (!batch || !isInScope(scope, batch)) throw Refusal.notFound('There is no such batch.')
  return toBatchView(context, { batch, actions: await findActionsOfBatch(database, batch.id) })
}

/** What can be shown of an action that has ended. Throws a 404 refusal until then. */
export async function readReceipt(
  { database }: ProposalContext,
  scope: ReadScope,
  actionId: unknown,
): Promise<DecisionReceipt> {
  const action = await findActionInScope(database, scope, actionId)
  const receipt = await findReceipt(database, { ...scope, actionId: action.id })
  if (receipt) return toReceiptView(action, receipt)
  throw Refusal.notFound('This action has no receipt yet: it gets one when it has ended.')
}

async function findActionInScope(
  database: ProposalContext['database'],
  scope: ReadScope,
  given: unknown,
): Promise<Action> {
  const actionId = parseRowId(given) ?? 0
  const action = await findAction(database, { workspaceId: scope.workspaceId, actionId })
  if (action && isInScope(scope, action)) return action
  throw Refusal.notFound('There is no such action.')
}

function isInScope(scope: ReadScope, { adAccountId }: { adAccountId: number }): boolean {
  return scope.adAccountId === null || scope.adAccountId === adAccountId
}
