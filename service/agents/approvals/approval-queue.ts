import type { ActionStatus } from '@signalbox/contract/agents/actions.ts'
import type {
  ApprovalQueue,
  QueuedBatch,
  QueuedBatchAnswer,
} from '@signalbox/contract/agents/approvals.ts'
import { Refusal } from '../../http/refusal.ts'
import type { CurrentPerson } from '../../people/current-person.ts'
import type { Membership } from '../../people/member-store.ts'
import { requireRole, rowId } from '../../people/require-role.ts'
import { mayDo } from '../../people/workspace-role.ts'
import type { Action } from '../proposals/action.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import { actionView, proposerView } from '../proposals/action-view.ts'
import { batchStatus } from '../proposals/batch-status.ts'
import type { ProposalContext } from '../proposals/proposal-context.ts'
import { hasExpired } from './approval-verdict.ts'
import type { DecisionVisit } from './decide-actions.ts'
import { isUnchanged } from './is-unchanged.ts'
import { mayNotApprove } from './may-not-approve.ts'
import { findQueue, findQueued, type QueuedRow } from './queue-store.ts'

export const BATCHES_PER_PAGE = 20
/** A page number so high that no workspace has as many batches. */
const PAGE_MAX = 10_000_000

type QueueContext = Pick<ProposalContext, 'database' | 'now' | 'platform'>

/**
 * What waits for a decision in a workspace, those that expire first before the others. Every member
 * may see it. Throws a Refusal: 404, or 422 for a page that cannot be.
 */
export async function readQueue(
  context: QueueContext,
  { person, workspaceId }: Omit<DecisionVisit, 'batchId'>,
  { page: given = 1 }: { page?: unknown },
): Promise<ApprovalQueue> {
  const reader = await readerOf(context, person, workspaceId)
  const page = rowId(given)
  if (page === null) {
    throw Refusal.ofFields({ page: ['The page field must be an integer of at least 1.'] })
  }
  const rows = await findQueue(context.database, reader.workspaceId, {
    offset: (Math.min(page, PAGE_MAX) - 1) * BATCHES_PER_PAGE,
    // One more than is shown says whether there is another page.
    limit: BATCHES_PER_PAGE + 1,
  })
  const batches: QueuedBatch[] = []
  for (const row of rows.slice(0, BATCHES_PER_PAGE)) {
    batches.push(await queuedBatch(context, reader, row))
  }
  return { batches, page, per_page: BATCHES_PER_PAGE, has_more: rows.length > BATCHES_PER_PAGE }
}

/** One proposal as the person sees it who decides, also when nothing waits. Throws a 404. */
export async function readQueuedBatch(
  context: QueueContext,
  { person, workspaceId, batchId }: DecisionVisit,
): Promise<QueuedBatchAnswer> {
  const reader = await readerOf(context, person, workspaceId)
  const name = { workspaceId: reader.workspaceId, batchId: rowId(batchId) ?? 0 }
  const row = await findQueued(context.database, name)
  if (!row) throw Refusal.notFound('There is no such proposal in this workspace.')
  return { batch: await queuedBatch(context, reader, row) }
}

/** Who looks at it. */
interface Reader extends Membership {
  userId: number
}

async function readerOf(
  { database }: QueueContext,
  person: CurrentPerson,
  workspaceId: unknown,
): Promise<Reader> {
  const membership = await requireRole(database, person, { workspaceId, action: 'read' })
  return { ...membership, userId: person.userId }
}

async function queuedBatch(
  context: QueueContext,
  reader: Reader,
  row: QueuedRow,
): Promise<QueuedBatch> {
  const { batch, adAccountName, currency, responsible } = row
  const actions = await findActionsOfBatch(context.database, batch.id)
  const reason = await mayNotReason(context, reader, { row, actions })
  return {
    id: batch.id,
    status: batchStatus(actions.map(({ status }) => status)),
    ad_account_id: batch.adAccountId,
    ad_account_name: adAccountName,
    currency,
    rationale: batch.rationale,
    evidence_provenance: batch.provenance,
    proposed_by: proposerView(batch.proposer),
    responsible,
    policy_decision: batch.policyDecision,
    created_at: batch.createdAt.toISOString(),
    expires_at: batch.expiresAt.toISOString(),
    may_decide: reason === null,
    may_not_reason: reason,
    stale_action_ids: await staleActions(context, batch.adAccountId, actions),
    actions: actions.map(actionView),
  }
}

/** Why who looks may not approve it, in a sentence. */
async function mayNotReason(
  { database, now }: QueueContext,
  { role, userId }: Reader,
  { row, actions }: { row: QueuedRow; actions: readonly Action[] },
): Promise<string | null> {
  if (!actions.some(isPending)) return 'Nothing of it waits for a decision any more.'
  if (hasExpired(row.batch, now())) return 'The time to decide on it is over.'
  if (!mayDo(role, 'decide_actions')) return 'Owners and admins decide; ask one of them.'
  return mayNotApprove(database, row.batch, { userId, role })
}

function isPending({ status }: { status: ActionStatus }): boolean {
  return status === 'pending'
}

async function staleActions(
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
