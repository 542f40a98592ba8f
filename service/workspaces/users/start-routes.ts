import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { acceptsHtml } from '../../runtime/pages/error-pages.ts'
import { PUBLIC, readLastWorkspace, requireSignIn, seeOther } from './page-visit.ts'
import type { UsersContext } from './users-context.ts'
import { listMemberships } from './workspace-store.ts'

/**
 * The address that the start of the service prints: it leads a browser to sign in, or to the
 * workspace that the user opened last. Programs get the 404 that the contract documents.
 */
export function startRoutes(app: ServiceApp, context: UsersContext): void {
  const { database, publicOrigin } = context
  app.get('/', PUBLIC, async (request, reply) => {
    reply.header('vary', 'accept')
    const { headers } = request
    // The router takes a target that is no path, such as `*`, to this route.
    const isPath = request.url.startsWith('/') || request.url.startsWith('http')
    if (!isPath || !acceptsHtml(headers.accept))
      throw Refusal.notFound('There is nothing at this path.')
    const user = await requireSignIn(context, { request, reply, returnTo: '/' })
    if (!user) return reply
    const memberships = await listMemberships(database, user.userId)
    const last = readLastWorkspace(headers, publicOrigin())
    const opened =
      memberships.find(({ workspaceId }) => String(workspaceId) === last) ?? memberships[0]
    return seeOther(reply, opened ? `/w/${opened.workspaceId}` : '/workspaces')
  })
}
