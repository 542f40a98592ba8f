import Type from 'typebox'
import {
  ApprovalQueue,
  DecidedActionPage,
  DecisionSubmission,
  PendingProposals,
  QueuedBatchAnswer,
  UndoSubmission,
} from '../agents/approvals.ts'
import { AuditPage, AuditQuery, AuditVerification } from '../agents/audit.ts'
import { PendingPolicyReference, PolicyStateAnswer, PolicySubmission } from '../agents/policy.ts'
import { ActionBatchAnswer, ActionList, DecisionReceipt } from '../agents/proposals.ts'
import { ActionQuery } from '../agents/tool-inputs.ts'
import { MessageError } from '../errors.ts'
import { INTEGER_MAX } from '../scalars.ts'
import { ALL_REFUSALS, FOUND_REFUSALS, PageQuery, query, read, write } from './session-operation.ts'

/**
 * What people do with the actions of agents in the dashboard, in the shape of Fastify routes below
 * SESSION_API_PATH. The session cookie is the credential.
 */
export const readApprovalQueue = query('readApprovalQueue', '/workspaces/:workspace/approvals', {
  querystring: PageQuery,
  response: {
    200: ApprovalQueue,
    ...ALL_REFUSALS,
  },
})
export const countApprovals = read('countApprovals', '/workspaces/:workspace/approval-count', {
  200: PendingProposals,
  ...FOUND_REFUSALS,
})
export const listDecidedActions = query(
  'listDecidedActions',
  '/workspaces/:workspace/decided-actions',
  {
    querystring: Type.Object({
      before: Type.Optional(
        Type.Integer({ minimum: 1, maximum: INTEGER_MAX, description: 'Only older actions.' }),
      ),
    }),
    response: { 200: DecidedActionPage, ...ALL_REFUSALS },
  },
)
export const readQueuedBatch = read('readQueuedBatch', '/workspaces/:workspace/approvals/:batch', {
  200: QueuedBatchAnswer,
  ...FOUND_REFUSALS,
})
/** 409: another person has already decided. */
export const decideActions = write(
  'decideActions',
  'POST /workspaces/:workspace/approvals/:batch/decision',
  {
    body: DecisionSubmission,
    response: { 200: ActionBatchAnswer, ...ALL_REFUSALS, 409: MessageError },
  },
)

export const getPolicy = read('getPolicy', '/workspaces/:workspace/policy', {
  200: PolicyStateAnswer,
  ...FOUND_REFUSALS,
})
/**
 * What permits less applies at once; what permits more waits. 403 without a recent confirmation of
 * identity for the latter. 409: the policy has changed since it was displayed.
 */
export const changePolicy = write('changePolicy', 'PUT /workspaces/:workspace/policy', {
  body: PolicySubmission,
  response: { 200: PolicyStateAnswer, ...ALL_REFUSALS, 409: MessageError },
})
/** Another owner makes the waiting policy valid at once. 409: it no longer waits. */
export const confirmPolicy = write(
  'confirmPolicy',
  'POST /workspaces/:workspace/policy/pending/confirmation',
  {
    body: PendingPolicyReference,
    response: { 200: PolicyStateAnswer, ...ALL_REFUSALS, 409: MessageError },
  },
)
/** Any owner. 409: it no longer waits. */
export const cancelPolicy = write(
  'cancelPolicy',
  'POST /workspaces/:workspace/policy/pending/cancellation',
  {
    body: PendingPolicyReference,
    response: { 200: PolicyStateAnswer, ...ALL_REFUSALS, 409: MessageError },
  },
)

export const listAgentActions = query('listAgentActions', '/workspaces/:workspace/actions', {
  querystring: ActionQuery,
  response: {
    200: ActionList,
    ...ALL_REFUSALS,
  },
})
/** 409: not verified, changed since, or an undo is pending or done. */
export const undoAction = write('undoAction', 'POST /workspaces/:workspace/actions/:action/undo', {
  body: UndoSubmission,
  response: { 201: ActionBatchAnswer, ...ALL_REFUSALS, 409: MessageError },
})
export const getActionReceipt = read(
  'getActionReceipt',
  '/workspaces/:workspace/actions/:action/receipt',
  { 200: DecisionReceipt, ...FOUND_REFUSALS },
)

export const readAuditLog = query('readAuditLog', '/workspaces/:workspace/audit', {
  querystring: AuditQuery,
  response: {
    200: AuditPage,
    ...ALL_REFUSALS,
  },
})
export const verifyAuditLog = write(
  'verifyAuditLog',
  'POST /workspaces/:workspace/audit/verification',
  {
    response: { 200: AuditVerification, ...FOUND_REFUSALS },
  },
)
/** A download: one entry per line, oldest first (application/x-ndjson). */
export const exportAuditLog = read('exportAuditLog', '/workspaces/:workspace/audit/export', {
  200: Type.String(),
  ...FOUND_REFUSALS,
})

export const BROWSER_ACTION_OPERATIONS = [
  readApprovalQueue,
  countApprovals,
  listDecidedActions,
  readQueuedBatch,
  decideActions,
  getPolicy,
  changePolicy,
  confirmPolicy,
  cancelPolicy,
  listAgentActions,
  undoAction,
  getActionReceipt,
  readAuditLog,
  verifyAuditLog,
  exportAuditLog,
] as const
