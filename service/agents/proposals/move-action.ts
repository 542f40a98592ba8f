import type { Transaction } from '../../db/database.ts'
import type { AuditAction, AuditActor, AuditDetails } from '../audit/audit-entry.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Action, ActionProposer, NewAction } from './action.ts'
import { type ActionMove, BORN_STATUSES, isFinal, mayMove } from './action-moves.ts'
import { insertAction, updateAction } from './action-store.ts'
import { receiptDocument } from './receipt-document.ts'
import { insertReceipt } from './receipt-store.ts'

/** What the move writes beside the status, and who made it. */
export interface MoveOrder extends ActionMove {
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
export async function moveAction(
  transaction: Transaction,
  audit: AuditTrail,
  { action, ...order }: MoveOrder & { action: Action },
): Promise<Action> {
  const { to, outcome, at, changes } = order
  if (!mayMove(action.status, to)) {
    throw new Error(`an action does not move from ${action.status} to ${to}`)
  }
  const finishedAt = isFinal(to) ? at : null
  const moved: Action = { ...action, ...changes, status: to, outcome, finishedAt, updatedAt: at }
  if (!(await updateAction(transaction, moved, action.status))) {
    throw new Error(`action ${action.id} was moved by somebody else; it was not locked`)
  }
  await writeDown(transaction, audit, { ...order, action: moved })
  return moved
}

/** Stores an action that was judged just now, with its first entry, and its receipt if it ended. */
export async function keepNewAction(
  transaction: Transaction,
  audit: AuditTrail,
  { batchId, action, proposer, expiresAt }: NewActionOrder,
): Promise<Action> {
  const { createdAt: at, status, policyDecision, policyEvidence, policyReasons } = action
  if (status !== BORN_STATUSES[policyDecision]) {
    throw new Error(`an action is not born ${status} by the decision ${policyDecision}`)
  }
  const id = await insertAction(transaction, batchId, action)
  const kept: Action = {
    ...action,
    ...UNDECIDED,
    ...{ id, batchId, proposer, expiresAt, updatedAt: at },
    finishedAt: isFinal(status) ? at : null,
  }
  await writeDown(transaction, audit, {
    ...{ action: kept, at, audit: BIRTHS[policyDecision] },
    actor: { type: proposer.kind, id: String(proposer.id) },
    details: {
      policy_version: policyEvidence.policy_version,
      reason_codes: policyReasons.map(({ code }) => code),
    },
  })
  return kept
}

export interface NewActionOrder {
  batchId: number
  action: NewAction
  proposer: ActionProposer
  expiresAt: Date
}

const BIRTHS = {
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

type Written = Pick<MoveOrder, 'at' | 'actor' | 'audit' | 'details'> & { action: Action }

async function writeDown(
  transaction: Transaction,
  trail: AuditTrail,
  { action, at, actor, audit, details = {} }: Written,
): Promise<void> {
  const { id: actionId, workspaceId, status, outcome, batchId } = action
  const receipt = isFinal(status) ? receiptDocument(action) : null
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
