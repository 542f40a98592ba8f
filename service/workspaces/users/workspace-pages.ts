import { ROLE_LABELS } from '@signalbox/contract/session/roles.ts'
import { html } from 'ghtml'
import {
  errorSummary,
  type FormErrors,
  message,
  tag,
  textField,
} from '../../runtime/pages/form-controls.ts'
import { renderPage } from '../../runtime/pages/layout.ts'
import { pageLinks } from '../../runtime/pages/page-links.ts'
import type { ListPage } from '../../runtime/util/list-page.ts'
import type { Invitation } from './invitation-store.ts'
import type { CurrentUser } from './session-store.ts'
import type { Membership } from './workspace-store.ts'

interface WorkspacesPage {
  user: CurrentUser
  memberships: readonly Membership[]
  invitations: ListPage<Invitation>
  errors?: FormErrors
  notice?: string | undefined
}

/** Lists the workspaces of a user, to switch between them. */
export function workspacesPage(page: WorkspacesPage): string {
  const { user, memberships, invitations, errors = {}, notice } = page
  const body = html`<h1>Your workspaces</h1>
!${notice === undefined ? '' : message('success', notice)}
!${invitations.rows.map(invitationCard).join('')}
!${pageLinks(invitations, '/workspaces')}
!${memberships.length === 0 ? '' : membershipCard(memberships)}
<section class="card">
<h2>${memberships.length === 0 ? 'Create your first workspace' : 'Create another workspace'}</h2>
!${errorSummary(errors)}
<form method="post" action="/workspaces">
!${textField({ ...NAME_FIELD, errors })}
<button>Create workspace</button>
</form>
</section>`
  return renderPage({ title: 'Your workspaces', body, signedInAs: user.email, isWide: true })
}

const NAME_FIELD = {
  name: 'name',
  label: 'Name',
  hint: 'Your shop or your company.',
  charactersMax: 100,
} as const

function membershipCard(memberships: readonly Membership[]): string {
  const rows = memberships.map(
    ({ workspaceId, workspaceName, role }) => html`<li class="row">
<a href="/w/${workspaceId}">${workspaceName}</a>
!${tag(ROLE_LABELS[role])}</li>`,
  )
  return html`<section class="card"><ul class="plain">!${rows.join('')}</ul></section>`
}

function invitationCard({ id, workspaceName }: Invitation): string {
  return html`<div class="message notice"><p>You are invited to ${workspaceName}:
<a href="/invitations/${id}">answer the invitation</a>.</p></div>`
}
