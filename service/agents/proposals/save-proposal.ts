import type { ActionSubmission } from '@signalbox/contract/agents/actions.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import type { ProposalContext } from '../agents-context.ts'
import type { Action } from './action.ts'
import { notifyApprovers } from './action-notifications.ts'
import type { Batch } from './batch-store.ts'
import { buildNewAction, type EvaluatedAction } from './evaluate-actions.ts'
import { countPending } from './open-action-store.ts'
import { digestBatch } from './proposal-records.ts'
import { createAction } from './transition-action.ts'

export interface Proposal {
  batch: Batch
  /** In the order of the submission. */
  actions: Action[]
  /** False for a retry with the same idempotency key; the actions then have their current state. */
  isNew: boolean
}

/** Limits pending actions of one ad account, so that a proposer cannot flood the queue. */
export const PENDING_ACTIONS_MAX = 200

/** The locked ad account prevents concurrent proposals from exceeding the limit. */
export async function requireQueueCapacity(
  transaction: Transaction,
  adAccountId: number,
  evaluated: readonly EvaluatedAction[],
): Promise<void> {
  const pending = evaluated.filter(({ evaluation }) => evaluation.decision === 'require_approval')
  if (pending.length === 0) return
  if ((await countPending(transaction, adAccountId)) + pending.length <= PENDING_ACTIONS_MAX) return
  const message =
    'The actions field requires approval, and this ad account can have at most ' +
    `${PENDING_ACTIONS_MAX} pending actions; wait until some are decided.`
  throw Refusal.ofFields({ actions: [message] })
}

/** The approval period. */
const APPROVAL_HOURS = 72

export function approvalExpiry(proposedAt: Date): Date {
  return new Date(proposedAt.getTime() + APPROVAL_HOURS * HOUR_MILLISECONDS)
}

interface NewProposal {
  batch: Batch
  /** In the order of the submission. */
  submissions: readonly ActionSubmission[]
  /** In the order of execution. */
  evaluated: readonly EvaluatedAction[]
}

/**
 * Stores the actions of a new batch in the order of execution, so that their IDs ascend in it.
 * Appends audit entries last: the first one locks the chain of the workspace.
 */
export async function saveProposal(
  transaction: Transaction,
  { audit }: Pick<ProposalContext, 'audit'>,
  { batch, submissions, evaluated }: NewProposal,
): Promise<Proposal> {
  const { id: batchId, workspaceId, proposer, createdAt: at } = batch
  const pending = evaluated.filter(({ evaluation }) => evaluation.decision === 'require_approval')
  await notifyApprovers(transaction, batch, pending.length)
  await audit.append(transaction, {
    workspaceId,
    at,
    action: 'proposal.submitted',
    actor: { type: proposer.kind, id: String(proposer.id) },
    subject: { type: 'batch', id: String(batchId) },
    details: {
      ad_account_id: batch.adAccountId,
      actions: evaluated.length,
      policy_version: batch.policyVersion,
      policy_decision: batch.policyDecision,
      ...(batch.isAllOrNothing && { all_or_nothing: true }),
      ...(batch.undoes !== null && { undoes: batch.undoes }),
      content_sha256: batch.contentSha256.toString('hex'),
      record_sha256: digestBatch(batch),
    },
  })
  const actions: Action[] = []
  for (const evaluatedAction of evaluated) {
    const position = submissions.indexOf(evaluatedAction.submission)
    const action = buildNewAction(batch, position, evaluatedAction)
    actions.push(await createAction(transaction, audit, { batch, action }))
  }
  actions.sort((one, other) => one.position - other.position)
  return { batch, actions, isNew: true }
}
