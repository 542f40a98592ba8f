import * as operations from '@signalbox/contract/session/action-operations.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { AUDIT_ACTIONS, AUDIT_SUBJECT_TYPES } from '../audit/audit-entry.ts'
import { exportAudit } from '../audit/export-audit.ts'
import { type AuditQuery, readAudit } from '../audit/read-audit.ts'
import { verifyChain } from '../audit/verify-chain.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { addTextError, FieldErrorList } from '../runtime/http/validator.ts'
import type { CurrentUser } from '../workspaces/users/session-store.ts'
import { requireSession } from '../workspaces/users/signed-in-session.ts'
import { requireRole } from '../workspaces/users/workspaces.ts'
import type { AgentsContext } from './agents-context.ts'
import { readApprovalQueue, readQueuedBatch } from './approvals/approval-queue.ts'
import { decideAndExecute, undoAndExecute } from './executor/execution-triggers.ts'
import { changePolicy } from './policy/change-policy.ts'
import { readPolicy } from './policy/policy-store.ts'
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
      const { page } = request.query as Record<string, unknown>
      return readApprovalQueue(context, toRequestScope(request), { page })
    },
  })
  app.route({
    ...operations.readQueuedBatch,
    handler: async request => readQueuedBatch(context, toRequestScope(request)),
  })
  app.route({
    ...operations.decideActions,
    handler: async request => decideAndExecute(context, toRequestScope(request), request.body),
  })
}

function policyRoutes(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.getPolicy,
    async handler(request) {
      const { workspaceId } = await requireReadScope(context, request)
      return { policy: await readPolicy(context.database, workspaceId) }
    },
  })
  app.route({
    ...operations.changePolicy,
    async handler(request) {
      return { policy: await changePolicy(context, toRequestScope(request), request.body) }
    },
  })
}

function actionRoutes(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.listAgentActions,
    async handler(request) {
      const scope = await requireReadScope(context, request)
      const { status, page } = request.query as Record<string, unknown>
      return listActions(context, scope, { status, page })
    },
  })
  app.route({
    ...operations.undoAction,
    async handler(request, reply) {
      const { action: actionId } = request.params as PathParams
      const undo = { ...toRequestScope(request), actionId }
      return reply.code(201).send(await undoAndExecute(context, undo, request.body))
    },
  })
  app.route({
    ...operations.getActionReceipt,
    async handler(request) {
      const scope = await requireReadScope(context, request)
      return readReceipt(context, scope, (request.params as PathParams).action)
    },
  })
}

/** Each route has a subset of these. */
interface PathParams {
  workspace: string
  batch: string
  action: string
}

interface SignedInRequest {
  user: CurrentUser
  params: unknown
}

function toRequestScope({ user, params }: SignedInRequest) {
  const { workspace, batch } = params as PathParams
  return { user, workspaceId: workspace, batchId: batch }
}

/** Members may read every action of their workspace. */
async function requireReadScope(
  { database }: AgentsContext,
  request: SignedInRequest,
): Promise<ReadScope> {
  const { user, workspaceId: given } = toRequestScope(request)
  const intent = { workspaceId: given, action: 'read' } as const
  const { workspaceId } = await requireRole(database, user, intent)
  return { workspaceId, adAccountId: null }
}

function auditSessionRoutes(app: ServiceApp, context: AgentsContext): void {
  const { database, auditKeys, now } = context
  app.route({
    ...operations.readAuditLog,
    async handler(request) {
      const workspaceId = await requireReadableWorkspace(context, request)
      return readAudit(database, workspaceId, parseAuditFilter(request.query))
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
        .send(exportAudit(database, workspaceId) as never)
    },
  })
}

async function requireReadableWorkspace(
  { database }: AgentsContext,
  { user, params }: SignedInRequest,
): Promise<number> {
  const { workspace } = params as { workspace: string }
  const intent = { workspaceId: workspace, action: 'read_audit' } as const
  const { workspaceId } = await requireRole(database, user, intent)
  return workspaceId
}

const LIMIT_DEFAULT = 50
const ENTRIES_MAX = 200
const SUBJECT_CHARACTERS_MAX = 100

/**
 * Parses the query parameters `before`, `action`, `subject_type`, `subject_id` and `limit`. Throws
 * a 422 refusal with every invalid one.
 */
function parseAuditFilter(query: unknown): AuditQuery {
  const params = query as Record<string, unknown>
  const errors = new FieldErrorList()
  const filter = {
    before: parseCount(errors, 'before', params.before),
    action: parseChoice(errors, 'action', { text: params.action, options: AUDIT_ACTIONS }),
    subjectType: parseChoice(errors, 'subject_type', {
      text: params.subject_type,
      options: AUDIT_SUBJECT_TYPES,
    }),
    subjectId: parseSubjectId(errors, params.subject_id),
    limit: Math.min(parseCount(errors, 'limit', params.limit) ?? LIMIT_DEFAULT, ENTRIES_MAX),
  }
  if (!errors.isEmpty) throw Refusal.ofFields(errors.toErrors())
  return filter
}

function parseCount(errors: FieldErrorList, field: string, text: unknown): number | undefined {
  if (text === undefined) return undefined
  const number = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (number >= 1) return number
  errors.add(field, `The ${field} field must be an integer of at least 1.`)
  return undefined
}

function parseChoice(
  errors: FieldErrorList,
  field: string,
  { text, options }: { text: unknown; options: readonly string[] },
): string | undefined {
  if (text === undefined) return undefined
  const known = options.find(option => option === text)
  if (known === undefined)
    errors.add(field, `The ${field} field must be one of: ${options.join(', ')}.`)
  return known
}

function parseSubjectId(errors: FieldErrorList, text: unknown): string | undefined {
  if (text === undefined) return undefined
  addTextError(errors, 'subject_id', text)
  if (typeof text === 'string' && text.length <= SUBJECT_CHARACTERS_MAX) return text
  errors.add('subject_id', `The subject_id field has at most ${SUBJECT_CHARACTERS_MAX} characters.`)
  return undefined
}
