import type { ActionBatch } from '@signalbox/contract/agents/proposals.ts'
import { rowId } from '../../people/require-role.ts'
import { type DecisionVisit, decideActions } from '../approvals/decide-actions.ts'
import type { ProposalContext } from '../proposals/proposal-context.ts'
import { readBatch } from '../proposals/read-actions.ts'
import { carryOut, isUnderWay } from './carry-out.ts'

/**
 * A person decides, and what they approved is carried out before the answer: the batch as it is
 * then. The decision is kept first; when the process dies then, a job goes on with it. Throws a
 * Refusal: 403, 404, 409 when nothing waits any more, or 422.
 */
export async function decideAndCarryOut(
  context: ProposalContext,
  visit: DecisionVisit,
  body: unknown,
): Promise<ActionBatch> {
  const decided = await decideActions(context, visit, body)
  for (const { id } of decided.filter(isUnderWay)) await carryOut(context, id)
  const scope = { workspaceId: rowId(visit.workspaceId) ?? 0, adAccountId: null }
  return readBatch(context, scope, visit.batchId)
}
