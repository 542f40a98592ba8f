import type { ServiceApp } from '../http/service-app.ts'
import { readFormText, toFormErrors } from '../pages/form-body.ts'
import type { FormErrors } from '../pages/form-controls.ts'
import { listInvitations } from './invitation-store.ts'
import {
  answerInvitation,
  invitePerson,
  readInvitation,
  withdrawInvitation,
} from './invitations.ts'
import { invitationPage, membersPage } from './members-page.ts'
import { findNotice, forSignedIn, type SignedInRequest, seeOther } from './page-visit.ts'
import type { PeopleContext } from './people-context.ts'
import { readWorkspaceParam } from './workspace-routes.ts'
import { listMembers } from './workspace-store.ts'
import { changeMemberRole, removeMember, requireRole } from './workspaces.ts'

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
    handle: (visit: SignedInRequest, params: Params) => Promise<unknown>,
  ) => {
    const visited = (visit: SignedInRequest) => handle(visit, visit.request.params as Params)
    app[method](url, SIGNED_IN, forSignedIn(context, visited))
  }
  on('get', '/workspaces/:workspace/people', visit => showMembers(context, visit))
  on('post', '/workspaces/:workspace/invitations', visit => postInvitation(context, visit))
  on('post', '/workspaces/:workspace/invitations/:invitation/withdraw', (visit, params) =>
    changeMembers(context, visit, async workspaceId => {
      const named = { workspaceId, invitationId: params.invitation }
      await withdrawInvitation(context, visit.person, named)
      return membersPath(workspaceId, 'invitation_withdrawn')
    }),
  )
  on('post', '/workspaces/:workspace/people/:user/role', (visit, { user: userId }) =>
    changeMembers(context, visit, async workspaceId => {
      const role = readFormText(visit.request.body, 'role')
      await changeMemberRole(context, visit.person, { workspaceId, userId, role })
      return membersPath(workspaceId, 'role_changed')
    }),
  )
  on('post', '/workspaces/:workspace/people/:user/remove', (visit, { user: userId }) =>
    changeMembers(context, visit, async workspaceId => {
      await removeMember(context, visit.person, { workspaceId, userId })
      const isGone = userId === String(visit.person.userId)
      return isGone ? '/workspaces?done=left' : membersPath(workspaceId, 'member_removed')
    }),
  )
  on('get', '/invitations/:invitation', async ({ person }, params) =>
    invitationPage(person, await readInvitation(context, person, params.invitation)),
  )
  on('post', '/invitations/:invitation', async ({ person, request, reply }, params) => {
    const answer = readFormText(request.body, 'answer') === 'accepted' ? 'accepted' : 'declined'
    const given = { invitationId: params.invitation, answer } as const
    const workspaceId = await answerInvitation(context, person, given)
    if (answer === 'declined') return seeOther(reply, '/workspaces?done=invitation_declined')
    return seeOther(reply, `/workspaces/${workspaceId}/people?done=joined`)
  })
}

/** Does something to a workspace's people and goes where it says, or shows what is wrong. */
async function changeMembers(
  context: PeopleContext,
  visit: SignedInRequest,
  change: (workspaceId: string) => Promise<string>,
) {
  try {
    return seeOther(visit.reply, await change(readWorkspaceParam(visit.request)))
  } catch (error) {
    const shown = await showMembers(context, visit, { errors: toFormErrors(error) })
    return visit.reply.code(UNPROCESSABLE).send(shown)
  }
}

function membersPath(workspaceId: string, done: string): string {
  return `/workspaces/${workspaceId}/people?done=${done}`
}

interface FormState {
  values?: { email: string; role: string }
  errors: FormErrors
}

async function showMembers(
  { database, now }: PeopleContext,
  { person, request }: SignedInRequest,
  refilled?: FormState,
): Promise<string> {
  const intent = { workspaceId: readWorkspaceParam(request), action: 'read' } as const
  const membership = await requireRole(database, person, intent)
  const { workspaceId } = membership
  const members = await listMembers(database, workspaceId)
  const invitations = await listInvitations(database, workspaceId, now())
  const notice = findNotice(request.query)
  return membersPage({ person, membership, members, invitations, notice, ...refilled })
}

async function postInvitation(context: PeopleContext, visit: SignedInRequest) {
  const { person, request, reply } = visit
  const workspaceId = readWorkspaceParam(request)
  const values = {
    email: readFormText(request.body, 'email'),
    role: readFormText(request.body, 'role'),
  }
  try {
    await invitePerson(context, person, { workspaceId, ...values })
    return seeOther(reply, membersPath(workspaceId, 'invited'))
  } catch (error) {
    const shown = await showMembers(context, visit, { values, errors: toFormErrors(error) })
    return reply.code(UNPROCESSABLE).send(shown)
  }
}
