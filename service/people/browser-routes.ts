import * as operations from '@signalbox/contract/browser/people-operations.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { listAdAccounts } from './ad-account-store.ts'
import { addAdAccount, switchAdAccount } from './add-ad-account.ts'
import {
  adAccountListView,
  adAccountView,
  meView,
  sessionListView,
  workspaceListView,
} from './browser-views.ts'
import { createWorkspace, nameWorkspace } from './create-workspace.ts'
import { guardSessions } from './guard-sessions.ts'
import { memberBrowserRoutes } from './member-browser-routes.ts'
import { listMemberships } from './member-store.ts'
import type { PeopleContext } from './people-context.ts'
import { requireRole, rowId } from './require-role.ts'
import { deleteSession, deleteSessions, listSessions } from './session-store.ts'

const { BROWSER_PATH } = operations

/** The dashboard's interface to people: the verbs of the pages, as JSON. */
export function browserRoutes(app: ServiceApp, context: PeopleContext): void {
  app.register(
    async api => {
      guardSessions(api, context)
      ownRoutes(api, context)
      workspaceRoutes(api, context)
      memberBrowserRoutes(api, context)
      adAccountRoutes(api, context)
    },
    { prefix: BROWSER_PATH },
  )
}

function ownRoutes(app: ServiceApp, { database, now }: PeopleContext): void {
  app.route({
    ...operations.getMe,
    handler: async ({ person }) => meView(person),
  })
  app.route({
    ...operations.listSessions,
    handler: async ({ person }) =>
      sessionListView(await listSessions(database, person.userId, now()), person),
  })
  app.route({
    ...operations.endSession,
    async handler({ person, params }, reply) {
      const id = rowId((params as { session: string }).session) ?? 0
      if (await deleteSession(database, person.userId, id)) return reply.code(204).send()
      throw Refusal.notFound('There is no such session of yours.')
    },
  })
  app.route({
    ...operations.endOtherSessions,
    async handler({ person }, reply) {
      await deleteSessions(database, person.userId, person.sessionId)
      return reply.code(204).send()
    },
  })
}

interface WorkspaceParams {
  workspace: string
}

/** Whatever a body is, its members are asked for one by one; the verbs say what is wrong. */
export function membersOf(body: unknown): Record<string, unknown> {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  return isObject ? (body as Record<string, unknown>) : {}
}

function workspaceRoutes(app: ServiceApp, context: PeopleContext): void {
  app.route({
    ...operations.listWorkspaces,
    handler: async ({ person }) =>
      workspaceListView(await listMemberships(context.database, person.userId)),
  })
  app.route({
    ...operations.createWorkspace,
    async handler({ person, body }, reply) {
      const id = await createWorkspace(context, person, membersOf(body).name)
      return reply.code(201).send({ id })
    },
  })
  app.route({
    ...operations.renameWorkspace,
    async handler({ person, params, body }, reply) {
      const { workspace: workspaceId } = params as WorkspaceParams
      await nameWorkspace(context, person, { workspaceId, name: membersOf(body).name })
      return reply.code(204).send()
    },
  })
}

function adAccountRoutes(app: ServiceApp, context: PeopleContext): void {
  const { database } = context
  app.route({
    ...operations.listAdAccounts,
    async handler({ person, params }) {
      const intent = { workspaceId: (params as WorkspaceParams).workspace, action: 'read' } as const
      const { workspaceId } = await requireRole(database, person, intent)
      return adAccountListView(await listAdAccounts(database, workspaceId))
    },
  })
  app.route({
    ...operations.createAdAccount,
    async handler({ person, params, body }, reply) {
      const entry = membersOf(body)
      const account = await addAdAccount(context, person, {
        workspaceId: (params as WorkspaceParams).workspace,
        platformAccountId: entry.platform_account_id,
        name: entry.name,
        currency: entry.currency,
        timeZone: entry.time_zone,
      })
      return reply.code(201).send(adAccountView(account))
    },
  })
  app.route({
    ...operations.updateAdAccount,
    async handler({ person, params, body }, reply) {
      const { workspace: workspaceId, account } = params as WorkspaceParams & { account: string }
      const { status } = membersOf(body)
      const named = { workspaceId, adAccountId: account }
      await switchAdAccount(context, person, { ...named, status })
      return reply.code(204).send()
    },
  })
}
