import { ROLE_LABELS, type WorkspaceAction } from '@signalbox/contract/session/roles.ts'
import { NAVIGATION } from '@signalbox/design/navigation.ts'
import { html } from 'ghtml'
import type { Database } from '../../runtime/db/database.ts'
import {
  errorSummary,
  type FormErrors,
  message,
  tag,
  textField,
} from '../../runtime/pages/form-controls.ts'
import { renderPage } from '../../runtime/pages/layout.ts'
import { pageLinks, workspaceNavigation } from '../../runtime/pages/navigation.ts'
import type { ListPage } from '../../runtime/util/list-page.ts'
import { countPendingApprovals } from './ad-account-store.ts'
import type { Invitation } from './invitation-store.ts'
import type { CurrentUser } from './session-store.ts'
import type { Membership } from './workspace-store.ts'
import { requireRole } from './workspaces.ts'

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

/** The server-rendered pages of a workspace, by the last part of their path. */
type WorkspaceTab = 'approvals' | 'policy' | 'audit'

interface WorkspacePage {
  user: CurrentUser
  membership: PageMembership
  /** The entry of the navigation that the page belongs to. */
  tab: WorkspaceTab
  /** The heading, unless it is the label of the entry. Plain text. */
  title?: string
  notice?: string | undefined
  /** HTML. */
  content: string
  /** The path of a script of this site. The page's headers must allow it. */
  script?: string
}

/** A page of one workspace, with the navigation to its other pages. */
export function workspacePage(page: WorkspacePage): string {
  const { user, membership, tab, notice, content, script } = page
  const { role, workspaceName } = membership
  const entries = NAVIGATION.filter(({ roles }) => roles === undefined || roles.includes(role))
  const current = entries.find(({ path }) => path === `/workspaces/:workspace/${tab}`)
  const { title = current?.label ?? workspaceName } = page
  const body = html`<h1>${title}</h1>
!${notice === undefined ? '' : message('success', notice)}
!${content}`
  return renderPage({
    title,
    body,
    signedInAs: user.email,
    isWide: true,
    navigation: workspaceNavigation({ ...membership, entries, current }),
    ...(script !== undefined && { script }),
  })
}

/** A membership with what the navigation of the workspace's pages shows. */
export interface PageMembership extends Membership {
  /** Proposals that wait for a decision. */
  pendingApprovals: number
}

/** As `requireRole`, for a server-rendered page. Members may open most pages. */
export async function requirePageMembership(
  database: Database,
  user: CurrentUser,
  { workspaceId, action = 'read' }: { workspaceId: unknown; action?: WorkspaceAction },
): Promise<PageMembership> {
  const membership = await requireRole(database, user, { workspaceId, action })
  const pendingApprovals = await countPendingApprovals(database, membership.workspaceId)
  return { ...membership, pendingApprovals }
}
