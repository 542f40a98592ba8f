import { exportAudit } from '../../audit/export-audit.ts'
import { readAudit } from '../../audit/read-audit.ts'
import { findSubjectNames } from '../../audit/subject-name-store.ts'
import { verifyChain } from '../../audit/verify-chain.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { requirePageMembership } from '../../workspaces/users/page-membership.ts'
import { requirePageSession, type WorkspacePageRequest } from '../../workspaces/users/page-visit.ts'
import { hasPermission } from '../../workspaces/users/workspace-role.ts'
import { requireRole } from '../../workspaces/users/workspaces.ts'
import type { AgentsContext } from '../agents-context.ts'
import { verifyProposalRecords } from '../proposals/verify-records.ts'
import { namedSubject } from './audit-entries.ts'
import { type AuditPage, auditForbiddenPage, auditPage } from './audit-page.ts'
import { parseAuditPageQuery } from './audit-query.ts'

const PAGE = { config: { credential: 'none' } } as const
const ENTRIES_MAX = 50

/** Pages to read, verify and export the audit log of a workspace. */
export function auditPageRoutes(pages: ServiceApp, context: AgentsContext): void {
  const url = '/workspaces/:workspace/audit'
  pages.get(url, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const frame = await loadAuditFrame(context, visit)
    if (!frame.mayRead) return reply.code(403).send(auditForbiddenPage(frame))
    return reply.send(await renderAuditLog(context, frame, request.query))
  })
  pages.post(`${url}/verify`, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const frame = await loadAuditFrame(context, visit)
    if (!frame.mayRead) return reply.code(403).send(auditForbiddenPage(frame))
    const { database, auditKeys, now } = context
    const { workspaceId } = frame.membership
    const verification = await verifyChain(database, auditKeys, {
      workspaceId,
      now: now(),
      verifyRecords: verifyProposalRecords,
    })
    return reply.send(await renderAuditLog(context, frame, {}, verification))
  })
  // Where the browser comes back to after signing in, when a signed-out user sent the form.
  pages.get(`${url}/verify`, PAGE, async (request, reply) => {
    const { workspace } = readPathParameters(request.params, 'workspace')
    return reply.redirect(`/workspaces/${encodeURIComponent(workspace)}/audit`, 303)
  })
  pages.get(`${url}/export`, PAGE, async (request, reply) => {
    const visit = await requirePageSession(context, { request, reply })
    if (!visit) return reply
    const intent = { workspaceId: visit.workspaceId, action: 'read_audit' } as const
    const { workspaceId } = await requireRole(context.database, visit.user, intent)
    return reply
      .header('content-type', 'application/x-ndjson; charset=utf-8')
      .header('content-disposition', `attachment; filename="audit-${workspaceId}.ndjson"`)
      .send(exportAudit(context.database, workspaceId))
  })
}

type AuditFrame = Pick<AuditPage, 'user' | 'membership'>

/** Who belongs to the workspace and may not read its log is told so on a page of the workspace. */
async function loadAuditFrame(
  { database }: AgentsContext,
  { user, workspaceId }: WorkspacePageRequest,
) {
  const membership = await requirePageMembership(database, user, { workspaceId })
  return { user, membership, mayRead: hasPermission(membership.role, 'read_audit') }
}

async function renderAuditLog(
  { database }: AgentsContext,
  { user, membership }: AuditFrame,
  given: unknown,
  verification?: AuditPage['verification'],
): Promise<string> {
  const query = parseAuditPageQuery(given)
  const { action, subjectType, subjectId, before } = query
  const entriesPage = await readAudit(database, membership.workspaceId, {
    ...(action && { action }),
    ...(subjectType && { subjectType }),
    ...(subjectId && { subjectId }),
    ...(before && { before }),
    limit: ENTRIES_MAX,
  })
  const subjects = entriesPage.entries.map(namedSubject)
  const subjectNames = await findSubjectNames(database, membership.workspaceId, subjects)
  return auditPage({
    user,
    membership,
    entriesPage,
    subjectNames,
    query,
    ...(verification && { verification }),
  })
}
