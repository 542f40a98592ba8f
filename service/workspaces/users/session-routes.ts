import { hasPermission, type WorkspaceAction } from '@signalbox/contract/session/roles.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import * as operations from '@signalbox/contract/session/user-operations.ts'
import { InvitationAnswer } from '@signalbox/contract/session/users.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../../runtime/http/validator.ts'
import { parseRowId } from '../../runtime/util/ids.ts'
import { listAdAccounts } from './ad-account-store.ts'
import { addAdAccount, changeAdAccountStatus } from './ad-accounts.ts'
import { listInvitations } from './invitation-store.ts'
import {
  answerInvitation,
  inviteMember,
  listOwnInvitations,
  withdrawInvitation,
} from './invitations.ts'
import { readPageNumber } from './page-visit.ts'
import { deleteSession, deleteSessions, listSessions } from './session-store.ts'
import {
  adAccountListView,
  adAccountView,
  invitationListView,
  memberListView,
  meView,
  sessionListView,
  workspaceListView,
} from './session-views.ts'
import { requireSession } from './signed-in-session.ts'
import type { UsersContext } from './users-context.ts'
import { confirmGrantedRole } from './waiting-roles.ts'
import { listMembers, listMemberships } from './workspace-store.ts'
import {
  changeMemberRole,
  changeSecondFactorRequirement,
  changeWorkspaceName,
  createWorkspace,
  removeMember,
  requireRole,
} from './workspaces.ts'

/** The dashboard's API: the operations of the account and workspace pages, as JSON. */
export function sessionRoutes(app: ServiceApp, context: UsersContext): void {
  app.register(
    async api => {
      requireSession(api, context)
      profileSessionRoutes(api, context)
      workspaceRoutes(api, context)
      memberSessionRoutes(api, context)
      adAccountRoutes(api, context)
    },
    { prefix: SESSION_API_PATH },
  )
}

function profileSessionRoutes(app: ServiceApp, context: UsersContext): void {
  const { database, now } = context
  app.route({
    ...operations.getMe,
    handler: async ({ user }) => meView(user, now()),
  })
  app.route({
    ...operations.listSessions,
    handler: async ({ user }) =>
      sessionListView(await listSessions(database, user.userId, now()), user),
  })
  app.route({
    ...operations.endSession,
    async handler(request, reply) {
      const { user, params } = request
      const id = parseRowId(readPathParameters(params, 'session').session) ?? 0
      if (!(await deleteSession(database, user.userId, id))) {
        throw Refusal.notFound('Session not found.')
      }
      await context.recordSecurityEvent({ type: 'session.ended', user, request })
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.endOtherSessions,
    async handler(request, reply) {
      const { user } = request
      await deleteSessions(database, user.userId, user.sessionId)
      await context.recordSecurityEvent({ type: 'session.ended', user, request })
      return reply.code(204).send()
    },
  })
}

function toIntent(params: unknown, action: WorkspaceAction) {
  const { workspace: workspaceId } = readPathParameters(params, 'workspace')
  return { workspaceId, action }
}

function workspaceRoutes(app: ServiceApp, context: UsersContext): void {
  app.route({
    ...operations.listWorkspaces,
    handler: async ({ user }) =>
      workspaceListView(await listMemberships(context.database, user.userId)),
  })
  app.route({
    ...operations.createWorkspace,
    async handler({ user, body }, reply) {
      const id = await createWorkspace(context, user, body)
      return reply.code(201).send({ id })
    },
  })
  app.route({
    ...operations.renameWorkspace,
    async handler({ user, params, body }, reply) {
      const { workspace: workspaceId } = readPathParameters(params, 'workspace')
      await changeWorkspaceName(context, user, { workspaceId, body })
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.changeWorkspaceSecurity,
    async handler({ user, params, body }, reply) {
      const { workspace: workspaceId } = readPathParameters(params, 'workspace')
      await changeSecondFactorRequirement(context, user, { workspaceId, body })
      return reply.code(204).send()
    },
  })
}

function adAccountRoutes(app: ServiceApp, context: UsersContext): void {
  const { database } = context
  app.route({
    ...operations.listAdAccounts,
    async handler({ user, params }) {
      const { workspaceId } = await requireRole(database, user, toIntent(params, 'read'))
      return adAccountListView(await listAdAccounts(database, workspaceId))
    },
  })
  app.route({
    ...operations.createAdAccount,
    async handler({ user, params, body }, reply) {
      const { workspace: workspaceId } = readPathParameters(params, 'workspace')
      const account = await addAdAccount(context, user, { workspaceId, body })
      return reply.code(201).send(adAccountView(account))
    },
  })
  app.route({
    ...operations.updateAdAccount,
    async handler({ user, params, body }, reply) {
      const { workspace, account } = readPathParameters(params, 'workspace', 'account')
      const change = { workspaceId: workspace, adAccountId: account, body }
      await changeAdAccountStatus(context, user, change)
      return reply.code(204).send()
    },
  })
}

/** Members and invitations, for the dashboard. */
function memberSessionRoutes(app: ServiceApp, context: UsersContext): void {
  memberRoutes(app, context)
  invitationRoutes(app, context)
  invitationAnswerRoutes(app, context)
}

function memberRoutes(app: ServiceApp, context: UsersContext): void {
  const { database } = context
  app.route({
    ...operations.listMembers,
    async handler({ user, params }) {
      const intent = toIntent(params, 'view_events')
      const { workspaceId, role } = await requireRole(database, user, intent)
      const members = await listMembers(database, workspaceId)
      // An events viewer can be a stranger to the others, and needs the own row to leave.
      const isViewer = !hasPermission(role, 'read')
      return memberListView(members.filter(({ userId }) => !isViewer || userId === user.userId))
    },
  })
  app.route({
    ...operations.changeMemberRole,
    async handler({ user, params, body }, reply) {
      await changeMemberRole(context, user, { ...toMemberReference(params), body })
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.confirmMemberRole,
    async handler({ user, params }, reply) {
      await confirmGrantedRole(context, user, toMemberReference(params))
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.removeMember,
    async handler({ user, params }, reply) {
      await removeMember(context, user, toMemberReference(params))
      return reply.code(204).send()
    },
  })
}

function toMemberReference(params: unknown) {
  const { workspace: workspaceId, user: userId } = readPathParameters(params, 'workspace', 'user')
  return { workspaceId, userId }
}

function invitationRoutes(app: ServiceApp, context: UsersContext): void {
  const { database, now } = context
  app.route({
    ...operations.listInvitations,
    async handler({ user, params, query }) {
      // Invitees have not agreed to share their address: only inviters may see it.
      const { workspaceId } = await requireRole(database, user, toIntent(params, 'invite'))
      const page = { at: now(), page: readPageNumber(query) }
      return invitationListView(await listInvitations(database, workspaceId, page))
    },
  })
  app.route({
    ...operations.createInvitation,
    async handler({ user, params, body }, reply) {
      const { workspace: workspaceId } = readPathParameters(params, 'workspace')
      const id = await inviteMember(context, user, { workspaceId, body })
      return reply.code(201).send({ id })
    },
  })
  app.route({
    ...operations.withdrawInvitation,
    async handler({ user, params }, reply) {
      const { workspace, invitation } = readPathParameters(params, 'workspace', 'invitation')
      const reference = { workspaceId: workspace, invitationId: invitation }
      await withdrawInvitation(context, user, reference)
      return reply.code(204).send()
    },
  })
}

const answerValidator = new Validator(InvitationAnswer, {
  members: { answer: { error: 'The answer must be accepted or declined.' } },
})

function invitationAnswerRoutes(app: ServiceApp, context: UsersContext): void {
  app.route({
    ...operations.listMyInvitations,
    async handler({ user, query }) {
      const page = readPageNumber(query)
      return invitationListView(await listOwnInvitations(context, user, page))
    },
  })
  app.route({
    ...operations.answerInvitation,
    async handler({ user, params, body }) {
      const { invitation: invitationId } = readPathParameters(params, 'invitation')
      const { answer } = answerValidator.validate(body)
      return { id: await answerInvitation(context, user, { invitationId, answer }) }
    },
  })
}
