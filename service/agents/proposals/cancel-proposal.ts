import type { ActionBatchAnswer } from '@signalbox/contract/agents/proposals.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { type Action, toProposer } from './action.ts'
import { findActionsOfBatch, lockActions } from './action-store.ts'
import { agentScope, findBatchInScope, readBatch } from './read-actions.ts'
import { transitionAction } from './transition-action.ts'

/**
 * Ends the pending actions of a proposal, for the credential that proposed it. Actions that a
 * user decided on are not affected. Throws a Refusal: 403, 404, or 409 if nothing is pending.
 */
export async function cancelProposal(
  context: ProposalContext,
  principal: AgentPrincipal,
  batchId: unknown,
): Promise<ActionBatchAnswer> {
  requirePermission(principal, 'actions.propose')
  const { database, now, audit } = context
  const batch = await findBatchInScope(context, agentScope(principal), batchId)
  const { kind, id } = toProposer(principal)
  if (batch.proposer.kind !== kind || batch.proposer.id !== id) throw new Refusal(403, NOT_OWN)
  const ids = (await findActionsOfBatch(database, batch.id)).map(action => action.id)
  await database.query.transaction().execute(async query => {
    const actions = await lockActions({ query }, ids)
    const pending = actions.filter(({ status }) => status === 'pending')
    if (pending.length === 0) throw nothingPending(actions)
    for (const action of pending) {
      await transitionAction({ query }, audit, {
        action,
        to: 'rejected',
        outcome: 'canceled',
        at: now(),
        actor: { type: kind, id: String(id) },
        auditAction: 'action.canceled',
      })
    }
  })
  return readBatch(context, agentScope(principal), batch.id)
}

const NOT_OWN =
  'Another credential proposed this. Only that credential can cancel it; a person can reject it.'

function nothingPending(actions: readonly Action[]): Refusal {
  const statuses = [...new Set(actions.map(({ status }) => status.replaceAll('_', ' ')))]
  return new Refusal(409, `Nothing is pending: ${statuses.join(', ')}. Read the proposal again.`)
}
