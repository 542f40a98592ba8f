import * as operations from '@signalbox/contract/browser/action-operations.ts'
import { BROWSER_PATH } from '@signalbox/contract/browser/people-operations.ts'
import type { ServiceApp } from '../http/service-app.ts'
import type { CurrentPerson } from '../people/current-person.ts'
import { guardSessions } from '../people/guard-sessions.ts'
import { requireRole } from '../people/require-role.ts'
import { readQueue, readQueuedBatch } from './approvals/approval-queue.ts'
import { auditBrowserRoutes } from './audit-browser-routes.ts'
import { decideAndCarryOut } from './executor/decide-and-carry-out.ts'
import type { AgentsContext } from './mcp/agents-context.ts'
import { changePolicy } from './policy/change-policy.ts'
import { readPolicy } from './policy/read-policy.ts'
import { listActions, type ReadScope, readReceipt } from './proposals/read-actions.ts'

/** The dashboard's interface to approvals, policy and audit: the verbs of the pages, as JSON. */
export function actionBrowserRoutes(app: ServiceApp, context: AgentsContext): void {
  app.register(
    async api => {
      guardSessions(api, context)
      approvalRoutes(api, context)
      policyRoutes(api, context)
      actionRoutes(api, context)
      auditBrowserRoutes(api, context)
    },
    { prefix: BROWSER_PATH },
  )
}

function approvalRoutes(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.readApprovalQueue,
    async handler(request) {
      const { page } = request.query as Record<string, unknown>
      return readQueue(context, visitOf(request), { page })
    },
  })
  app.route({
    ...operations.readQueuedBatch,
    handler: async request => readQueuedBatch(context, visitOf(request)),
  })
  app.route({
    ...operations.decideActions,
    handler: async request => decideAndCarryOut(context, visitOf(request), request.body),
  })
}

function policyRoutes(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.getPolicy,
    async handler(request) {
      const { workspaceId } = await scopeOf(context, request)
      return { policy: await readPolicy(context.database, workspaceId) }
    },
  })
  app.route({
    ...operations.changePolicy,
    async handler(request) {
      return { policy: await changePolicy(context, visitOf(request), request.body) }
    },
  })
}

function actionRoutes(app: ServiceApp, context: AgentsContext): void {
  app.route({
    ...operations.listAgentActions,
    async handler(request) {
      const scope = await scopeOf(context, request)
      const { status, page } = request.query as Record<string, unknown>
      return listActions(context, scope, { status, page })
    },
  })
  app.route({
    ...operations.getActionReceipt,
    async handler(request) {
      const scope = await scopeOf(context, request)
      return readReceipt(context, scope, (request.params as PathNames).action)
    },
  })
}

/** Of a path; each route has those that it names. */
interface PathNames {
  workspace: string
  batch: string
  action: string
}

interface Asking {
  person: CurrentPerson
  params: unknown
}

function visitOf({ person, params }: Asking) {
  const { workspace, batch } = params as PathNames
  return { person, workspaceId: workspace, batchId: batch }
}

/** Every action of the workspace, for who belongs to it. */
async function scopeOf({ database }: AgentsContext, asking: Asking): Promise<ReadScope> {
  const { person, workspaceId: given } = visitOf(asking)
  const intent = { workspaceId: given, action: 'read' } as const
  const { workspaceId } = await requireRole(database, person, intent)
  return { workspaceId, adAccountId: null }
}
