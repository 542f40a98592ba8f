import type { ProposalResult } from '@signalbox/contract/agents/proposals.ts'
import type { AgentPrincipal } from '../../oauth/verify-agent-token.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import type { ProposalContext } from '../proposals/proposal-context.ts'
import { proposalResult } from '../proposals/proposal-view.ts'
import { proposeActions } from '../proposals/propose-actions.ts'
import { carryOut, isUnderWay } from './carry-out.ts'

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
  const allowed = actions.filter(isUnderWay)
  for (const { id } of allowed) await carryOut(context, id)
  const after =
    allowed.length > 0 ? await findActionsOfBatch(context.database, batch.id) : [...actions]
  return { result: await proposalResult(context, { batch, actions: after }), isNew }
}
