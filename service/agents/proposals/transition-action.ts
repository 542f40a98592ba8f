import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import type { ActionBatchAnswer } from '@signalbox/contract/agents/proposals.ts'
import type { AuditActor, AuditDetails } from '../../audit/audit-entry.ts'
import type { AuditTrail } from '../../audit/audit-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import {
  type Action,
  type ActionTransition,
  canTransition,
  INITIAL_STATUS_BY_DECISION,
  isFinal,
  type NewAction,
  toProposer,
} from './action.ts'
import { notifyResult, withdrawApprovalRequest } from './action-notifications.ts'
import { findActionsOfBatch, insertAction, lockActions, updateAction } from './action-store.ts'
import type { Batch } from './batch-store.ts'
import { digestAction } from './proposal-records.ts'
import { agentScope, findBatchInScope, readBatch } from './read-actions.ts'
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
