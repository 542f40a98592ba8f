import type { QueuedBatch } from '@signalbox/contract/agents/approvals.ts'
import type { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { requireRole, rowId } from '../people/require-role.ts'
import { readQueue, readQueuedBatch } from './approvals/approval-queue.ts'
import { approvalsPage } from './approvals-page.ts'
import { type BatchPage, batchPage } from './batch-page.ts'
import { decisionBody, decisionFaults, typedDecision } from './decision-form.ts'
import type { DecisionTyped } from './decision-form-page.ts'
import { decideAndCarryOut } from './executor/decide-and-carry-out.ts'
import type { AgentsContext } from './mcp/agents-context.ts'
import { type PageVisit, pageVisit } from './page-visit.ts'
import { readPolicy } from './policy/read-policy.ts'
import { readTraces } from './read-traces.ts'

const PAGE = { config: { credential: 'none' } } as const

/** The queue of what waits for a person, and the page of one proposal with the form to decide. */
export function approvalPageRoutes(pages: ServiceApp, context: AgentsContext): void {
  const queueUrl = '/workspaces/:workspace/approvals'
  const batchUrl = `${queueUrl}/:batch`
  pages.get(queueUrl, PAGE, async (request, reply) => {
    const visit = await pageVisit(context, { request, reply })
    if (!visit) return reply
    const { page } = request.query as { page?: unknown }
    return reply.send(await shownQueue(context, visit, page))
  })
  pages.get(batchUrl, PAGE, async (request, reply) => {
    const visit = await pageVisit(context, { request, reply })
    if (!visit) return reply
    const { done } = request.query as { done?: unknown }
    return reply.send(await shownBatch(context, batchVisit(visit, request), { done }))
  })
  pages.post(batchUrl, PAGE, async (request, reply) => {
    const visit = await pageVisit(context, { request, reply })
    if (!visit) return reply
    const batch = batchVisit(visit, request)
    const typed = typedDecision(request.body)
    try {
      const { decision, ...body } = decisionBody(typed)
      await decideAndCarryOut(context, batch, { decision, ...body })
      return reply.redirect(`${pathOf(batch)}?done=${decision}`, 303)
    } catch (error) {
      const faults = decisionFaults(error)
      const { status } = error as Refusal
      const page = await shownBatch(context, batch, { typed: { ...typed, faults } })
      return reply.code(status).send(page)
    }
  })
}

interface BatchVisit extends PageVisit {
  batchId: string
}

function batchVisit(visit: PageVisit, { params }: { params: unknown }): BatchVisit {
  return { ...visit, batchId: (params as { batch: string }).batch }
}

function pathOf({ workspaceId, batchId }: BatchVisit): string {
  return `/workspaces/${encodeURIComponent(workspaceId)}/approvals/${encodeURIComponent(batchId)}`
}

async function shownQueue(context: AgentsContext, visit: PageVisit, page: unknown) {
  const { person, workspaceId } = visit
  const intent = { workspaceId, action: 'read' } as const
  const membership = await requireRole(context.database, person, intent)
  const queue = await readQueue(context, visit, { page: rowId(page) ?? 1 })
  return approvalsPage({ person, membership, queue, now: context.now() })
}

async function shownBatch(
  context: AgentsContext,
  visit: BatchVisit,
  { done, typed }: { done?: unknown; typed?: DecisionTyped },
): Promise<string> {
  const { database, now } = context
  const { person, workspaceId } = visit
  const membership = await requireRole(database, person, { workspaceId, action: 'read' })
  const { batch } = await readQueuedBatch(context, visit)
  const { execution_mode: mode } = await readPolicy(database, membership.workspaceId)
  const name = { workspaceId: membership.workspaceId, batchId: batch.id }
  const traces = await readTraces(context, name)
  const notice = noticeOf(done, batch)
  const page = { person, membership, batch, mode, traces, now: now(), notice }
  return batchPage({ ...page, ...(typed && { typed }) } satisfies BatchPage)
}

const NOTICES: Record<string, string> = {
  approve: 'Your decision is kept. What became of each change is below.',
  reject: 'Your decision is kept: what you rejected is not carried out.',
}

/** A link cannot make the page say that something was decided which nobody decided. */
function noticeOf(done: unknown, { actions }: QueuedBatch): string | undefined {
  const isUntouched = actions.every(({ status }) => status === 'pending')
  if (isUntouched || typeof done !== 'string' || !Object.hasOwn(NOTICES, done)) return undefined
  return NOTICES[done]
}
