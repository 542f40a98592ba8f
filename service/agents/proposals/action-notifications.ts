import type { ActionOutcome, ActionStatus } from '@signalbox/contract/agents/actions.ts'
import { formatAmount } from '@signalbox/contract/agents/amounts.ts'
import type { NotificationType } from '@signalbox/contract/alerts.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { plainName } from '../../runtime/util/plain-name.ts'
import { formatDateTime } from '../../runtime/util/time.ts'
import {
  raiseNotification,
  withdrawNotifications,
} from '../../workspaces/notifications/notification-store.ts'
import { type Action, isFinal, type NewAction } from './action.ts'
import { hasPendingActions } from './action-list-store.ts'
import type { Batch } from './batch-store.ts'

const APPROVAL_REQUESTED: NotificationType = 'approval.requested'

interface NewProposal {
  batch: Batch
  actions: readonly NewAction[]
  /** Of the ad account. */
  currency: string
}

/** Tells the people who may decide that actions of a new batch wait for them, and which. */
export async function notifyApprovers(
  transaction: Transaction,
  { batch, actions, currency }: NewProposal,
): Promise<void> {
  const pending = actions.filter(({ status }) => status === 'pending')
  if (pending.length === 0) return
  const { id, workspaceId, proposer, createdAt: at, expiresAt } = batch
  const named = pending.slice(0, CHANGES_NAMED_MAX).map(action => describeChange(action, currency))
  const more = pending.length - named.length
  const changes = [...named, ...(more > 0 ? [`${more} more`] : [])].join('; ')
  const together = batch.isAllOrNothing ? ', all or nothing' : ''
  await raiseNotification(transaction, {
    workspaceId,
    topic: 'approvals',
    type: APPROVAL_REQUESTED,
    recipients: { permission: 'decide_actions', userId: null },
    subject: batchSubject(id),
    text:
      `${plainName(proposer.name)} proposes: ${changes} (proposal ${id}${together}). ` +
      `Decide by ${formatDateTime(expiresAt)}.`,
    path: batchPath(workspaceId, id),
    at,
  })
}

const CHANGES_NAMED_MAX = 3
const NAME_CHARACTERS_MAX = 60

/** What, from and to: in our words, with the name that the platform has, not that of the agent. */
function describeChange(action: NewAction, currency: string): string {
  const { type, target, before, proposed, params } = action
  const name = before === null ? '' : ` “${plainName(before.name).slice(0, NAME_CHARACTERS_MAX)}”`
  const entity = `${target.type.replaceAll('_', ' ')}${name} ${target.id}`
  if (type === 'pause' || type === 'resume') return `${type} the ${entity}`
  const verb = type === 'increase_budget' ? 'raise' : 'lower'
  const amount = (minor: number | null | undefined) =>
    typeof minor === 'number' ? formatAmount(minor, currency) : 'none'
  const to = proposed?.daily_budget_minor ?? params.new_daily_budget_minor
  const from = amount(before?.daily_budget_minor)
  return `${verb} the daily budget of the ${entity} from ${from} to ${amount(to)}`
}

/**
 * Tells the user behind the agent how an action ended, unless they decided on it themselves or
 * the agent canceled it. An uncertain execution is for everyone who may decide, since a user has
 * to look at it.
 */
export async function notifyResult(transaction: Transaction, action: Action): Promise<void> {
  const { id, workspaceId, batchId, status, outcome, proposer, updatedAt: at } = action
  if (!isFinal(status) || outcome === 'canceled') return
  if (isDecision(status) && action.decidedBy === proposer.userId) return
  await raiseNotification(transaction, {
    workspaceId,
    topic: 'results',
    type: `action.${status}`,
    recipients:
      status === 'execution_uncertain'
        ? { permission: 'decide_actions', userId: null }
        : { permission: null, userId: proposer.userId },
    subject: { type: 'action', id: String(id) },
    text: resultText(action),
    path: batchPath(workspaceId, batchId),
    at,
  })
}

/** A decision ends an action at once; other results come from the policy or the platform. */
function isDecision(status: ActionStatus): boolean {
  return status === 'rejected' || status === 'approved_without_execution'
}

/** Contains no text of the agent: IDs and words of our own only. */
function resultText({ type, target, batchId, status, outcome }: Action): string {
  const change = type.replaceAll('_', ' ')
  const entity = `${target.type.replaceAll('_', ' ')} ${target.id}`
  const result = RESULTS[status] ?? status.replaceAll('_', ' ')
  const reason = outcome === null ? '' : ` (${REASONS[outcome] ?? outcome.replaceAll('_', ' ')})`
  return `Proposal ${batchId}, ${change} of ${entity}: ${result}${reason}.`
}

const RESULTS: Partial<Record<ActionStatus, string>> = {
  approved_without_execution: 'approved; make the change on the platform yourself',
  verified: 'made and verified',
  execution_uncertain: 'needs review',
}

const ANOTHER_FAILED = 'all or nothing, and another change failed'

const REASONS: Partial<Record<ActionOutcome, string>> = {
  not_executed: ANOTHER_FAILED,
  batch_failed: ANOTHER_FAILED,
}

/** Withdraws the request for approval when nothing of the batch waits any more. */
export async function withdrawApprovalRequest(
  transaction: Transaction,
  { workspaceId, batchId }: Pick<Action, 'workspaceId' | 'batchId'>,
): Promise<void> {
  if (await hasPendingActions(transaction, batchId)) return
  const subject = batchSubject(batchId)
  await withdrawNotifications(transaction, { workspaceId, type: APPROVAL_REQUESTED, subject })
}

function batchSubject(batchId: number) {
  return { type: 'proposal', id: String(batchId) }
}

function batchPath(workspaceId: number, batchId: number): string {
  return `/w/${workspaceId}/approvals/${batchId}`
}
