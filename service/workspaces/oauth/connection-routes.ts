import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readFormText, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import { servePages } from '../../runtime/pages/serve-pages.ts'
import { readPageNumber } from '../../runtime/util/list-page.ts'
import { listAdAccounts } from '../users/ad-account-store.ts'
import { requirePageMembership } from '../users/page-membership.ts'
import {
  readWorkspaceParam,
  requirePageSession,
  type WorkspacePageExchange,
} from '../users/page-visit.ts'
import {
  type ConnectionVisit,
  listWorkspaceConnections,
  revokeWorkspaceConnection,
  updateConnection,
  type WorkspaceVisit,
} from './connections.ts'
import { connectionsPage } from './connections-page.ts'
import type { OauthContext } from './oauth-context.ts'

/** The page of a workspace's connections, with forms to change each. */
export function connectionRoutes(app: ServiceApp, context: OauthContext): void {
  const url = '/workspaces/:workspace/connections'
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    pages.get(url, { config }, async (request, reply) => {
      const visit = await requireConnectionsVisit(context, { request, reply })
      if (!visit) return reply
      const { done } = request.query as { done?: unknown }
      const page = readPageNumber(request.query)
      return reply.send(await renderConnections(context, visit, { done, page }))
    })
    for (const [name, change] of Object.entries(CHANGES)) {
      pages.post(`${url}/:connection/${name}`, { config }, async (request, reply) => {
        const visit = await requireConnectionsVisit(context, { request, reply })
        if (!visit) return reply
        const { connection: connectionId } = request.params as { connection: string }
        try {
          await change(context, { ...visit, connectionId }, request.body)
        } catch (error) {
          const errors = toFormErrors(error)
          return reply.code(422).send(await renderConnections(context, visit, { errors }))
        }
        return reply.redirect(`${connectionsPath(visit.workspaceId)}?done=${name}`, 303)
      })
    }
  })
}

const config = { credential: 'none' } as const

/** After signing in, always returns to the list: a form is not sent again. */
function requireConnectionsVisit(
  context: OauthContext,
  { request, reply }: Omit<WorkspacePageExchange, 'returnTo'>,
) {
  const returnTo = connectionsPath(readWorkspaceParam(request))
  return requirePageSession(context, { request, reply, returnTo })
}

function connectionsPath(workspaceId: string): string {
  return `/workspaces/${encodeURIComponent(workspaceId)}/connections`
}

type Change = (context: OauthContext, visit: ConnectionVisit, form: unknown) => Promise<void>

const CHANGES: Record<string, Change> = {
  rename: (context, visit, form) =>
    updateConnection(context, visit, { name: readFormText(form, 'name') }),
  'ad-account': (context, visit, form) =>
    updateConnection(context, visit, { ad_account_id: readFormText(form, 'ad_account_id') }),
  revoke: (context, visit) => revokeWorkspaceConnection(context, visit),
}

const NOTICES: Record<string, string> = {
  rename: 'Agent renamed.',
  'ad-account': 'Ad account changed. The agent must be approved again.',
  revoke: 'Agent revoked. It no longer has access.',
}

interface PageFeedback {
  page?: number
  done?: unknown
  errors?: FormErrors
}

async function renderConnections(
  { database }: OauthContext,
  visit: WorkspaceVisit,
  { page = 1, done, errors = {} }: PageFeedback,
) {
  const membership = await requirePageMembership(database, visit.user, {
    workspaceId: visit.workspaceId,
    action: 'manage_agents',
  })
  const connections = await listWorkspaceConnections(database, visit, page)
  const all = await listAdAccounts(database, membership.workspaceId)
  return connectionsPage({
    user: visit.user,
    membership,
    connections,
    adAccounts: all.filter(({ status }) => status === 'active'),
    notice: NOTICES[String(done)],
    errors,
  })
}
