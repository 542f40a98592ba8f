import type { ServiceApp } from '../http/service-app.ts'
import { readFormText, toFormErrors } from '../pages/form-body.ts'
import { servePages } from '../pages/serve-pages.ts'
import { listAdAccounts } from '../people/ad-account-store.ts'
import { requireSignIn } from '../people/page-visit.ts'
import { requireRole } from '../people/workspaces.ts'
import {
  type ConnectionVisit,
  changeConnectionAdAccount,
  changeConnectionName,
  listWorkspaceConnections,
  revokeWorkspaceConnection,
  type WorkspaceVisit,
} from './connections.ts'
import { connectionsPage } from './connections-page.ts'
import type { OauthContext } from './oauth-context.ts'

/** The page of a workspace's connections, with a form for each thing that can be done to one. */
export function connectionRoutes(app: ServiceApp, context: OauthContext): void {
  const url = '/workspaces/:workspace/connections'
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    pages.get(url, { config }, async (request, reply) => {
      const { workspace } = request.params as PathParameters
      const back = `/workspaces/${encodeURIComponent(workspace)}/connections`
      const person = await requireSignIn(context, { request, reply, returnTo: back })
      if (!person) return reply
      const { done } = request.query as { done?: unknown }
      return reply.send(
        await renderConnections(context, { person, workspaceId: workspace }, { done }),
      )
    })
    for (const [name, change] of Object.entries(CHANGES)) {
      pages.post(`${url}/:connection/${name}`, { config }, async (request, reply) => {
        const { workspace, connection } = request.params as PathParameters
        const back = `/workspaces/${encodeURIComponent(workspace)}/connections`
        const person = await requireSignIn(context, { request, reply, returnTo: back })
        if (!person) return reply
        const visit = { person, workspaceId: workspace, connectionId: connection }
        try {
          await change(context, visit, request.body)
        } catch (error) {
          return reply
            .code(422)
            .send(await renderConnections(context, visit, { faults: toFormErrors(error) }))
        }
        return reply.redirect(`${back}?done=${name}`, 303)
      })
    }
  })
}

const config = { credential: 'none' } as const

interface PathParameters {
  workspace: string
  connection: string
}

type Change = (context: OauthContext, visit: ConnectionVisit, form: unknown) => Promise<void>

const CHANGES: Record<string, Change> = {
  rename: (context, visit, form) =>
    changeConnectionName(context, visit, readFormText(form, 'name')),
  'ad-account': (context, visit, form) =>
    changeConnectionAdAccount(context, visit, readFormText(form, 'ad_account_id')),
  revoke: (context, visit) => revokeWorkspaceConnection(context, visit),
}

const NOTICES: Record<string, string> = {
  rename: 'The connection has its new name.',
  'ad-account': 'The ad account is changed. The agent has to be approved again.',
  revoke: 'The connection is revoked: its agent can do nothing from now on.',
}

interface PageFeedback {
  done?: unknown
  faults?: Record<string, string>
}

async function renderConnections(
  { database }: OauthContext,
  visit: WorkspaceVisit,
  { done, faults }: PageFeedback,
) {
  const { person, workspaceId } = visit
  const action = 'manage_agents'
  const membership = await requireRole(database, person, { workspaceId, action })
  const connections = await listWorkspaceConnections(database, visit)
  const all = await listAdAccounts(database, membership.workspaceId)
  return connectionsPage({
    person,
    membership,
    connections,
    adAccounts: all.filter(({ status }) => status === 'active'),
    notice: NOTICES[String(done)],
    ...(faults && { faults }),
  })
}
