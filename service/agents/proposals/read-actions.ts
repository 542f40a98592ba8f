import { ACTION_STATUSES, type ActionStatus } from '@signalbox/contract/agents/actions.ts'
import type {
  ActionAnswer,
  ActionBatch,
  ActionList,
  DecisionReceipt,
} from '@signalbox/contract/agents/proposals.ts'
import { FieldErrorList } from '../../http/field-errors.ts'
import { Refusal } from '../../http/refusal.ts'
import { rowId } from '../../people/require-role.ts'
import type { Action } from './action.ts'
import { findAction, findActionsOfBatch, findActionsPage } from './action-store.ts'
import { actionView } from './action-view.ts'
import { findBatch } from './batch-store.ts'
import type { ProposalContext } from './proposal-context.ts'
import { batchView } from './proposal-view.ts'
import { findReceipt } from './receipt-store.ts'
import { receiptView } from './receipt-view.ts'

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
  const { status, page } = readQuery(query)
  const found = await findActionsPage(database, {
    ...{ ...scope, status },
    offset: (page - 1) * ACTIONS_PER_PAGE,
    // One more than is shown says whether there is another page.
    limit: ACTIONS_PER_PAGE + 1,
  })
  return {
    actions: found.slice(0, ACTIONS_PER_PAGE).map(actionView),
    page,
    per_page: ACTIONS_PER_PAGE,
    has_more: found.length > ACTIONS_PER_PAGE,
  }
}

function readQuery({ status, page = 1 }: ActionQuery): {
  status: ActionStatus | null
  page: number
} {
  const faults = new FieldErrorList()
  const known = ACTION_STATUSES.find(one => one === status) ?? null
  if (status !== undefined && known === null) {
    faults.add('status', `The status field must be one of: ${ACTION_STATUSES.join(', ')}.`)
  }
  const number = rowId(page)
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
  return { action: actionView(await actionIn(database, scope, actionId)) }
}

/** One batch with its actions. Throws a 404 refusal for what the scope does not have. */
export async function readBatch(
  context: ProposalContext,
  scope: ReadScope,
  batchId: unknown,
): Promise<ActionBatch> {
  const { database } = context
  const name = { workspaceId: scope.workspaceId, batchId: rowId(batchId) ?? 0 }
  const batch = await findBatch(database, name)
  if (!batch || !isWithin(scope, batch)) throw Refusal.notFound('There is no such batch.')
  return batchView(context, { batch, actions: await findActionsOfBatch(database, batch.id) })
}

/** What can be shown of an action that has ended. Throws a 404 refusal until then. */
export async function readReceipt(
  { database }: ProposalContext,
  scope: ReadScope,
  actionId: unknown,
): Promise<DecisionReceipt> {
  const action = await actionIn(database, scope, actionId)
  const receipt = await findReceipt(database, { ...scope, actionId: action.id })
  if (receipt) return receiptView(action, receipt)
  throw Refusal.notFound('This action has no receipt yet: it gets one when it has ended.')
}

async function actionIn(
  database: ProposalContext['database'],
  scope: ReadScope,
  given: unknown,
): Promise<Action> {
  const actionId = rowId(given) ?? 0
  const action = await findAction(database, { workspaceId: scope.workspaceId, actionId })
  if (action && isWithin(scope, action)) return action
  throw Refusal.notFound('There is no such action.')
}

function isWithin(scope: ReadScope, { adAccountId }: { adAccountId: number }): boolean {
  return scope.adAccountId === null || scope.adAccountId === adAccountId
}
