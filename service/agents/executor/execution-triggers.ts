import type { ActionBatch, ProposalResult } from '@signalbox/contract/agents/proposals.ts'
import type { AgentPrincipal } from '../../oauth/authenticate-agent.ts'
import { parseRowId } from '../../util/row-id.ts'
import { type DecisionRequest, decideActions } from '../approvals/decide-actions.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import type { ProposalContext } from '../proposals/agents-context.ts'
import { findUnfinishedActions } from '../proposals/open-action-store.ts'
import { toProposalResult } from '../proposals/proposal-view.ts'
import { proposeActions } from '../proposals/propose-actions.ts'
import { readBatch } from '../proposals/read-actions.ts'
import { type ExecutionContext, isInProgress, runExecution } from './execute-action.ts'

export interface SubmittedProposal {
  result: ProposalResult
  /** False: the same proposal was kept before, under the same key. */
  isNew: boolean
}

/**
 * An agent proposes; what the policy allows without a person is carried out before the answer. The
 * proposal is kept first: when its process dies then, the same proposal sent again goes on with it,
 * and otherwise a job does. Throws a Refusal: 403, or 422 with every wrong field.
 */
export async function submitProposal(
  context: ProposalContext,
  principal: AgentPrincipal,
  body: unknown,
): Promise<SubmittedProposal> {
  const { batch, actions, isNew } = await proposeActions(context, principal, body)
  const allowed = actions.filter(isInProgress)
  for (const { id } of allowed) await runExecution(context, id)
  const after =
    allowed.length > 0 ? await findActionsOfBatch(context.database, batch.id) : [...actions]
  return { result: await toProposalResult(context, { batch, actions: after }), isNew }
}

/**
 * A person decides, and what they approved is carried out before the answer: the batch as it is
 * then. The decision is kept first; when the process dies then, a job goes on with it. Throws a
 * Refusal: 403, 404, 409 when nothing waits any more, or 422.
 */
export async function decideAndExecute(
  context: ProposalContext,
  visit: DecisionRequest,
  body: unknown,
): Promise<ActionBatch> {
  const decided = await decideActions(context, visit, body)
  for (const { id } of decided.filter(isInProgress)) await runExecution(context, id)
  const scope = { workspaceId: parseRowId(visit.workspaceId) ?? 0, adAccountId: null }
  return readBatch(context, scope, visit.batchId)
}

/** Longer than a request may take, so that nobody takes up what somebody is doing. */
export const EXECUTION_LEASE_SECONDS = 60
const ACTIONS_A_RUN_MAX = 50

/**
 * Goes on with actions whose process died halfway, or could not reach the store. Taking one up that
 * is still being carried out does no harm. One that fails does not hold up the others; they are
 * thrown together at the end.
 */
export async function resumeExecutions(
  context: ExecutionContext,
): Promise<{ finished: number; more: boolean }> {
  const before = new Date(context.now().getTime() - EXECUTION_LEASE_SECONDS * 1_000)
  const ids = await findUnfinishedActions(context.database, before, ACTIONS_A_RUN_MAX)
  const errors: unknown[] = []
  for (const id of ids) await runExecution(context, id).catch(error => errors.push(error))
  if (errors.length > 0) {
    throw new AggregateError(errors, `${errors.length} actions could not be finished`)
  }
  return { finished: ids.length, more: ids.length === ACTIONS_A_RUN_MAX }
}
