import type { ActionStatus } from '@signalbox/contract/agents/actions.ts'
import type {
  ApprovalQueue,
  DecidedActionPage,
  DecisionRecord,
  QueuedBatch,
  QueuedBatchAnswer,
} from '@signalbox/contract/agents/approvals.ts'
import { listDecidedActions } from '@signalbox/contract/session/action-operations.ts'
import { hasPermission } from '@signalbox/contract/session/roles.ts'
import { PageQuery } from '@signalbox/contract/session/session-operation.ts'
import { findActorNames } from '../../audit/audit-name-store.ts'
import { readRecentAudit } from '../../audit/read-audit.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import type { Membership } from '../../workspaces/users/workspace-store.ts'
import { requireRole, userActor } from '../../workspaces/users/workspaces.ts'
import type { ProposalContext } from '../agents-context.ts'
import { readPolicy } from '../policy/policy-store.ts'
import { readTargetStates } from '../proposals/account-history.ts'
import { type Action, isFinal } from '../proposals/action.ts'
import { findDecidedActions, findOtherPendingActions } from '../proposals/action-list-store.ts'
import { findActionsOfBatch, orderForExecution } from '../proposals/action-store.ts'
import { findUsage } from '../proposals/ad-account-store.ts'
import {
  countQueuedBatches,
  findQueuedBatch,
  findQueuedBatches,
  type QueuedBatchRow,
} from '../proposals/batch-store.ts'
import { deriveBatchStatus, toActionView, toProposerView } from '../proposals/proposal-view.ts'
import { readReceipt } from '../proposals/read-actions.ts'
import { hasExpired, isStale, reevaluateActions } from './action-preconditions.ts'
import { type DecisionRequest, proposalNotFound } from './decide-actions.ts'
import {
  findApprovalDenial,
  governanceFilter,
  toCurrentEvaluation,
  toOtherPendingAction,
} from './decision-context.ts'
import { findStandingUndoes } from './undo-action.ts'

export const BATCHES_PER_PAGE = 20
/** Higher than any workspace reaches. */
const PAGE_MAX = 10_000_000

const pageValidator = new Validator(PageQuery, {
  coerceTypes: true,
  members: { page: { error: 'The page field must be an integer of at least 1.' } },
})

type QueueContext = Pick<ProposalContext, 'database' | 'now' | 'campaigns'>

/**
 * Reads the pending proposals of a workspace, those that expire first on top. Every member may read
 * it. Throws a Refusal: 404, or 422 for an invalid page.
 */
export async function readApprovalQueue(
  context: QueueContext,
  { user, workspaceId }: Omit<DecisionRequest, 'batchId'>,
  query: unknown,
): Promise<ApprovalQueue> {
  const reader = await findReader(context, user, workspaceId)
  const { page = 1 } = pageValidator.validate(query)
  const rows = await findQueuedBatches(context.database, reader.workspaceId, {
    offset: (Math.min(page, PAGE_MAX) - 1) * BATCHES_PER_PAGE,
    // One extra row reveals whether there is another page.
    limit: BATCHES_PER_PAGE + 1,
  })
  const batches: QueuedBatch[] = []
  for (const row of rows.slice(0, BATCHES_PER_PAGE)) {
    batches.push(await toQueuedBatch(context, reader, row))
  }
  return { batches, page, per_page: BATCHES_PER_PAGE, has_more: rows.length > BATCHES_PER_PAGE }
}

/** Reads one proposal in any status, as the deciding user sees it. Throws a 404 refusal. */
export async function readQueuedBatch(
  context: QueueContext,
  { user, workspaceId, batchId }: DecisionRequest,
): Promise<QueuedBatchAnswer> {
  const reader = await findReader(context, user, workspaceId)
  const ref = { workspaceId: reader.workspaceId, batchId: parseRowId(batchId) ?? 0 }
  const row = await findQueuedBatch(context.database, ref)
  if (!row) throw proposalNotFound()
  const recent_changes = await readRecentAudit(
    context.database,
    reader.workspaceId,
    governanceFilter(context.now()),
  )
  return {
    batch: await toQueuedBatch(context, reader, row),
    recent_changes,
    decision_records: await readDecisionRecords(context, ref),
  }
}

interface Reader extends Membership {
  userId: number
}

async function findReader(
  { database }: QueueContext,
  user: CurrentUser,
  workspaceId: unknown,
): Promise<Reader> {
  const membership = await requireRole(database, user, { workspaceId, action: 'read' })
  return { ...membership, userId: user.userId }
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
    all_or_nothing: batch.isAllOrNothing,
    undoes: batch.undoes,
    created_at: batch.createdAt.toISOString(),
    expires_at: batch.expiresAt.toISOString(),
    may_decide: reason === null,
    may_not_reason: reason,
    actions: actions.map(toActionView),
    ...(await readCurrentState(context, row, orderForExecution(actions.filter(isPending)))),
  }
}

type CurrentMembers = 'stale_action_ids' | 'today' | 'evaluations' | 'other_pending_actions'

/** What an approval of the pending actions would mean now. */
async function readCurrentState(
  { database, campaigns, now }: QueueContext,
  { batch: { workspaceId, adAccountId }, timeZone, currency }: QueuedBatchRow,
  pending: readonly Action[],
): Promise<Pick<QueuedBatch, CurrentMembers>> {
  const targets = await readTargetStates(campaigns, adAccountId, pending)
  const at = now()
  const policy = await readPolicy(database, workspaceId, at)
  const preconditions = { policy, timeZone, currency, at }
  const usage = await findUsage(database, { adAccountId, timeZone, at })
  const evaluations = await reevaluateActions(database, pending, { preconditions, targets })
  const others = await findOtherPendingActions(database, pending)
  return {
    stale_action_ids: pending.filter(action => isStale(action, targets)).map(({ id }) => id),
    today: {
      changed_minor: usage.changedMinor,
      action_count: usage.actionCount,
      changed_week_minor: usage.weekMinor,
      changed_month_minor: usage.monthMinor,
    },
    evaluations: [...evaluations].map(([id, evaluation]) => toCurrentEvaluation(id, evaluation)),
    other_pending_actions: others.map(toOtherPendingAction),
  }
}

/** Why the reader may not approve the batch, as a sentence; null if they may. */
async function findDenialReason(
  { database, now }: QueueContext,
  { role, userId }: Reader,
  { row, actions }: { row: QueuedBatchRow; actions: readonly Action[] },
): Promise<string | null> {
  if (!actions.some(isPending)) return 'This proposal has no pending actions.'
  if (hasExpired(row.batch, now())) return 'The approval period has ended.'
  if (!hasPermission(role, 'decide_actions'))
    return 'Only owners and admins can decide; ask one of them.'
  return findApprovalDenial(database, row.batch, { userId, at: now() })
}

function isPending({ status }: { status: ActionStatus }): boolean {
  return status === 'pending'
}

/** Who decided on each action of a batch, its receipt, and what undoes it. */
async function readDecisionRecords(
  context: QueueContext,
  { workspaceId, batchId }: { workspaceId: number; batchId: number },
): Promise<DecisionRecord[]> {
  const { database } = context
  const actions = await findActionsOfBatch(database, batchId)
  const actors = actions.flatMap(({ decidedBy }) =>
    decidedBy === null ? [] : [userActor({ userId: decidedBy })],
  )
  const names = await findActorNames(database, workspaceId, actors)
  const undoes = await findStandingUndoes(
    database,
    actions.map(({ id }) => id),
  )
  const records: DecisionRecord[] = []
  for (const { id, status, decidedBy } of actions) {
    const scope = { workspaceId, adAccountId: null }
    const receipt = isFinal(status) ? await readReceipt(context, scope, id) : null
    records.push({
      action_id: id,
      decided_by: names.get(`person ${decidedBy}`) ?? null,
      receipt,
      undone_by: undoes.find(({ actionId }) => actionId === id)?.batchId ?? null,
    })
  }
  return records
}

export const DECIDED_PER_PAGE = 30

const decidedValidator = new Validator(listDecidedActions.schema.querystring, {
  coerceTypes: true,
  members: { before: { error: 'The before field must be an integer of at least 1.' } },
})

/**
 * Reads the actions of a workspace that wait for no decision, newest first. Every member may read
 * them. Throws a Refusal: 404, or 422 for an invalid `before`.
 */
export async function readDecidedActions(
  context: QueueContext,
  { user, workspaceId: given }: Omit<DecisionRequest, 'batchId'>,
  query: unknown,
): Promise<DecidedActionPage> {
  const { database } = context
  const { workspaceId } = await findReader(context, user, given)
  const { before = null } = decidedValidator.validate(query)
  const found = await findDecidedActions(database, {
    workspaceId,
    before,
    // One extra row reveals whether there is another page.
    limit: DECIDED_PER_PAGE + 1,
  })
  const page = found.slice(0, DECIDED_PER_PAGE)
  const people = page.flatMap(({ action: { decidedBy } }) =>
    decidedBy === null ? [] : [userActor({ userId: decidedBy })],
  )
  const names = await findActorNames(database, workspaceId, people)
  return {
    actions: page.map(({ action, currency }) => ({
      action: toActionView(action),
      currency,
      decided_by: names.get(`person ${action.decidedBy}`) ?? null,
    })),
    next_before: found.length > page.length ? (page.at(-1)?.action.id ?? null) : null,
  }
}

/** The number of proposals that wait for a decision, at most 100. */
export async function countApprovals(
  context: QueueContext,
  { user, workspaceId: given }: Omit<DecisionRequest, 'batchId'>,
): Promise<number> {
  const { workspaceId } = await findReader(context, user, given)
  return countQueuedBatches(context.database, workspaceId)
}
