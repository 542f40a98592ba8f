import {
  InvitationAnswer,
  InvitationSubmission,
  RoleSubmission,
} from '@signalbox/contract/session/users.ts'
import { html } from 'ghtml'
import Type from 'typebox'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { formText, readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import {
  buttonForm,
  emailField,
  errorSummary,
  type FormErrors,
  optionList,
  selectField,
  tag,
} from '../../runtime/pages/form-controls.ts'
import { renderPage } from '../../runtime/pages/layout.ts'
import { pageLinks } from '../../runtime/pages/navigation.ts'
import type { ListPage } from '../../runtime/util/list-page.ts'
import { formatDateTime } from '../../runtime/util/time.ts'
import { type Invitation, listInvitations } from './invitation-store.ts'
import {
  answerInvitation,
  inviteMember,
  readInvitation,
  withdrawInvitation,
} from './invitations.ts'
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
import { endOfWait } from './role-standing.ts'
import type { CurrentUser } from './session-store.ts'
import type { UsersContext } from './users-context.ts'
import { confirmGrantedRole } from './waiting-roles.ts'
import {
  type PageMembership,
  ROLE_LABELS,
  requirePageMembership,
  workspacePage,
} from './workspace-pages.ts'
import {
  canGrantRole,
  hasPermission,
  invitableRoles,
  WORKSPACE_ROLES,
  type WorkspaceRole,
} from './workspace-role.ts'
import { listMembers, type Member, type Membership } from './workspace-store.ts'
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
  on('post', '/workspaces/:workspace/people/:user/confirm', visit =>
    changeMembers(context, visit, async workspaceId => {
      const { user: userId } = readPathParameters(visit.request.params, 'user')
      await confirmGrantedRole(context, visit.user, { workspaceId, userId })
      return membersPath(workspaceId, 'role_confirmed')
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

interface MembersPage {
  user: CurrentUser
  membership: PageMembership
  members: readonly Member[]
  invitations: ListPage<Invitation>
  values?: { email: string; role: string }
  errors?: FormErrors
  notice?: string | undefined
}

function membersPage(page: MembersPage): string {
  const { user, membership, members, invitations, errors = {}, notice } = page
  const mayInvite = hasPermission(membership.role, 'invite')
  const content = html`!${errorSummary(errors)}
<section class="card"><h2>People</h2>
<ul class="plain">!${members.map(member => memberRow(page, member)).join('')}</ul></section>
!${mayInvite && invitations.rows.length > 0 ? pendingInvitations(membership, invitations) : ''}
!${mayInvite ? inviteForm(page) : ''}
!${hasPermission(membership.role, 'change_security') ? securityForm(membership) : ''}`
  return workspacePage({ user, membership, tab: 'people', notice, content })
}

function memberRow({ user, membership }: MembersPage, member: Member): string {
  const { workspaceId, role } = membership
  const path = `/workspaces/${workspaceId}/people/${member.userId}`
  const isOwn = member.userId === user.userId
  const mayRemove =
    isOwn || (hasPermission(role, 'remove_member') && canGrantRole(role, member.role))
  const remove = buttonForm({
    action: `${path}/remove`,
    label: isOwn ? 'Leave' : 'Remove',
    about: member.email,
  })
  const tags = `${isOwn ? tag('You') : ''}${member.isDisabled ? tag('Disabled') : ''}`
  const roleControl = hasPermission(role, 'change_role')
    ? roleForm(path, member)
    : tag(ROLE_LABELS[member.role])
  return html`<li class="row">
<span>${member.email}!${tags}<br><small>${member.name}</small>
!${waitingRole(member, role, path)}</span>
<span class="actions">!${roleControl}!${mayRemove ? remove : ''}</span></li>`
}

/** What an invited owner or administrator waits for; owners can end the wait. */
function waitingRole({ granted, email }: Member, ownRole: WorkspaceRole, path: string): string {
  if (!granted) return ''
  const label = ROLE_LABELS[granted.role].toLowerCase()
  const confirm = buttonForm({ action: `${path}/confirm`, label: 'Confirm role', about: email })
  return html`<br><small>Invited as ${label}: has the role from
${formatDateTime(endOfWait(granted))}, or when an owner of 72 hours who did not invite them confirms
it.</small>!${hasPermission(ownRole, 'change_role') ? confirm : ''}`
}

function roleForm(path: string, member: Member): string {
  const options = WORKSPACE_ROLES.map(role => [role, ROLE_LABELS[role]] as const)
  return html`<form class="actions" method="post" action="${path}/role">
<select name="role" aria-label="Role of ${member.email}">
!${optionList(options, member.role)}</select>
<button class="quiet small" aria-label="Change the role of ${member.email}">Change</button></form>`
}

function pendingInvitations(
  { workspaceId, role: ownRole }: Membership,
  invitations: ListPage<Invitation>,
): string {
  const rows = invitations.rows.map(({ id, email, role }) => {
    const action = `/workspaces/${workspaceId}/invitations/${id}/withdraw`
    return html`<li class="row"><span>${email}<br>
<small>Invited as ${ROLE_LABELS[role].toLowerCase()}</small></span>
!${canGrantRole(ownRole, role) ? buttonForm({ action, label: 'Withdraw', about: email }) : ''}</li>`
  })
  return html`<section class="card"><h2>Invitations</h2>
<ul class="plain">!${rows.join('')}</ul>
!${pageLinks(invitations, `/workspaces/${workspaceId}/people`)}</section>`
}

function inviteForm({ membership, values, errors = {} }: MembersPage): string {
  const options = invitableRoles(membership.role)
    .toReversed()
    .map(role => [role, ROLE_LABELS[role]] as const)
  return html`<section class="card"><h2>Invite a person</h2>
<form method="post" action="/workspaces/${membership.workspaceId}/invitations">
!${emailField({ value: values?.email ?? '', errors, autocomplete: 'off' })}
!${selectField({ ...ROLE_FIELD, options, value: values?.role ?? 'member', errors })}
<button>Send invitation</button>
</form></section>`
}

function securityForm({ workspaceId, requiresSecondFactor }: Membership): string {
  const state = requiresSecondFactor
    ? 'Every member needs an authenticator app or a passkey to open this workspace.'
    : 'Members may open this workspace with a password alone.'
  const form = buttonForm({
    action: `/workspaces/${workspaceId}/security`,
    label: requiresSecondFactor ? 'Make it optional' : 'Require a second factor',
    fields: { second_factor: requiresSecondFactor ? 'optional' : 'required' },
  })
  return html`<section class="card"><h2>Second factor</h2><p>${state}</p>!${form}</section>`
}

const ROLE_FIELD = { name: 'role', label: 'Role' } as const

function invitationPage(user: CurrentUser, invitation: Invitation): string {
  const { id, workspaceName, role, inviterName } = invitation
  const body = html`<div class="card">
<h1>Join ${workspaceName}?</h1>
<p>${inviterName} invited you as ${ROLE_LABELS[role].toLowerCase()}.</p>
<form class="actions" method="post" action="/invitations/${id}">
<button name="answer" value="accepted">Join</button>
<button class="quiet" name="answer" value="declined">Decline</button>
</form>
</div>`
  return renderPage({ title: `Join ${workspaceName}?`, body, signedInAs: user.email })
}
