import * as operations from '@signalbox/contract/browser/action-operations.ts'
import type { ServiceApp } from '../http/service-app.ts'
import type { CurrentPerson } from '../people/current-person.ts'
import { requireRole } from '../people/require-role.ts'
import { exportAudit } from './audit/export-audit.ts'
import { readAudit } from './audit/read-audit.ts'
import { verifyChain } from './audit/verify-chain.ts'
import { auditFilter } from './audit-filter.ts'
import type { AgentsContext } from './mcp/agents-context.ts'

/** The log of a workspace for who may read it, below the guard of sessions. */
export function auditBrowserRoutes(app: ServiceApp, context: AgentsContext): void {
  const { database, auditKeys, now } = context
  app.route({
    ...operations.readAuditLog,
    async handler(request) {
      const workspaceId = await readableWorkspace(context, request)
      return readAudit(database, workspaceId, auditFilter(request.query))
    },
  })
  app.route({
    ...operations.verifyAuditLog,
    async handler(request) {
      const workspaceId = await readableWorkspace(context, request)
      return verifyChain(database, auditKeys, { workspaceId, now: now() })
    },
  })
  app.route({
    ...operations.exportAuditLog,
    async handler(request, reply) {
      const workspaceId = await readableWorkspace(context, request)
      return reply
        .type('application/x-ndjson; charset=utf-8')
        .header('content-disposition', `attachment; filename="audit-${workspaceId}.ndjson"`)
        .send(exportAudit(database, workspaceId) as never)
    },
  })
}

interface Asking {
  person: CurrentPerson
  params: unknown
}

async function readableWorkspace(
  { database }: AgentsContext,
  { person, params }: Asking,
): Promise<number> {
  const { workspace } = params as { workspace: string }
  const intent = { workspaceId: workspace, action: 'read_audit' } as const
  const { workspaceId } = await requireRole(database, person, intent)
  return workspaceId
}
