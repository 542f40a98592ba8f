import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readFormText, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import { readPageNumber } from '../../runtime/util/list-page.ts'
import { listInvitations } from './invitation-store.ts'
import {
  answerInvitation,
  inviteMember,
  readInvitation,
  withdrawInvitation,
} from './invitations.ts'
import { invitationPage, membersPage } from './members-page.ts'
import { requirePageMembership } from './page-membership.ts'
import {
  findNotice,
  forSignedIn,
  readWorkspaceParam,
  SIGNED_IN,
  type SignedInRequest,
  seeOther,
  UNPROCESSABLE,
} from './page-visit.ts'
import type { UsersContext } from './users-context.ts'
import { listMembers } from './workspace-store.ts'
import { changeMemberRole, changeSecondFactorRequirement, removeMember } from './workspaces.ts'

interface Params {
  user: string
  invitation: string
}

/** The members of a workspace and its invitations. */
export function memberRoutes(app: ServiceApp, context: UsersContext): void {
  const on = (
    method: 'get' | 'post',
    url: string,
    handle: (visit: SignedInRequest, params: Params) => Promise<unknown>,
  ) => {
    const handler = (visit: SignedInRequest) => handle(visit, visit.request.params as Params)
    app[method](url, SIGNED_IN, forSignedIn(context, handler))
  }
  on('get', '/workspaces/:workspace/people', visit => showMembers(context, visit))
  on('post', '/workspaces/:workspace/invitations', visit => postInvitation(context, visit))
  on('post', '/workspaces/:workspace/invitations/:invitation/withdraw', (visit, params) =>
    changeMembers(context, visit, async workspaceId => {
      const invitation = { workspaceId, invitationId: params.invitation }
      await withdrawInvitation(context, visit.user, invitation)
      return membersPath(workspaceId, 'invitation_withdrawn')
    }),
  )
  on('post', '/workspaces/:workspace/people/:user/role', (visit, { user: userId }) =>
    changeMembers(context, visit, async workspaceId => {
      const role = readFormText(visit.request.body, 'role')
      await changeMemberRole(context, visit.user, { workspaceId, userId, body: { role } })
      return membersPath(workspaceId, 'role_changed')
    }),
  )
  on('post', '/workspaces/:workspace/people/:user/remove', (visit, { user: userId }) =>
    changeMembers(context, visit, async workspaceId => {
      await removeMember(context, visit.user, { workspaceId, userId })
      const hasLeft = userId === String(visit.user.userId)
      return hasLeft ? '/workspaces?done=left' : membersPath(workspaceId, 'member_removed')
    }),
  )
  on('post', '/workspaces/:workspace/security', visit =>
    changeMembers(context, visit, async workspaceId => {
      const isRequired = readFormText(visit.request.body, 'second_factor') === 'required'
      await changeSecondFactorRequirement(context, visit.user, { workspaceId, isRequired })
      return membersPath(workspaceId, isRequired ? 'factor_required' : 'factor_optional')
    }),
  )
  on('get', '/invitations/:invitation', async ({ user }, params) =>
    invitationPage(user, await readInvitation(context, user, params.invitation)),
  )
  on('post', '/invitations/:invitation', async ({ user, request, reply }, params) => {
    const answer = readFormText(request.body, 'answer') === 'accepted' ? 'accepted' : 'declined'
    const response = { invitationId: params.invitation, answer } as const
    const workspaceId = await answerInvitation(context, user, response)
    if (answer === 'declined') return seeOther(reply, '/workspaces?done=invitation_declined')
    return seeOther(reply, `/workspaces/${workspaceId}/people?done=joined`)
  })
}

/** Applies a change and redirects to the returned path, or renders the page with its errors. */
async function changeMembers(
  context: UsersContext,
  visit: SignedInRequest,
  change: (workspaceId: string) => Promise<string>,
) {
  try {
    return seeOther(visit.reply, await change(readWorkspaceParam(visit.request)))
  } catch (error) {
    const page = await showMembers(context, visit, { errors: toFormErrors(error) })
    return visit.reply.code(UNPROCESSABLE).send(page)
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
  { database, now }: UsersContext,
  { user, request }: SignedInRequest,
  form?: FormState,
): Promise<string> {
  const intent = { workspaceId: readWorkspaceParam(request), action: 'read' } as const
  const membership = await requirePageMembership(database, user, intent)
  const { workspaceId } = membership
  const members = await listMembers(database, workspaceId)
  const page = readPageNumber(request.query)
  const invitations = await listInvitations(database, workspaceId, { at: now(), page })
  const notice = findNotice(request.query)
  return membersPage({ user, membership, members, invitations, notice, ...form })
}

async function postInvitation(context: UsersContext, visit: SignedInRequest) {
  const { user, request, reply } = visit
  const workspaceId = readWorkspaceParam(request)
  const values = {
    email: readFormText(request.body, 'email'),
    role: readFormText(request.body, 'role'),
  }
  try {
    await inviteMember(context, user, { workspaceId, body: values })
    return seeOther(reply, membersPath(workspaceId, 'invited'))
  } catch (error) {
    const page = await showMembers(context, visit, { values, errors: toFormErrors(error) })
    return reply.code(UNPROCESSABLE).send(page)
  }
}
