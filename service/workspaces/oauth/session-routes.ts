import * as operations from '@signalbox/contract/session/agent-operations.ts'
import type { Permission, Tier } from '@signalbox/contract/session/agent-permissions.ts'
import type { ConnectionList, ExecutionTokenList } from '@signalbox/contract/session/agents.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { type ListPage, pageMembers } from '../../runtime/util/list-page.ts'
import { readPageNumber } from '../users/page-visit.ts'
import type { CurrentUser } from '../users/session-store.ts'
import { requireSession } from '../users/signed-in-session.ts'
import type { ListedConnection } from './connection-store.ts'
import {
  type ConnectionVisit,
  listWorkspaceConnections,
  revokeWorkspaceConnection,
  updateConnection,
  type WorkspaceVisit,
} from './connections.ts'
import type { ListedExecutionToken } from './execution-token-store.ts'
import {
  issueWorkspaceToken,
  listWorkspaceTokens,
  revokeWorkspaceToken,
} from './execution-tokens.ts'
import type { OauthContext } from './oauth-responses.ts'

/** The dashboard's API for connections and tokens: the operations of the pages, as JSON. */
export function agentSessionRoutes(app: ServiceApp, context: OauthContext): void {
  app.register(
    async api => {
      requireSession(api, context)
      connectionRoutes(api, context)
      executionTokenRoutes(api, context)
    },
    { prefix: SESSION_API_PATH },
  )
}

function connectionRoutes(app: ServiceApp, context: OauthContext): void {
  app.route({
    ...operations.listConnections,
    async handler(request) {
      const page = readPageNumber(request.query)
      const list = await listWorkspaceConnections(context.database, toVisit(request), page)
      return connectionListView(list)
    },
  })
  app.route({
    ...operations.updateConnection,
    async handler(request, reply) {
      await updateConnection(context, toConnectionVisit(request), request.body)
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.revokeConnection,
    async handler(request, reply) {
      await revokeWorkspaceConnection(context, toConnectionVisit(request))
      return reply.code(204).send()
    },
  })
}

function executionTokenRoutes(app: ServiceApp, context: OauthContext): void {
  app.route({
    ...operations.listExecutionTokens,
    async handler(request) {
      const page = readPageNumber(request.query)
      const list = await listWorkspaceTokens(context, toVisit(request), page)
      return executionTokenListView(list, context.now())
    },
  })
  app.route({
    ...operations.createExecutionToken,
    async handler(request, reply) {
      const issued = await issueWorkspaceToken(context, toVisit(request), request.body)
      const { id, token, expiresAt } = issued
      return reply.code(201).send({ id, token, expires_at: expiresAt.toISOString() })
    },
  })
  app.route({
    ...operations.revokeExecutionToken,
    async handler(request, reply) {
      const { token: tokenId } = readPathParameters(request.params, 'token')
      await revokeWorkspaceToken(context, { ...toVisit(request), tokenId })
      return reply.code(204).send()
    },
  })
}

interface VisitRequest {
  user: CurrentUser
  params: unknown
}

function toVisit({ user, params }: VisitRequest): WorkspaceVisit {
  return { user, workspaceId: readPathParameters(params, 'workspace').workspace }
}

function toConnectionVisit({ user, params }: VisitRequest): ConnectionVisit {
  const { workspace, connection } = readPathParameters(params, 'workspace', 'connection')
  return { user, workspaceId: workspace, connectionId: connection }
}

function connectionListView(list: ListPage<ListedConnection>): ConnectionList {
  return {
    connections: list.rows.map(row => ({
      id: row.id,
      name: row.name,
      client_name: row.client_name,
      audience: row.audience,
      permissions: row.permissions as Permission[],
      ad_account_id: row.ad_account_id,
      ad_account_name: row.ad_account_name,
      approved_by: row.approved_by,
      approved_at: row.created_at.toISOString(),
      last_used_at: row.last_used_at?.toISOString() ?? null,
      revoked_at: row.revoked_at?.toISOString() ?? null,
      needs_approval: row.grant_id === null && row.revoked_at === null,
    })),
    ...pageMembers(list),
  }
}

function executionTokenListView(
  list: ListPage<ListedExecutionToken>,
  now: Date,
): ExecutionTokenList {
  return {
    tokens: list.rows.map(row => ({
      id: row.id,
      name: row.name,
      tier: row.tier as Tier,
      status: statusOf(row, now),
      last_characters: row.last_characters,
      ad_account_id: row.ad_account_id,
      ad_account_name: row.ad_account_name,
      issued_by: row.issued_by,
      created_at: row.created_at.toISOString(),
      expires_at: row.expires_at.toISOString(),
      last_used_at: row.last_used_at?.toISOString() ?? null,
      revoked_at: row.revoked_at?.toISOString() ?? null,
    })),
    ...pageMembers(list),
  }
}

function statusOf(
  { revoked_at: revokedAt, expires_at: expiresAt }: ListedExecutionToken,
  now: Date,
): ExecutionTokenList['tokens'][number]['status'] {
  if (revokedAt !== null) return 'revoked'
  return expiresAt > now ? 'active' : 'expired'
}
