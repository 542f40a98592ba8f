import type { ActionStatus } from '@signalbox/contract/agents/actions.ts'
import type {
  ApprovalQueue,
  QueuedBatch,
  QueuedBatchAnswer,
} from '@signalbox/contract/agents/approvals.ts'
import type { DecisionReceipt } from '@signalbox/contract/agents/proposals.ts'
import { findActorNames } from '../../audit/actor-name-store.ts'
import { Refusal } from '../../http/refusal.ts'
import type { CurrentPerson } from '../../people/session-store.ts'
import { hasPermission } from '../../people/workspace-role.ts'
import type { Membership } from '../../people/workspace-store.ts'
import { requireRole } from '../../people/workspaces.ts'
import { parseRowId } from '../../util/row-id.ts'
import { type Action, isFinal } from '../proposals/action.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import { toActionView, toProposerView } from '../proposals/action-view.ts'
import type { ProposalContext } from '../proposals/agents-context.ts'
import {
  findQueuedBatch,
  findQueuedBatches,
  type QueuedBatchRow,
} from '../proposals/batch-store.ts'
import { deriveBatchStatus } from '../proposals/proposal-view.ts'
import { readReceipt } from '../proposals/read-actions.ts'
import { hasExpired, isUnchanged } from './action-preconditions.ts'
import { type DecisionRequest, findApprovalDenial } from './decide-actions.ts'

export const BATCHES_PER_PAGE = 20
/** A page number so high that no workspace has as many batches. */
const PAGE_MAX = 10_000_000

type QueueContext = Pick<ProposalContext, 'database' | 'now' | 'platform'>

/**
 * What waits for a decision in a workspace, those that expire first before the others. Every member
 * may see it. Throws a Refusal: 404, or 422 for a page that cannot be.
 */
export async function readApprovalQueue(
  context: QueueContext,
  { person, workspaceId }: Omit<DecisionRequest, 'batchId'>,
  { page: given = 1 }: { page?: unknown },
): Promise<ApprovalQueue> {
  const reader = await findReader(context, person, workspaceId)
  const page = parseRowId(given)
  if (page === null) {
    throw Refusal.ofFields({ page: ['The page field must be an integer of at least 1.'] })
  }
  const rows = await findQueuedBatches(context.database, reader.workspaceId, {
    offset: (Math.min(page, PAGE_MAX) - 1) * BATCHES_PER_PAGE,
    // One more than is shown says whether there is another page.
    limit: BATCHES_PER_PAGE + 1,
  })
  const batches: QueuedBatch[] = []
  for (const row of rows.slice(0, BATCHES_PER_PAGE)) {
    batches.push(await toQueuedBatch(context, reader, row))
  }
  return { batches, page, per_page: BATCHES_PER_PAGE, has_more: rows.length > BATCHES_PER_PAGE }
}

/** One proposal as the person sees it who decides, also when nothing waits. Throws a 404. */
export async function readQueuedBatch(
  context: QueueContext,
  { person, workspaceId, batchId }: DecisionRequest,
): Promise<QueuedBatchAnswer> {
  const reader = await findReader(context, person, workspaceId)
  const name = { workspaceId: reader.workspaceId, batchId: parseRowId(batchId) ?? 0 }
  const row = await findQueuedBatch(context.database, name)
  if (!row) throw Refusal.notFound('There is no such proposal in this workspace.')
  return { batch: await toQueuedBatch(context, reader, row) }
}

/** Who looks at it. */
interface Reader extends Membership {
  userId: number
}

async function findReader(
  { database }: QueueContext,
  person: CurrentPerson,
  workspaceId: unknown,
): Promise<Reader> {
  const membership = await requireRole(database, person, { workspaceId, action: 'read' })
  return { ...membership, userId: person.userId }
}

async function toQueuedBatch(
  context: QueueContext,
  reader: Reader,
  row: QueuedBatchRow,
): Promise<QueuedBatch> {
  const { batch, adAccountName, currency, responsible } = row
  const actions = await findActionsOfBatch(context.database, batch.id)
  const reason = await findDenialReason(context, reader, { row, actions })
  return {
    id: batch.id,
    status: deriveBatchStatus(actions.map(({ status }) => status)),
    ad_account_id: batch.adAccountId,
    ad_account_name: adAccountName,
    currency,
    rationale: batch.rationale,
    evidence_provenance: batch.provenance,
    proposed_by: toProposerView(batch.proposer),
    responsible,
    policy_decision: batch.policyDecision,
    created_at: batch.createdAt.toISOString(),
    expires_at: batch.expiresAt.toISOString(),
    may_decide: reason === null,
    may_not_reason: reason,
    stale_action_ids: await findStaleActionIds(context, batch.adAccountId, actions),
    actions: actions.map(toActionView),
  }
}

/** Why who looks may not approve it, in a sentence. */
async function findDenialReason(
  { database, now }: QueueContext,
  { role, userId }: Reader,
  { row, actions }: { row: QueuedBatchRow; actions: readonly Action[] },
): Promise<string | null> {
  if (!actions.some(isPending)) return 'Nothing of it waits for a decision any more.'
  if (hasExpired(row.batch, now())) return 'The time to decide on it is over.'
  if (!hasPermission(role, 'decide_actions')) return 'Owners and admins decide; ask one of them.'
  return findApprovalDenial(database, row.batch, { userId, role })
}

function isPending({ status }: { status: ActionStatus }): boolean {
  return status === 'pending'
}

async function findStaleActionIds(
  { database, platform }: QueueContext,
  adAccountId: number,
  actions: readonly Action[],
): Promise<number[]> {
  const waiting = actions.filter(isPending)
  const targets = waiting.map(({ target }) => target)
  const entities = await platform.readEntities(database, adAccountId, targets)
  const isStale = ({ target, before }: Action) => {
    const found = entities.find(({ type, id }) => type === target.type && id === target.id)
    return !isUnchanged(before, found ?? null)
  }
  return waiting.filter(isStale).map(({ id }) => id)
}

/** What is left of an action besides its state. */
export interface DecisionRecord {
  /** The name, as it is now, of the person who decided; null when nobody did, or they are gone. */
  decidedBy: string | null
  /** Null until it has ended. */
  receipt: DecisionReceipt | null
}

/** The traces of the actions of a batch, at most as many as one proposal holds, by their ids. */
export async function readDecisionRecords(
  context: ProposalContext,
  { workspaceId, batchId }: { workspaceId: number; batchId: number },
): Promise<ReadonlyMap<number, DecisionRecord>> {
  const { database } = context
  const actions = await findActionsOfBatch(database, batchId)
  const people = actions.flatMap(({ decidedBy }) => (decidedBy === null ? [] : [String(decidedBy)]))
  const actors = people.map(id => ({ type: 'person', id }))
  const names = await findActorNames(database, workspaceId, actors)
  const traces = new Map<number, DecisionRecord>()
  for (const { id, status, decidedBy } of actions) {
    const scope = { workspaceId, adAccountId: null }
    const receipt = isFinal(status) ? await readReceipt(context, scope, id) : null
    traces.set(id, { decidedBy: names.get(`person ${decidedBy}`) ?? null, receipt })
  }
  return traces
}
