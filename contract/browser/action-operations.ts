import Type, { type TSchema } from 'typebox'
import {
  ApprovalQueue,
  DecisionSubmission,
  QueuedBatchAnswer,
  UndoSubmission,
} from '../agents/approvals.ts'
import { AuditPage, AuditVerification } from '../agents/audit.ts'
import { PolicyAnswer, PolicySubmission } from '../agents/policy.ts'
import { ActionBatchAnswer, ActionList, DecisionReceipt } from '../agents/proposals.ts'
import { MessageError, ValidationError } from '../errors.ts'

/** 401: not signed in. 403: the request comes from another site, or the role does not allow it. */
const REFUSALS = { 401: MessageError, 403: MessageError, 404: MessageError } as const
const CHECKED_REFUSALS = { ...REFUSALS, 422: ValidationError } as const

/**
 * What people do with the actions of agents in the dashboard, in the shape of Fastify routes below
 * BROWSER_PATH. The session cookie is the credential. Paths are below one workspace.
 */
export const readApprovalQueue = operation('readApprovalQueue', 'GET /approvals', {
  response: { 200: ApprovalQueue, ...CHECKED_REFUSALS },
})
export const readQueuedBatch = operation('readQueuedBatch', 'GET /approvals/:batch', {
  response: { 200: QueuedBatchAnswer, ...REFUSALS },
})
/** 409: another person has already decided. */
export const decideActions = operation('decideActions', 'POST /approvals/:batch/decision', {
  body: DecisionSubmission,
  response: { 200: ActionBatchAnswer, ...CHECKED_REFUSALS, 409: MessageError },
})

export const getPolicy = operation('getPolicy', 'GET /policy', {
  response: { 200: PolicyAnswer, ...REFUSALS },
})
/** 409: the policy has changed since it was displayed. */
export const changePolicy = operation('changePolicy', 'PUT /policy', {
  body: PolicySubmission,
  response: { 200: PolicyAnswer, ...CHECKED_REFUSALS, 409: MessageError },
})

export const listAgentActions = operation('listAgentActions', 'GET /actions', {
  response: { 200: ActionList, ...CHECKED_REFUSALS },
})
/** 409: not verified, changed since, or an undo is pending or done. */
export const undoAction = operation('undoAction', 'POST /actions/:action/undo', {
  body: UndoSubmission,
  response: { 201: ActionBatchAnswer, ...CHECKED_REFUSALS, 409: MessageError },
})
export const getActionReceipt = operation('getActionReceipt', 'GET /actions/:action/receipt', {
  response: { 200: DecisionReceipt, ...REFUSALS },
})

export const readAuditLog = operation('readAuditLog', 'GET /audit', {
  response: { 200: AuditPage, ...CHECKED_REFUSALS },
})
export const verifyAuditLog = operation('verifyAuditLog', 'POST /audit/verification', {
  response: { 200: AuditVerification, ...REFUSALS },
})
/** A download: one entry per line, oldest first (application/x-ndjson). */
export const exportAuditLog = operation('exportAuditLog', 'GET /audit/export', {
  response: { 200: Type.String(), ...REFUSALS },
})

export const BROWSER_ACTION_OPERATIONS = [
  readApprovalQueue,
  readQueuedBatch,
  decideActions,
  getPolicy,
  changePolicy,
  listAgentActions,
  undoAction,
  getActionReceipt,
  readAuditLog,
  verifyAuditLog,
  exportAuditLog,
] as const

type Method = 'GET' | 'POST' | 'PUT'

function operation<Schema extends { body?: TSchema; response: Record<number, TSchema> }>(
  operationId: string,
  route: `${Method} /${string}`,
  schema: Schema,
) {
  const [method, path] = route.split(' ') as [Method, string]
  const url = `/workspaces/:workspace${path}`
  return { method, url, config: { operationId, credential: 'session' }, schema } as const
}
