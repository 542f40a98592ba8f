import type { ActionBatchAnswer, ProposalResult } from '@signalbox/contract/agents/proposals.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import type { AgentPrincipal } from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { type DecisionRequest, decideActions } from '../approvals/decide-actions.ts'
import { proposeUndo, type UndoRequest } from '../approvals/undo-action.ts'
import { findEntity } from '../campaigns/campaign-api.ts'
import { type Action, hasFailedBatch, isFinal } from '../proposals/action.ts'
import { findUnfinishedActions, type UnfinishedAction } from '../proposals/action-list-store.ts'
import {
  findActionsOfBatch,
  lockActions,
  orderForExecution,
  recordRollbackRequest,
} from '../proposals/action-store.ts'
import { toProposalResult } from '../proposals/proposal-view.ts'
import { proposeActions } from '../proposals/propose-actions.ts'
import { readBatch } from '../proposals/read-actions.ts'
import { describeIgnored, listValidEntities } from '../proposals/validate-proposal.ts'
import { confirmExecution, recordVerifications } from './confirm-execution.ts'
import { type ExecutionContext, executeAction } from './execute-action.ts'

export interface SubmittedProposal {
  result: ProposalResult
  /** False for a retry with the same idempotency key. */
  isNew: boolean
}

/**
 * Stores a proposal and executes the actions that the policy allows. If the process dies in
 * between, a retry of the proposal or a job resumes the execution. Throws a Refusal: 403, or 422
 * with every invalid field.
 */
export async function submitProposal(
  context: ProposalContext,
  principal: AgentPrincipal,
  body: unknown,
): Promise<SubmittedProposal> {
  const { batch, actions, isNew } = await proposeActions(context, principal, body)
  const allowed = actions.filter(isInProgress)
  await runExecutions(context, allowed)
  const after =
    allowed.length > 0 ? await findActionsOfBatch(context.database, batch.id) : [...actions]
  const outcomes = after.map(({ target, policyReasons: reasons }) => ({ target, reasons }))
  const valid = await listValidEntities(context.campaigns, principal.adAccountId, outcomes)
  const proposed = toProposalResult(context, { batch, actions: after })
  return { result: { ...proposed, ...describeIgnored(body), ...valid }, isNew }
}

/**
 * Stores a decision, executes approved actions, and returns the batch. If the process dies in
 * between, a job resumes the execution. Throws a Refusal: 403, 404, 409 if nothing is pending, or
 * 422.
 */
export async function decideAndExecute(
  context: ProposalContext,
  request: DecisionRequest,
  body: unknown,
): Promise<ActionBatchAnswer> {
  const decided = await decideActions(context, request, body)
  const workspaceId = parseRowId(request.workspaceId) ?? 0
  return executeAndRead(context, decided, { workspaceId, batchId: request.batchId })
}

/**
 * Stores a proposal to undo an action, executes it if the policy allows it, and returns the batch.
 * Throws a Refusal: 403, 404, 409 or 422.
 */
export async function undoAndExecute(
  context: ProposalContext,
  request: UndoRequest,
  body: unknown,
): Promise<ActionBatchAnswer> {
  const { batch, actions } = await proposeUndo(context, request, body)
  const { workspaceId, id: batchId } = batch
  return executeAndRead(context, actions, { workspaceId, batchId })
}

async function executeAndRead(
  context: ProposalContext,
  actions: readonly Action[],
  { workspaceId, batchId }: { workspaceId: number; batchId: unknown },
): Promise<ActionBatchAnswer> {
  await runExecutions(context, actions.filter(isInProgress))
  return readBatch(context, { workspaceId, adAccountId: null }, batchId)
}

/** Executes actions of one batch. */
async function runExecutions(context: ExecutionContext, actions: readonly Action[]): Promise<void> {
  const [first] = actions
  if (first?.isAllOrNothing) return executeBatch(context, first.batchId)
  for (const { id } of actions) await runExecution(context, id)
}

/**
 * Executes and verifies an action that is `executing`, or resumes an interrupted one. Returns an
 * action in any other status unchanged. Every call to the platform is between two transactions, so
 * that no lock waits for the platform and a crash loses no record of a change. Idempotent and safe
 * to call concurrently.
 */
export async function runExecution(context: ExecutionContext, actionId: number): Promise<Action> {
  const executed = await executeAction(context, actionId)
  return executed.status === 'executed_pending_verification'
    ? confirmExecution(context, actionId)
    : executed
}

function isInProgress({ status }: Action): boolean {
  return status === 'executing' || status === 'executed_pending_verification'
}

/** Longer than a request may take, so that jobs do not resume a running execution. */
export const EXECUTION_LEASE_SECONDS = 60
const ACTIONS_PER_RUN_MAX = 50

/**
 * Resumes interrupted executions; resuming a running one is harmless. A failure does not affect
 * other actions; all failures are thrown together at the end.
 */
export async function resumeExecutions(
  context: ExecutionContext,
): Promise<{ finished: number; more: boolean }> {
  const before = new Date(context.now().getTime() - EXECUTION_LEASE_SECONDS * 1_000)
  const actions = await findUnfinishedActions(context.database, before, ACTIONS_PER_RUN_MAX)
  const errors: unknown[] = []
  const [together, independent] = partition(actions)
  const batchIds = new Set(together.map(({ batchId }) => batchId))
  const runs = [
    ...[...batchIds].map(id => () => executeBatch(context, id)),
    ...independent.map(
      ({ id }) =>
        () =>
          runExecution(context, id),
    ),
  ]
  for (const run of runs) await run().catch(error => errors.push(error))
  if (errors.length > 0) {
    throw new AggregateError(errors, `${errors.length} actions could not be finished`)
  }
  return { finished: actions.length, more: actions.length === ACTIONS_PER_RUN_MAX }
}

function partition(actions: readonly UnfinishedAction[]) {
  const together = actions.filter(({ isAllOrNothing }) => isAllOrNothing)
  return [together, actions.filter(({ isAllOrNothing }) => !isAllOrNothing)] as const
}

/**
 * Executes the actions of an all-or-nothing batch one after the other, those that spend less first.
 * They are verified together in one transaction, so that none is final before all were executed. If
 * one cannot be executed or verified, the others are not executed any more, and those that were
 * executed are set back, the last one first. The database alone says what was done: a resumed or
 * concurrent run repeats requests with the same keys and comes to the same end.
 */
async function executeBatch(context: ExecutionContext, batchId: number): Promise<void> {
  const actions = orderForExecution(await findActionsOfBatch(context.database, batchId))
  for (const { id } of actions) {
    // After a failure this ends the actions that were not requested, and settles the others.
    const { status } = await executeAction(context, id)
    // Stops early: a change that the platform did not make fails the batch before the next one.
    if (status === 'executed_pending_verification') await confirmExecution(context, id)
  }
  if (await verifyTogether(context, actions)) return
  for (const { id } of actions.toReversed()) {
    await requestRestore(context, actions, id)
    await confirmExecution(context, id)
  }
}

/**
 * Reads all entities and ends all actions as verified. False if the batch failed: an action ended
 * differently before, or an entity does not have the proposed state.
 */
async function verifyTogether(
  context: ExecutionContext,
  actions: readonly Action[],
): Promise<boolean> {
  const { database, campaigns } = context
  const [first] = actions
  if (!first) return true
  const targets = actions.map(({ target }) => target)
  const entities = await campaigns.readEntities(first.adAccountId, targets)
  return database.query.transaction().execute(async query => {
    const locked = await lockActions({ query }, idsOf(actions))
    if (locked.every(({ status }) => isFinal(status))) return locked.every(isVerified)
    if (hasFailedBatch(locked)) return false
    const verifications = locked.map(action => {
      return { action, found: findEntity(entities, action.target) }
    })
    return recordVerifications({ query }, context, verifications)
  })
}

/** Commits the request to set an executed action back, for a batch that failed. */
async function requestRestore(
  { database, now }: ExecutionContext,
  actions: readonly Action[],
  actionId: number,
): Promise<void> {
  await database.query.transaction().execute(async query => {
    const locked = await lockActions({ query }, idsOf(actions))
    const action = locked.find(({ id }) => id === actionId)
    if (action?.status !== 'executed_pending_verification' || action.rollbackRequestedAt) return
    if (hasFailedBatch(locked)) await recordRollbackRequest({ query }, action, now())
  })
}

function isVerified({ status }: Action): boolean {
  return status === 'verified'
}

function idsOf(actions: readonly Action[]): number[] {
  return actions.map(({ id }) => id)
}
