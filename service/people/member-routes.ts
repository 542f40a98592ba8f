import type { ServiceApp } from '../http/service-app.ts'
import { formText } from '../pages/form-body.ts'
import type { FieldFaults } from '../pages/form-controls.ts'
import { changeRole, removeMember } from './change-members.ts'
import { formFaults } from './form-faults.ts'
import { invitationPage } from './invitation-page.ts'
import { listInvitations } from './invitation-store.ts'
import {
  answerInvitation,
  invitePerson,
  readInvitation,
  withdrawInvitation,
} from './invite-person.ts'
import { listMembers } from './member-store.ts'
import { membersPage } from './members-page.ts'
import { noticeOf } from './notices.ts'
import type { PeopleContext } from './people-context.ts'
import { type PersonalVisit, personalPage, seeOther } from './personal-page.ts'
import { requireRole } from './require-role.ts'
import { workspaceOf } from './workspace-routes.ts'

const SIGNED_IN = { config: { credential: 'session' } } as const
const UNPROCESSABLE = 422

interface Params {
  user: string
  invitation: string
}

/** Who belongs to a workspace, and invitations to it. */
export function memberRoutes(app: ServiceApp, context: PeopleContext): void {
  const on = (
    method: 'get' | 'post',
    url: string,
    handle: (visit: PersonalVisit, params: Params) => Promise<unknown>,
  ) => {
    const visited = (visit: PersonalVisit) => handle(visit, visit.request.params as Params)
    app[method](url, SIGNED_IN, personalPage(context, visited))
  }
  on('get', '/workspaces/:workspace/people', visit => showMembers(context, visit))
  on('post', '/workspaces/:workspace/invitations', visit => postInvitation(context, visit))
  on('post', '/workspaces/:workspace/invitations/:invitation/withdraw', (visit, params) =>
    changed(context, visit, async workspaceId => {
      const named = { workspaceId, invitationId: params.invitation }
      await withdrawInvitation(context, visit.person, named)
      return peoplePath(workspaceId, 'invitation_withdrawn')
    }),
  )
  on('post', '/workspaces/:workspace/people/:user/role', (visit, { user: userId }) =>
    changed(context, visit, async workspaceId => {
      const role = formText(visit.request.body, 'role')
      await changeRole(context, visit.person, { workspaceId, userId, role })
      return peoplePath(workspaceId, 'role_changed')
    }),
  )
  on('post', '/workspaces/:workspace/people/:user/remove', (visit, { user: userId }) =>
    changed(context, visit, async workspaceId => {
      await removeMember(context, visit.person, { workspaceId, userId })
      const isGone = userId === String(visit.person.userId)
      return isGone ? '/workspaces?done=left' : peoplePath(workspaceId, 'member_removed')
    }),
  )
  on('get', '/invitations/:invitation', async ({ person }, params) =>
    invitationPage(person, await readInvitation(context, person, params.invitation)),
  )
  on('post', '/invitations/:invitation', async ({ person, request, reply }, params) => {
    const answer = formText(request.body, 'answer') === 'accepted' ? 'accepted' : 'declined'
    const given = { invitationId: params.invitation, answer } as const
    const workspaceId = await answerInvitation(context, person, given)
    if (answer === 'declined') return seeOther(reply, '/workspaces?done=invitation_declined')
    return seeOther(reply, `/workspaces/${workspaceId}/people?done=joined`)
  })
}

/** Does something to a workspace's people and goes where it says, or shows what is wrong. */
async function changed(
  context: PeopleContext,
  visit: PersonalVisit,
  change: (workspaceId: string) => Promise<string>,
) {
  try {
    return seeOther(visit.reply, await change(workspaceOf(visit.request)))
  } catch (error) {
    const shown = await showMembers(context, visit, { faults: formFaults(error) })
    return visit.reply.code(UNPROCESSABLE).send(shown)
  }
}

function peoplePath(workspaceId: string, done: string): string {
  return `/workspaces/${workspaceId}/people?done=${done}`
}

interface Refilled {
  values?: { email: string; role: string }
  faults: FieldFaults
}

async function showMembers(
  { database, now }: PeopleContext,
  { person, request }: PersonalVisit,
  refilled?: Refilled,
): Promise<string> {
  const intent = { workspaceId: workspaceOf(request), action: 'read' } as const
  const membership = await requireRole(database, person, intent)
  const { workspaceId } = membership
  const members = await listMembers(database, workspaceId)
  const invitations = await listInvitations(database, workspaceId, now())
  const notice = noticeOf(request.query)
  return membersPage({ person, membership, members, invitations, notice, ...refilled })
}

async function postInvitation(context: PeopleContext, visit: PersonalVisit) {
  const { person, request, reply } = visit
  const workspaceId = workspaceOf(request)
  const values = { email: formText(request.body, 'email'), role: formText(request.body, 'role') }
  try {
    await invitePerson(context, person, { workspaceId, ...values })
    return seeOther(reply, peoplePath(workspaceId, 'invited'))
  } catch (error) {
    const shown = await showMembers(context, visit, { values, faults: formFaults(error) })
    return reply.code(UNPROCESSABLE).send(shown)
  }
}
