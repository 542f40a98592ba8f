import { AUDIT_SUBJECT_CHARACTERS_MAX, AuditQuery } from '@signalbox/contract/agents/audit.ts'
import { AUDIT_ACTIONS, AUDIT_SUBJECT_TYPES } from '@signalbox/contract/agents/audit-actions.ts'
import { stringEnum } from '@signalbox/contract/scalars.ts'
import * as operations from '@signalbox/contract/session/action-operations.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import Type from 'typebox'
import { exportAudit, readAudit, type AuditQuery as StoredAuditQuery } from '../audit/read-audit.ts'
import { verifyChain } from '../audit/verify-chain.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../runtime/http/validator.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { requireSession } from '../workspaces/users/signed-in-session.ts'
import { requireRole } from '../workspaces/users/workspaces.ts'
import type { AgentsContext } from './agents-context.ts'
import {
  countApprovals,
  readApprovalQueue,
  readDecidedActions,
  readQueuedBatch,
} from './approvals/approval-queue.ts'
import { decideAndExecute, undoAndExecute } from './executor/execution-triggers.ts'
import { changePolicy } from './policy/change-policy.ts'
import {
  cancelPendingPolicy,
  confirmPendingPolicy,
  readPolicyView,
} from './policy/pending-policy.ts'
import { listActions, type ReadScope, readReceipt } from './proposals/read-actions.ts'
import { verifyProposalRecords } from './proposals/verify-records.ts'

/** The JSON API of the dashboard for approvals, the policy and the audit log. */
export function actionSessionRoutes(app: ServiceApp, context: AgentsContext): void {
  app.register(
    async api => {
      requireSession(api, context)
      approvalRoutes(api, context)
      policyRoutes(api, context)
      actionRoutes(api, context)
      auditSessionRoutes(api, context)
    },
    { prefix: SESSION_API_PATH },
  )
}

function approvalRoutes(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.readApprovalQueue,
    async handler(request) {
      return readApprovalQueue(context, toWorkspaceScope(request), request.query)
    },
  })
  app.route({
    ...operations.countApprovals,
    async handler(request) {
      return { pending: await countApprovals(context, toWorkspaceScope(request)) }
    },
  })
  app.route({
    ...operations.listDecidedActions,
    handler: async request => readDecidedActions(context, toWorkspaceScope(request), request.query),
  })
  app.route({
    ...operations.readQueuedBatch,
    handler: async request => readQueuedBatch(context, toBatchScope(request)),
  })
  app.route({
    ...operations.decideActions,
    handler: async request => decideAndExecute(context, toBatchScope(request), request.body),
  })
}

function policyRoutes(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.getPolicy,
    async handler(request) {
      return showPolicy(context, request)
    },
  })
  app.route({
    ...operations.changePolicy,
    async handler(request) {
      await changePolicy(context, toWorkspaceScope(request), request.body)
      return showPolicy(context, request)
    },
  })
  app.route({
    ...operations.confirmPolicy,
    async handler(request) {
      await confirmPendingPolicy(context, toWorkspaceScope(request), request.body)
      return showPolicy(context, request)
    },
  })
  app.route({
    ...operations.cancelPolicy,
    async handler(request) {
      await cancelPendingPolicy(context, toWorkspaceScope(request), request.body)
      return showPolicy(context, request)
    },
  })
}

async function showPolicy(context: AgentsContext, request: SignedInRequest) {
  const { workspaceId } = await requireReadScope(context, request)
  return readPolicyView(context, { workspaceId, userId: request.user.userId })
}

function actionRoutes(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.listAgentActions,
    async handler(request) {
      const scope = await requireReadScope(context, request)
      return listActions(context, scope, request.query)
    },
  })
  app.route({
    ...operations.undoAction,
    async handler(request, reply) {
      const { action: actionId } = readPathParameters(request.params, 'action')
      const undo = { ...toWorkspaceScope(request), actionId }
      return reply.code(201).send(await undoAndExecute(context, undo, request.body))
    },
  })
  app.route({
    ...operations.getActionReceipt,
    async handler(request) {
      const scope = await requireReadScope(context, request)
      const { action } = readPathParameters(request.params, 'action')
      return readReceipt(context, scope, action)
    },
  })
}

interface SignedInRequest {
  user: CurrentUser
  params: unknown
}

function toWorkspaceScope({ user, params }: SignedInRequest) {
  return { user, workspaceId: readPathParameters(params, 'workspace').workspace }
}

function toBatchScope(request: SignedInRequest) {
  const { batch: batchId } = readPathParameters(request.params, 'batch')
  return { ...toWorkspaceScope(request), batchId }
}

/** Members may read every action of their workspace. */
async function requireReadScope(
  { database }: AgentsContext,
  request: SignedInRequest,
): Promise<ReadScope> {
  const { user, workspaceId: given } = toWorkspaceScope(request)
  const intent = { workspaceId: given, action: 'read' } as const
  const { workspaceId } = await requireRole(database, user, intent)
  return { workspaceId, adAccountId: null }
}

function auditSessionRoutes(app: ServiceApp, context: AgentsContext): void {
  const { database, auditKeys, contractKeys, now } = context
  app.route({
    ...operations.readAuditLog,
    async handler(request) {
      const workspaceId = await requireReadableWorkspace(context, request)
      return readAudit(database, workspaceId, readAuditQuery(request.query))
    },
  })
  app.route({
    ...operations.verifyAuditLog,
    async handler(request) {
      const workspaceId = await requireReadableWorkspace(context, request)
      const verifyRecords = verifyProposalRecords
      return verifyChain(database, auditKeys, { workspaceId, now: now(), verifyRecords })
    },
  })
  app.route({
    ...operations.exportAuditLog,
    async handler(request, reply) {
      const workspaceId = await requireReadableWorkspace(context, request)
      return reply
        .type('application/x-ndjson; charset=utf-8')
        .header('content-disposition', `attachment; filename="audit-${workspaceId}.ndjson"`)
        .send(exportAudit(database, { workspaceId, signingKey: contractKeys.current }) as never)
    },
  })
}

async function requireReadableWorkspace(
  { database }: AgentsContext,
  { user, params }: SignedInRequest,
): Promise<number> {
  const { workspace } = readPathParameters(params, 'workspace')
  const intent = { workspaceId: workspace, action: 'read_audit' } as const
  const { workspaceId } = await requireRole(database, user, intent)
  return workspaceId
}

const LIMIT_DEFAULT = 50
const ENTRIES_MAX = 200

const auditValidator = new Validator(
  Type.Object({
    ...AuditQuery.properties,
    action: Type.Optional(stringEnum(AUDIT_ACTIONS)),
    subject_type: Type.Optional(stringEnum(AUDIT_SUBJECT_TYPES)),
  }),
  {
    coerceTypes: true,
    textMembers: ['subject_id'],
    members: {
      before: { error: 'The before field must be an integer of at least 1.' },
      action: { error: `The action field must be one of: ${AUDIT_ACTIONS.join(', ')}.` },
      subject_type: {
        error: `The subject_type field must be one of: ${AUDIT_SUBJECT_TYPES.join(', ')}.`,
      },
      subject_id: {
        error: `The subject_id field has at most ${AUDIT_SUBJECT_CHARACTERS_MAX} characters.`,
      },
      limit: { error: 'The limit field must be an integer of at least 1.' },
    },
  },
)

/** Throws a 422 refusal with every invalid parameter. */
function readAuditQuery(query: unknown): StoredAuditQuery {
  const { before, action, limit = LIMIT_DEFAULT, ...subject } = auditValidator.validate(query)
  return {
    before,
    action,
    subjectType: subject.subject_type,
    subjectId: subject.subject_id,
    limit: Math.min(limit, ENTRIES_MAX),
  }
}
