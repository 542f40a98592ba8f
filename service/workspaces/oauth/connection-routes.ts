import { ConnectionChange } from '@signalbox/contract/session/agents.ts'
import { html } from 'ghtml'
import Type from 'typebox'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import { buttonForm, errorSummary, type FormErrors } from '../../runtime/pages/form-controls.ts'
import { Notices, pageLinks } from '../../runtime/pages/navigation.ts'
import { servePages } from '../../runtime/pages/serve-pages.ts'
import type { ListPage } from '../../runtime/util/list-page.ts'
import { formatDate } from '../../runtime/util/time.ts'
import { type AdAccount, listAdAccounts } from '../users/ad-account-store.ts'
import {
  readPageNumber,
  readWorkspaceParam,
  requirePageSession,
  type WorkspacePageExchange,
} from '../users/page-visit.ts'
import type { CurrentUser } from '../users/session-store.ts'
import {
  type PageMembership,
  requirePageMembership,
  workspacePage,
} from '../users/workspace-pages.ts'
import type { ListedConnection } from './connection-store.ts'
import {
  type ConnectionVisit,
  listWorkspaceConnections,
  revokeWorkspaceConnection,
  updateConnection,
  type WorkspaceVisit,
} from './connections.ts'
import type { OauthContext } from './oauth-responses.ts'
import { PERMISSION_LABELS, type Permission } from './permissions.ts'

/** The page of a workspace's connections, with forms to change each. */
export function connectionRoutes(app: ServiceApp, context: OauthContext): void {
  const url = '/workspaces/:workspace/connections'
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    pages.get(url, { config }, async (request, reply) => {
      const visit = await requireConnectionsVisit(context, { request, reply })
      if (!visit) return reply
      const page = readPageNumber(request.query)
      const notice = NOTICES.find(request.query)
      return reply.send(await renderConnections(context, visit, { notice, page }))
    })
    for (const { name, change } of CHANGES) {
      pages.post(`${url}/:connection/${name}`, { config }, async (request, reply) => {
        const visit = await requireConnectionsVisit(context, { request, reply })
        if (!visit) return reply
        const { connection: connectionId } = readPathParameters(request.params, 'connection')
        try {
          await change(context, { ...visit, connectionId }, request.body)
        } catch (error) {
          const errors = toFormErrors(error)
          return reply.code(422).send(await renderConnections(context, visit, { errors }))
        }
        return reply.redirect(NOTICES.addTo(connectionsPath(visit.workspaceId), name), 303)
      })
    }
  })
}

const config = { credential: 'none' } as const

/** After signing in, always returns to the list: a form is not sent again. */
function requireConnectionsVisit(
  context: OauthContext,
  { request, reply }: Omit<WorkspacePageExchange, 'returnTo'>,
) {
  const returnTo = connectionsPath(readWorkspaceParam(request))
  return requirePageSession(context, { request, reply, returnTo })
}

function connectionsPath(workspaceId: string): string {
  return `/workspaces/${encodeURIComponent(workspaceId)}/connections`
}

const NOTICES = new Notices({
  rename: 'Agent renamed.',
  'ad-account': 'Ad account changed. The agent must be approved again.',
  revoke: 'Agent revoked. It no longer has access.',
})

interface Change {
  name: Parameters<typeof NOTICES.addTo>[1]
  change: (context: OauthContext, visit: ConnectionVisit, form: unknown) => Promise<void>
}

const { name, ad_account_id } = ConnectionChange.properties
const RENAME_FORM = Type.Object({ name })
const AD_ACCOUNT_FORM = Type.Object({ ad_account_id })

const CHANGES: readonly Change[] = [
  {
    name: 'rename',
    change: (context, visit, form) => updateConnection(context, visit, readForm(form, RENAME_FORM)),
  },
  {
    name: 'ad-account',
    change: (context, visit, form) =>
      updateConnection(context, visit, readForm(form, AD_ACCOUNT_FORM)),
  },
  { name: 'revoke', change: (context, visit) => revokeWorkspaceConnection(context, visit) },
]

interface PageFeedback {
  page?: number
  notice?: string | undefined
  errors?: FormErrors
}

async function renderConnections(
  { database }: OauthContext,
  visit: WorkspaceVisit,
  { page = 1, notice, errors = {} }: PageFeedback,
) {
  const membership = await requirePageMembership(database, visit.user, {
    workspaceId: visit.workspaceId,
    action: 'manage_agents',
  })
  const connections = await listWorkspaceConnections(database, visit, page)
  const all = await listAdAccounts(database, membership.workspaceId)
  return connectionsPage({
    user: visit.user,
    membership,
    connections,
    adAccounts: all.filter(({ status }) => status === 'active'),
    notice,
    errors,
  })
}

interface ConnectionsPage {
  user: CurrentUser
  membership: PageMembership
  connections: ListPage<ListedConnection>
  /** The active ad accounts of the workspace. */
  adAccounts: readonly AdAccount[]
  errors?: FormErrors
  notice?: string | undefined
}

/** The connections of a workspace, with their permissions and forms to change them. */
function connectionsPage(page: ConnectionsPage): string {
  const { user, membership, connections, errors = {}, notice } = page
  const live = connections.rows.filter(({ revoked_at }) => revoked_at === null)
  const revoked = connections.rows.filter(({ revoked_at }) => revoked_at !== null)
  const isEmpty = live.length === 0 && connections.page === 1
  const path = `/workspaces/${membership.workspaceId}/connections`
  const content = html`!${errorSummary(errors)}
!${isEmpty ? '<p>No agents connected.</p>' : ''}
!${live.map(connection => connectionCard(connection, page)).join('')}
!${revoked.length === 0 ? '' : revokedCard(revoked)}
!${pageLinks(connections, path)}`
  return workspacePage({ user, membership, tab: 'connections', notice, content })
}

function connectionCard(connection: ListedConnection, page: ConnectionsPage): string {
  const { id, name, client_name, ad_account_name, approved_by, created_at } = connection
  const { last_used_at, permissions, grant_id } = connection
  const action = `/workspaces/${page.membership.workspaceId}/connections/${id}`
  return html`<section class="card" aria-labelledby="connection-${id}">
<h2 id="connection-${id}">${name}</h2>
!${grant_id === null ? NEEDS_APPROVAL : ''}
<dl>
<dt>Agent</dt><dd>${client_name} <span class="tag">not verified</span></dd>
<dt>Ad account</dt><dd>${ad_account_name}</dd>
<dt>Permissions</dt><dd><ul>!${permissions.map(permissionItem).join('')}</ul></dd>
<dt>Approved</dt><dd>${formatDate(created_at)} by ${approved_by}</dd>
<dt>Last used</dt><dd>${last_used_at === null ? 'never' : formatDate(last_used_at)}</dd>
</dl>
!${renameForm(connection, action)}
!${page.adAccounts.length > 1 ? adAccountForm(connection, action, page.adAccounts) : ''}
!${buttonForm({ action: `${action}/revoke`, label: 'Revoke', look: 'danger', about: name })}
</section>`
}

const NEEDS_APPROVAL = html`<div class="message notice"><p>The ad account was changed. The agent
must be approved again.</p></div>`

function permissionItem(permission: string): string {
  return html`<li>${PERMISSION_LABELS[permission as Permission] ?? permission}</li>`
}

function renameForm({ id, name }: ListedConnection, action: string): string {
  return html`<form method="post" action="${action}/rename">
<div class="field">
<label for="name-${id}">Name</label>
<input id="name-${id}" name="name" value="${name}" maxlength="100" required autocomplete="off">
</div>
<button class="quiet small">Rename</button>
</form>`
}

function adAccountForm(
  { id, ad_account_id }: ListedConnection,
  action: string,
  adAccounts: readonly AdAccount[],
): string {
  const options = adAccounts.map(
    account =>
      html`<option value="${account.id}"!${account.id === ad_account_id ? ' selected' : ''}>
${account.name}</option>`,
  )
  return html`<form method="post" action="${action}/ad-account">
<div class="field">
<label for="ad-account-${id}">Ad account</label>
<span class="hint" id="ad-account-${id}-hint">The agent stops until it is approved again.</span>
<select id="ad-account-${id}" name="ad_account_id" aria-describedby="ad-account-${id}-hint">
!${options.join('')}</select>
</div>
<button class="quiet small">Change ad account</button>
</form>`
}

function revokedCard(revoked: readonly ListedConnection[]): string {
  const rows = revoked.map(
    ({ name, ad_account_name, revoked_at }) => html`<li class="row"><span>${name}<br>
<small>${ad_account_name} ·
revoked ${revoked_at === null ? '' : formatDate(revoked_at)}</small></span></li>`,
  )
  return html`<section class="card"><h2>Revoked</h2>
<ul class="plain">!${rows.join('')}</ul></section>`
}
