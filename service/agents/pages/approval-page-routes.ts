import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import { PageQuery } from '@signalbox/contract/session/session-operation.ts'
import Type from 'typebox'
import type { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../../runtime/http/validator.ts'
import { Notices } from '../../runtime/pages/navigation.ts'
import { pageHeaders } from '../../runtime/pages/serve-pages.ts'
import { requirePageSession, type WorkspacePageRequest } from '../../workspaces/users/page-visit.ts'
import { requirePageMembership } from '../../workspaces/users/workspace-pages.ts'
import type { AgentsContext } from '../agents-context.ts'
import {
  readApprovalQueue,
  readDecidedActions,
  readDecisionRecords,
  readQueuedBatch,
} from '../approvals/approval-queue.ts'
import { decideAndExecute, undoAndExecute } from '../executor/execution-triggers.ts'
import { readPolicy } from '../policy/policy-store.ts'
import { approvalsPage, decidedApprovalsPage } from './approvals-page.ts'
import { batchPage } from './batch-page.ts'
import {
  decisionFormErrors,
  parseDecisionForm,
  type RejectedDecisionForm,
  toDecisionBody,
} from './decision-form.ts'
import { loadPolicy } from './policy-page-routes.ts'
import { parseUndoForm, toUndoError } from './undo-form.ts'

const PAGE = { config: { credential: 'none' } } as const

/** The approval queue, the decided changes, and the page of one proposal with its decision form. */
export function approvalPageRoutes(pages: ServiceApp, context: AgentsContext): void {
  const queueUrl = '/workspaces/:workspace/approvals'
  const batchUrl = `${queueUrl}/:batch`
  pages.get(queueUrl, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    reply.headers(pageHeaders({ hasScript: true }))
    return reply.send(await renderQueue(context, visit, request.query))
  })
  pages.get(batchUrl, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const { query } = request
    reply.headers(pageHeaders({ hasScript: true }))
    return reply.send(await renderBatch(context, toBatchPageRequest(visit, request), { query }))
  })
  undoRoute(pages, context, batchUrl)
  pages.post(batchUrl, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const batch = toBatchPageRequest(visit, request)
    const submitted = parseDecisionForm(request.body)
    try {
      await decideAndExecute(context, batch, toDecisionBody(submitted))
      const notice = submitted.decision === 'approve' ? 'approve' : 'reject'
      return reply.redirect(NOTICES.addTo(pathOf(batch), notice), 303)
    } catch (error) {
      const errors = decisionFormErrors(error)
      const { status } = error as Refusal
      reply.headers(pageHeaders({ hasScript: true }))
      const page = await renderBatch(context, batch, {
        rejectedForm: { ...submitted, errors },
      })
      return reply.code(status).send(page)
    }
  })
}

/** Proposes to undo a verified action, and goes to the page of the new proposal. */
function undoRoute(pages: ServiceApp, context: AgentsContext, batchUrl: string): void {
  pages.post(`${batchUrl}/undo`, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const { actionId, body } = parseUndoForm(request.body)
    try {
      const { batch } = await undoAndExecute(context, { ...visit, actionId }, body)
      return reply.redirect(pathOf({ ...visit, batchId: String(batch.id) }), 303)
    } catch (error) {
      const undoError = toUndoError(error)
      reply.headers(pageHeaders({ hasScript: true }))
      const page = await renderBatch(context, toBatchPageRequest(visit, request), { undoError })
      return reply.code((error as Refusal).status).send(page)
    }
  })
}

interface BatchPageRequest extends WorkspacePageRequest {
  batchId: string
}

function toBatchPageRequest(
  visit: WorkspacePageRequest,
  { params }: { params: unknown },
): BatchPageRequest {
  return { ...visit, batchId: readPathParameters(params, 'batch').batch }
}

function pathOf({ workspaceId, batchId }: BatchPageRequest): string {
  return `/workspaces/${encodeURIComponent(workspaceId)}/approvals/${encodeURIComponent(batchId)}`
}

const queueQuery = new Validator(
  Type.Object({
    ...PageQuery.properties,
    view: Type.Optional(Type.String()),
    before: Type.Optional(Type.String()),
  }),
  { coerceTypes: true },
)

async function renderQueue(context: AgentsContext, visit: WorkspacePageRequest, query: unknown) {
  const { database, now } = context
  const { user, workspaceId } = visit
  const membership = await requirePageMembership(database, user, { workspaceId })
  const { view, page = 1, before } = queueQuery.pickValid(query)
  if (view === 'decided') {
    const decided = await readDecidedActions(database, membership.workspaceId, before)
    return decidedApprovalsPage({ user, membership, decided })
  }
  const queue = await readApprovalQueue(context, visit, { page })
  const policy = await loadPolicy(context, { ...membership, userId: user.userId })
  return approvalsPage({ user, membership, queue, ...policy, now: now() })
}

async function renderBatch(
  context: AgentsContext,
  visit: BatchPageRequest,
  { query, rejectedForm, undoError }: BatchPageState,
): Promise<string> {
  const { database, now } = context
  const { user, workspaceId } = visit
  const membership = await requirePageMembership(database, user, { workspaceId })
  const { batch, recent_changes: recentChanges } = await readQueuedBatch(context, visit)
  const policy = await readPolicy(database, membership.workspaceId, now())
  const ref = { workspaceId: membership.workspaceId, batchId: batch.id }
  const decisionRecords = await readDecisionRecords(context, ref)
  const notice = findNotice(query, batch)
  return batchPage({
    user,
    membership,
    batch,
    policy,
    recentChanges,
    decisionRecords,
    now: now(),
    rejectedForm,
    notice,
    undoError,
  })
}

interface BatchPageState {
  query?: unknown
  rejectedForm?: RejectedDecisionForm
  undoError?: string
}

const NOTICES = new Notices({
  approve: 'Your decision is saved. The results are below.',
  reject: 'Your decision is saved: rejected changes are not made.',
})

/** A crafted link must not claim a decision that was not made. */
function findNotice(query: unknown, { actions }: QueuedBatch): string | undefined {
  const isUndecided = actions.every(({ status }) => status === 'pending')
  return isUndecided ? undefined : NOTICES.find(query)
}
