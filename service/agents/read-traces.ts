import type { DecisionReceipt } from '@signalbox/contract/agents/proposals.ts'
import { findActorNames } from './audit/actor-name-store.ts'
import { isFinal } from './proposals/action-moves.ts'
import { findActionsOfBatch } from './proposals/action-store.ts'
import type { ProposalContext } from './proposals/proposal-context.ts'
import { readReceipt } from './proposals/read-actions.ts'

/** What is left of an action besides its state. */
export interface ActionTrace {
  /** The name, as it is now, of the person who decided; null when nobody did, or they are gone. */
  decidedBy: string | null
  /** Null until it has ended. */
  receipt: DecisionReceipt | null
}

/** The traces of the actions of a batch, at most as many as one proposal holds, by their ids. */
export async function readTraces(
  context: ProposalContext,
  { workspaceId, batchId }: { workspaceId: number; batchId: number },
): Promise<ReadonlyMap<number, ActionTrace>> {
  const { database } = context
  const actions = await findActionsOfBatch(database, batchId)
  const people = actions.flatMap(({ decidedBy }) => (decidedBy === null ? [] : [String(decidedBy)]))
  const actors = people.map(id => ({ type: 'person', id }))
  const names = await findActorNames(database, workspaceId, actors)
  const traces = new Map<number, ActionTrace>()
  for (const { id, status, decidedBy } of actions) {
    const scope = { workspaceId, adAccountId: null }
    const receipt = isFinal(status) ? await readReceipt(context, scope, id) : null
    traces.set(id, { decidedBy: names.get(`person ${decidedBy}`) ?? null, receipt })
  }
  return traces
}
