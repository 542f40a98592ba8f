import {
  InvitationAnswer,
  InvitationSubmission,
  RoleSubmission,
} from '@signalbox/contract/session/users.ts'
import Type from 'typebox'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { formText, readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
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
  forSignedIn,
  NOTICES,
  readPageNumber,
  readWorkspaceParam,
  SIGNED_IN,
  type SignedInRequest,
  seeOther,
  UNPROCESSABLE,
  type UserNotice,
} from './page-visit.ts'
import type { UsersContext } from './users-context.ts'
import { listMembers } from './workspace-store.ts'
import { changeMemberRole, changeSecondFactorRequirement, removeMember } from './workspaces.ts'

const SECURITY_FORM = Type.Object({ second_factor: formText() })

/** The members of a workspace and its invitations. */
export function memberRoutes(app: ServiceApp, context: UsersContext): void {
  const on = (
    method: 'get' | 'post',
    url: string,
    handle: (visit: SignedInRequest) => Promise<unknown>,
  ) => app[method](url, SIGNED_IN, forSignedIn(context, handle))
  on('get', '/workspaces/:workspace/people', visit => showMembers(context, visit))
  on('post', '/workspaces/:workspace/invitations', visit => postInvitation(context, visit))
  on('post', '/workspaces/:workspace/invitations/:invitation/withdraw', visit =>
    changeMembers(context, visit, async workspaceId => {
      const { invitation: invitationId } = readPathParameters(visit.request.params, 'invitation')
      await withdrawInvitation(context, visit.user, { workspaceId, invitationId })
      return membersPath(workspaceId, 'invitation_withdrawn')
    }),
  )
  on('post', '/workspaces/:workspace/people/:user/role', visit =>
    changeMembers(context, visit, async workspaceId => {
      const { user: userId } = readPathParameters(visit.request.params, 'user')
      const body = readForm(visit.request.body, RoleSubmission)
      await changeMemberRole(context, visit.user, { workspaceId, userId, body })
      return membersPath(workspaceId, 'role_changed')
    }),
  )
  on('post', '/workspaces/:workspace/people/:user/remove', visit =>
    changeMembers(context, visit, async workspaceId => {
      const { user: userId } = readPathParameters(visit.request.params, 'user')
      await removeMember(context, visit.user, { workspaceId, userId })
      const hasLeft = userId === String(visit.user.userId)
      return hasLeft
        ? NOTICES.addTo('/workspaces', 'left')
        : membersPath(workspaceId, 'member_removed')
    }),
  )
  on('post', '/workspaces/:workspace/security', visit =>
    changeMembers(context, visit, async workspaceId => {
      const form = readForm(visit.request.body, SECURITY_FORM)
      const isRequired = form.second_factor === 'required'
      await changeSecondFactorRequirement(context, visit.user, { workspaceId, isRequired })
      return membersPath(workspaceId, isRequired ? 'factor_required' : 'factor_optional')
    }),
  )
  on('get', '/invitations/:invitation', async ({ user, request }) => {
    const { invitation } = readPathParameters(request.params, 'invitation')
    return invitationPage(user, await readInvitation(context, user, invitation))
  })
  on('post', '/invitations/:invitation', async ({ user, request, reply }) => {
    const { invitation: invitationId } = readPathParameters(request.params, 'invitation')
    const isAccepted = readForm(request.body, InvitationAnswer).answer === 'accepted'
    const answer = isAccepted ? 'accepted' : 'declined'
    const workspaceId = await answerInvitation(context, user, { invitationId, answer })
    if (isAccepted) return seeOther(reply, membersPath(workspaceId, 'joined'))
    return seeOther(reply, NOTICES.addTo('/workspaces', 'invitation_declined'))
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

function membersPath(workspaceId: string | number, notice: UserNotice): string {
  return NOTICES.addTo(`/workspaces/${workspaceId}/people`, notice)
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
  const notice = NOTICES.find(request.query)
  return membersPage({ user, membership, members, invitations, notice, ...form })
}

async function postInvitation(context: UsersContext, visit: SignedInRequest) {
  const { user, request, reply } = visit
  const workspaceId = readWorkspaceParam(request)
  const values = readForm(request.body, InvitationSubmission)
  try {
    await inviteMember(context, user, { workspaceId, body: values })
    return seeOther(reply, membersPath(workspaceId, 'invited'))
  } catch (error) {
    const page = await showMembers(context, visit, { values, errors: toFormErrors(error) })
    return reply.code(UNPROCESSABLE).send(page)
  }
}
