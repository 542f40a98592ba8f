import type { AuditAction, AuditActor, AuditDetails } from '../../audit/audit-entry.ts'
import type { AuditTrail } from '../../audit/audit-store.ts'
import type { Transaction } from '../../db/database.ts'
import {
  type Action,
  type ActionProposer,
  type ActionTransition,
  canTransition,
  INITIAL_STATUS_BY_DECISION,
  isFinal,
  type NewAction,
} from './action.ts'
import { insertAction, updateAction } from './action-store.ts'
import { buildReceiptDocument, insertReceipt } from './receipt-store.ts'

/** What the move writes beside the status, and who made it. */
export interface TransitionInput extends ActionTransition {
  at: Date
  actor: AuditActor
  /** How the log calls it. */
  audit: AuditAction
  details?: AuditDetails
  /** Columns that this move fills. */
  changes?: Partial<
    Pick<
      Action,
      | ('after' | 'executionStartedAt' | 'executedAt')
      | ('decidedBy' | 'decidedAt' | 'decisionReason')
    >
  >
}

/**
 * The one way in which an action's status changes: the row, its entry in the log and, when it ends,
 * its receipt are written together. The caller holds the row (`lockActions`); a move that is not in
 * the table is a bug and throws.
 */
export async function transitionAction(
  transaction: Transaction,
  audit: AuditTrail,
  { action, ...order }: TransitionInput & { action: Action },
): Promise<Action> {
  const { to, outcome, at, changes } = order
  if (!canTransition(action.status, to)) {
    throw new Error(`an action does not move from ${action.status} to ${to}`)
  }
  const finishedAt = isFinal(to) ? at : null
  const moved: Action = { ...action, ...changes, status: to, outcome, finishedAt, updatedAt: at }
  if (!(await updateAction(transaction, moved, action.status))) {
    throw new Error(`action ${action.id} was moved by somebody else; it was not locked`)
  }
  await recordTransition(transaction, audit, { ...order, action: moved })
  return moved
}

/** Stores an action that was judged just now, with its first entry, and its receipt if it ended. */
export async function createAction(
  transaction: Transaction,
  audit: AuditTrail,
  { batchId, action, proposer, expiresAt }: NewActionInput,
): Promise<Action> {
  const { createdAt: at, status, policyDecision, policyEvidence, policyReasons } = action
  if (status !== INITIAL_STATUS_BY_DECISION[policyDecision]) {
    throw new Error(`an action is not born ${status} by the decision ${policyDecision}`)
  }
  const id = await insertAction(transaction, batchId, action)
  const kept: Action = {
    ...action,
    ...UNDECIDED,
    ...{ id, batchId, proposer, expiresAt, updatedAt: at },
    finishedAt: isFinal(status) ? at : null,
  }
  await recordTransition(transaction, audit, {
    ...{ action: kept, at, audit: INITIAL_AUDIT_ACTIONS[policyDecision] },
    actor: { type: proposer.kind, id: String(proposer.id) },
    details: {
      policy_version: policyEvidence.policy_version,
      reason_codes: policyReasons.map(({ code }) => code),
    },
  })
  return kept
}

export interface NewActionInput {
  batchId: number
  action: NewAction
  proposer: ActionProposer
  expiresAt: Date
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
  executedAt: null,
} as const

type RecordedTransition = Pick<TransitionInput, 'at' | 'actor' | 'audit' | 'details'> & {
  action: Action
}

async function recordTransition(
  transaction: Transaction,
  trail: AuditTrail,
  { action, at, actor, audit, details = {} }: RecordedTransition,
): Promise<void> {
  const { id: actionId, workspaceId, status, outcome, batchId } = action
  const receipt = isFinal(status) ? buildReceiptDocument(action) : null
  const entry = await trail.append(transaction, {
    workspaceId,
    at,
    actor,
    action: audit,
    subject: { type: 'action', id: String(actionId) },
    details: {
      ...details,
      ...{ batch_id: batchId, status, outcome },
      ...(receipt && { document_sha256: receipt.documentSha256.toString('hex') }),
    },
  })
  if (receipt) await insertReceipt(transaction, { actionId, workspaceId, ...receipt, ...entry })
}
