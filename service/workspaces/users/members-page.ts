import { html } from 'ghtml'
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
import { pageLinks } from '../../runtime/pages/page-links.ts'
import type { ListPage } from '../../runtime/util/list-page.ts'
import type { Invitation } from './invitation-store.ts'
import type { PageMembership } from './page-membership.ts'
import type { CurrentUser } from './session-store.ts'
import { ROLE_LABELS, workspacePage } from './workspace-pages.ts'
import { canGrantRole, hasPermission, invitableRoles, WORKSPACE_ROLES } from './workspace-role.ts'
import type { Member, Membership } from './workspace-store.ts'

interface MembersPage {
  user: CurrentUser
  membership: PageMembership
  members: readonly Member[]
  invitations: ListPage<Invitation>
  values?: { email: string; role: string }
  errors?: FormErrors
  notice?: string | undefined
}

export function membersPage(page: MembersPage): string {
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
<span>${member.email}!${tags}<br><small>${member.name}</small></span>
<span class="actions">!${roleControl}!${mayRemove ? remove : ''}</span></li>`
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

export function invitationPage(user: CurrentUser, invitation: Invitation): string {
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
