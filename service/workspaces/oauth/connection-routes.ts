import { ConnectionChange } from '@signalbox/contract/session/agents.ts'
import Type from 'typebox'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import { Notices } from '../../runtime/pages/page-links.ts'
import { servePages } from '../../runtime/pages/serve-pages.ts'
import { listAdAccounts } from '../users/ad-account-store.ts'
import { requirePageMembership } from '../users/page-membership.ts'
import {
  readPageNumber,
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
      const page = readPageNumber(request.query)
      const notice = NOTICES.find(request.query)
      return reply.send(await renderConnections(context, visit, { notice, page }))
    })
    for (const { name, change } of CHANGES) {
      pages.post(`${url}/:connection/${name}`, { config }, async (request, reply) => {
        const visit = await requireConnectionsVisit(context, { request, reply })
        if (!visit) return reply
        const { connection: connectionId } = readPathParameters(request.params, 'connection')
        try {
          await change(context, { ...visit, connectionId }, request.body)
        } catch (error) {
          const errors = toFormErrors(error)
          return reply.code(422).send(await renderConnections(context, visit, { errors }))
        }
        return reply.redirect(NOTICES.addTo(connectionsPath(visit.workspaceId), name), 303)
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

const NOTICES = new Notices({
  rename: 'Agent renamed.',
  'ad-account': 'Ad account changed. The agent must be approved again.',
  revoke: 'Agent revoked. It no longer has access.',
})

interface Change {
  name: Parameters<typeof NOTICES.addTo>[1]
  change: (context: OauthContext, visit: ConnectionVisit, form: unknown) => Promise<void>
}

const { name, ad_account_id } = ConnectionChange.properties
const RENAME_FORM = Type.Object({ name })
const AD_ACCOUNT_FORM = Type.Object({ ad_account_id })

const CHANGES: readonly Change[] = [
  {
    name: 'rename',
    change: (context, visit, form) => updateConnection(context, visit, readForm(form, RENAME_FORM)),
  },
  {
    name: 'ad-account',
    change: (context, visit, form) =>
      updateConnection(context, visit, readForm(form, AD_ACCOUNT_FORM)),
  },
  { name: 'revoke', change: (context, visit) => revokeWorkspaceConnection(context, visit) },
]

interface PageFeedback {
  page?: number
  notice?: string | undefined
  errors?: FormErrors
}

async function renderConnections(
  { database }: OauthContext,
  visit: WorkspaceVisit,
  { page = 1, notice, errors = {} }: PageFeedback,
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
    notice,
    errors,
  })
}
