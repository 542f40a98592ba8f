import * as operations from '@signalbox/contract/browser/agent-operations.ts'
import { BROWSER_PATH } from '@signalbox/contract/browser/people-operations.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { membersOf } from '../people/browser-routes.ts'
import { guardSessions } from '../people/guard-sessions.ts'
import { connectionListView, executionTokenListView } from './browser-views.ts'
import { changeConnection, endConnection, readConnections } from './change-connection.ts'
import {
  endExecutionToken,
  makeExecutionToken,
  readExecutionTokens,
} from './change-execution-tokens.ts'
import type { OauthContext } from './oauth-context.ts'

/** The dashboard's interface to agents: the verbs of the pages, as JSON. */
export function agentBrowserRoutes(app: ServiceApp, context: OauthContext): void {
  app.register(
    async api => {
      guardSessions(api, context)
      connectionRoutes(api, context)
      executionTokenRoutes(api, context)
    },
    { prefix: BROWSER_PATH },
  )
}

/** Of a path; each route has those that it names. */
interface PathNames {
  workspace: string
  connection: string
  token: string
}

function connectionRoutes(app: ServiceApp, context: OauthContext): void {
  app.route({
    ...operations.listConnections,
    handler: async request =>
      connectionListView(await readConnections(context.database, visit(request))),
  })
  app.route({
    ...operations.updateConnection,
    async handler(request, reply) {
      const { name, ad_account_id: adAccountId } = membersOf(request.body)
      await changeConnection(context, visit(request), { name, adAccountId })
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.revokeConnection,
    async handler(request, reply) {
      await endConnection(context, visit(request))
      return reply.code(204).send()
    },
  })
}

function executionTokenRoutes(app: ServiceApp, context: OauthContext): void {
  app.route({
    ...operations.listExecutionTokens,
    handler: async request =>
      executionTokenListView(await readExecutionTokens(context.database, visit(request))),
  })
  app.route({
    ...operations.createExecutionToken,
    async handler(request, reply) {
      const { name, tier, days, ad_account_id: adAccountId } = membersOf(request.body)
      const wish = { name, tier, days, adAccountId }
      const { id, token, expiresAt } = await makeExecutionToken(context, visit(request), wish)
      return reply.code(201).send({ id, token, expires_at: expiresAt.toISOString() })
    },
  })
  app.route({
    ...operations.revokeExecutionToken,
    async handler(request, reply) {
      await endExecutionToken(context, visit(request))
      return reply.code(204).send()
    },
  })
}

function visit({ person, params }: { person: Person; params: unknown }) {
  const { workspace, connection, token } = params as PathNames
  return { person, workspaceId: workspace, connectionId: connection, tokenId: token }
}

type Person = Parameters<typeof readConnections>[1]['person']
