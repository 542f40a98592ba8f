import { html } from 'ghtml'
import { errorSummary, type FormErrors, message, tag, textField } from '../pages/form-controls.ts'
import { renderPage } from '../pages/layout.ts'
import { pageLinks } from '../pages/page-links.ts'
import type { ListPage } from '../util/list-page.ts'
import type { Invitation } from './invitation-store.ts'
import type { CurrentPerson } from './session-store.ts'
import type { WorkspaceRole } from './workspace-role.ts'
import type { Membership } from './workspace-store.ts'

interface WorkspacesPage {
  person: CurrentPerson
  memberships: readonly Membership[]
  invitations: ListPage<Invitation>
  errors?: FormErrors
  notice?: string | undefined
}

/** Lists the workspaces of a person, to switch between them. */
export function workspacesPage(page: WorkspacesPage): string {
  const { person, memberships, invitations, errors = {}, notice } = page
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
  return renderPage({ title: 'Your workspaces', body, signedInAs: person.email, isWide: true })
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
<a href="/workspaces/${workspaceId}/ad-accounts">${workspaceName}</a>
!${tag(ROLE_LABELS[role])}</li>`,
  )
  return html`<section class="card"><ul class="plain">!${rows.join('')}</ul></section>`
}

function invitationCard({ id, workspaceName }: Invitation): string {
  return html`<div class="message notice"><p>You are invited to ${workspaceName}:
<a href="/invitations/${id}">answer the invitation</a>.</p></div>`
}

export const ROLE_LABELS: Record<WorkspaceRole, string> = {
  owner: 'Owner',
  admin: 'Administrator',
  member: 'Member',
}

const TABS = [
  ['ad-accounts', 'Ad accounts'],
  ['people', 'People'],
  ['connections', 'Agents'],
  ['tokens', 'Tokens'],
  ['approvals', 'Approvals'],
  ['policy', 'Policy'],
  ['notifications', 'Notifications'],
  ['audit', 'Log'],
] as const
type WorkspaceTab = (typeof TABS)[number][0]

/** Hidden from other roles. The other tabs explain on their pages what a role may not do. */
const OWNER_TABS: readonly WorkspaceTab[] = ['connections', 'tokens']

interface WorkspacePage {
  person: CurrentPerson
  membership: Membership
  tab: WorkspaceTab
  notice?: string | undefined
  /** HTML. */
  content: string
}

/** A page of one workspace, with tabs to its other pages. */
export function workspacePage({ person, membership, tab, notice, content }: WorkspacePage): string {
  const { workspaceId, workspaceName, role } = membership
  const tabs = TABS.filter(([key]) => role === 'owner' || !OWNER_TABS.includes(key))
  const links = tabs.map(([key, label]) => {
    const current = key === tab ? ' aria-current="page"' : ''
    return html`<a href="/workspaces/${workspaceId}/${key}"!${current}>${label}</a>`
  })
  const body = html`<p><a href="/workspaces">All workspaces</a></p>
<h1>${workspaceName}</h1>
<nav class="tabs" aria-label="Workspace">!${links.join('')}</nav>
!${notice === undefined ? '' : message('success', notice)}
!${content}`
  return renderPage({ title: workspaceName, body, signedInAs: person.email, isWide: true })
}
