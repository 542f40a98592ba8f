import type { AuditAction, AuditActor, AuditDetails } from '../../audit/audit-entry.ts'
import type { AuditTrail } from '../../audit/audit-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import {
  type Action,
  type ActionTransition,
  canTransition,
  INITIAL_STATUS_BY_DECISION,
  isFinal,
  type NewAction,
} from './action.ts'
import { notifyResult, withdrawApprovalRequest } from './action-notifications.ts'
import { insertAction, updateAction } from './action-store.ts'
import type { Batch } from './batch-store.ts'
import { digestAction } from './proposal-records.ts'
import { buildReceiptDocument, insertReceipt } from './receipt-store.ts'

export interface TransitionInput extends ActionTransition {
  at: Date
  actor: AuditActor
  auditAction: AuditAction
  details?: AuditDetails
  /** Columns that the transition sets. */
  changes?: Partial<
    Pick<
      Action,
      | 'after'
      | 'executionStartedAt'
      | 'executedAt'
      | 'decidedBy'
      | 'decidedAt'
      | 'decisionReason'
      | 'decisionContext'
    >
  >
}

/**
 * The only function that changes the status of an action. Writes the row, its audit entry and, for
 * a final status, its receipt. The caller must have locked the row (`lockActions`). Throws on a
 * transition that is not in the table, which is a bug.
 */
export async function transitionAction(
  transaction: Transaction,
  audit: AuditTrail,
  { action, ...input }: TransitionInput & { action: Action },
): Promise<Action> {
  const { to, outcome, at, changes } = input
  if (!canTransition(action.status, to)) {
    throw new Error(`an action cannot go from ${action.status} to ${to}`)
  }
  const finishedAt = isFinal(to) ? at : null
  const updated: Action = { ...action, ...changes, status: to, outcome, finishedAt, updatedAt: at }
  if (!(await updateAction(transaction, updated, action.status))) {
    throw new Error(`action ${action.id} changed concurrently; it was not locked`)
  }
  if (action.status === 'pending') await withdrawApprovalRequest(transaction, action)
  await notifyResult(transaction, updated)
  await recordTransition(transaction, audit, { ...input, action: updated })
  return updated
}

/** Stores an evaluated action with its first audit entry, and its receipt if it is final. */
export async function createAction(
  transaction: Transaction,
  audit: AuditTrail,
  { batch, action }: NewActionInput,
): Promise<Action> {
  const { id: batchId, proposer, expiresAt, isAllOrNothing } = batch
  const { createdAt: at, status, policyDecision, policyEvidence, policyReasons } = action
  if (status !== INITIAL_STATUS_BY_DECISION[policyDecision]) {
    throw new Error(`the decision ${policyDecision} does not create an action that is ${status}`)
  }
  const id = await insertAction(transaction, batchId, action)
  const created: Action = {
    ...action,
    ...UNDECIDED,
    id,
    batchId,
    proposer,
    isAllOrNothing,
    expiresAt,
    updatedAt: at,
    finishedAt: isFinal(status) ? at : null,
  }
  await recordTransition(transaction, audit, {
    action: created,
    at,
    auditAction: INITIAL_AUDIT_ACTIONS[policyDecision],
    actor: { type: proposer.kind, id: String(proposer.id) },
    details: {
      policy_version: policyEvidence.policy_version,
      reason_codes: policyReasons.map(({ code }) => code),
      record_sha256: digestAction(batchId, action),
    },
  })
  return created
}

export interface NewActionInput {
  batch: Pick<Batch, 'id' | 'proposer' | 'expiresAt' | 'isAllOrNothing'>
  action: NewAction
}

const INITIAL_AUDIT_ACTIONS = {
  allow: 'action.allowed',
  require_approval: 'action.approval_required',
  block: 'action.blocked',
} as const satisfies Record<Action['policyDecision'], AuditAction>

const UNDECIDED = {
  outcome: null,
  after: null,
  decidedBy: null,
  decidedAt: null,
  decisionReason: null,
  decisionContext: null,
  executedAt: null,
  changeRequest: null,
  rollbackRequestedAt: null,
} as const

type RecordedTransition = Pick<TransitionInput, 'at' | 'actor' | 'auditAction' | 'details'> & {
  action: Action
}

async function recordTransition(
  transaction: Transaction,
  audit: AuditTrail,
  { action, at, actor, auditAction, details = {} }: RecordedTransition,
): Promise<void> {
  const { id: actionId, workspaceId, status, outcome, batchId } = action
  const receipt = isFinal(status) ? buildReceiptDocument(action) : null
  const entry = await audit.append(transaction, {
    workspaceId,
    at,
    actor,
    action: auditAction,
    subject: { type: 'action', id: String(actionId) },
    details: {
      ...details,
      batch_id: batchId,
      status,
      outcome,
      ...(receipt && { document_sha256: receipt.documentSha256.toString('hex') }),
    },
  })
  if (receipt) await insertReceipt(transaction, { actionId, workspaceId, ...receipt, ...entry })
}
