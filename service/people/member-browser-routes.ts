import * as operations from '@signalbox/contract/browser/people-operations.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { invitationListView, memberListView } from './browser-views.ts'
import { changeRole, removeMember } from './change-members.ts'
import { listInvitations, listInvitationsTo } from './invitation-store.ts'
import { answerInvitation, invitePerson, withdrawInvitation } from './invite-person.ts'
import { listMembers } from './member-store.ts'
import type { PeopleContext } from './people-context.ts'
import { requireRole } from './require-role.ts'

interface Params {
  workspace: string
  user: string
  invitation: string
}

/** Members and invitations, for the dashboard. */
export function memberBrowserRoutes(app: ServiceApp, context: PeopleContext): void {
  memberRoutes(app, context)
  invitationRoutes(app, context)
  answerRoutes(app, context)
}

function memberRoutes(app: ServiceApp, context: PeopleContext): void {
  const { database } = context
  app.route({
    ...operations.listMembers,
    async handler({ person, params }) {
      const intent = { workspaceId: (params as Params).workspace, action: 'read' } as const
      const { workspaceId } = await requireRole(database, person, intent)
      return memberListView(await listMembers(database, workspaceId))
    },
  })
  app.route({
    ...operations.changeMemberRole,
    async handler({ person, params, body }, reply) {
      const { workspace: workspaceId, user: userId } = params as Params
      const role = (body as { role?: unknown } | null)?.role
      await changeRole(context, person, { workspaceId, userId, role })
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.removeMember,
    async handler({ person, params }, reply) {
      const { workspace: workspaceId, user: userId } = params as Params
      await removeMember(context, person, { workspaceId, userId })
      return reply.code(204).send()
    },
  })
}

function invitationRoutes(app: ServiceApp, context: PeopleContext): void {
  const { database, now } = context
  app.route({
    ...operations.listInvitations,
    async handler({ person, params }) {
      // Addresses of people who have not agreed to anything yet: only for who may invite.
      const intent = { workspaceId: (params as Params).workspace, action: 'invite' } as const
      const { workspaceId } = await requireRole(database, person, intent)
      return invitationListView(await listInvitations(database, workspaceId, now()))
    },
  })
  app.route({
    ...operations.createInvitation,
    async handler({ person, params, body }, reply) {
      const { workspace: workspaceId } = params as Params
      const { email, role } = (body ?? {}) as { email?: unknown; role?: unknown }
      const id = await invitePerson(context, person, { workspaceId, email, role })
      return reply.code(201).send({ id })
    },
  })
  app.route({
    ...operations.withdrawInvitation,
    async handler({ person, params }, reply) {
      const { workspace: workspaceId, invitation: invitationId } = params as Params
      await withdrawInvitation(context, person, { workspaceId, invitationId })
      return reply.code(204).send()
    },
  })
}

function answerRoutes(app: ServiceApp, context: PeopleContext): void {
  const { database, now } = context
  app.route({
    ...operations.listMyInvitations,
    async handler({ person }) {
      if (!person.isEmailVerified) return { invitations: [] }
      return invitationListView(await listInvitationsTo(database, person.email, now()))
    },
  })
  app.route({
    ...operations.answerInvitation,
    async handler({ person, params, body }) {
      const { invitation: invitationId } = params as Params
      const answer = (body as { answer?: unknown } | null)?.answer
      if (answer !== 'accepted' && answer !== 'declined') {
        throw Refusal.ofFields({ answer: ['The answer is accepted or declined.'] })
      }
      return { id: await answerInvitation(context, person, { invitationId, answer }) }
    },
  })
}
