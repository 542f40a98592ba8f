import { ExecutionTokenSubmission } from '@signalbox/contract/session/agents.ts'
import { html } from 'ghtml'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import {
  buttonForm,
  errorSummary,
  type FormErrors,
  selectField,
  textField,
} from '../../runtime/pages/form-controls.ts'
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
import { CONFIRM_PATH, isRecentlyAuthenticated } from '../users/reauthentication.ts'
import type { CurrentUser } from '../users/session-store.ts'
import {
  type PageMembership,
  requirePageMembership,
  workspacePage,
} from '../users/workspace-pages.ts'
import type { WorkspaceVisit } from './connections.ts'
import type { ListedExecutionToken } from './execution-token-store.ts'
import {
  issueWorkspaceToken,
  listWorkspaceTokens,
  revokeWorkspaceToken,
} from './execution-tokens.ts'
import type { OauthContext } from './oauth-responses.ts'
import { TIER_LABELS, TIERS, TOKEN_DAYS } from './permissions.ts'

/** The page of a workspace's execution tokens. A new token is shown in the response to its form. */
export function executionTokenRoutes(app: ServiceApp, context: OauthContext): void {
  const url = '/workspaces/:workspace/tokens'
  const config = { credential: 'none' } as const
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    pages.get(url, { config }, async (request, reply) => {
      const visit = await requireTokensVisit(context, { request, reply })
      if (!visit) return reply
      const notice = NOTICES.find(request.query)
      const page = readPageNumber(request.query)
      return reply.send(await renderTokens(context, visit, { notice, page }))
    })
    pages.post(url, { config }, async (request, reply) => {
      const visit = await requireTokensVisit(context, { request, reply })
      if (!visit) return reply
      const values = readForm(request.body, ExecutionTokenSubmission)
      const { days, ad_account_id: adAccountId } = values
      const body = { ...values, days: Number(days), ad_account_id: Number(adAccountId) }
      try {
        const issued = await issueWorkspaceToken(context, visit, body)
        return reply.send(await renderTokens(context, visit, { issued: issued.token }))
      } catch (error) {
        const errors = toFormErrors(error)
        return reply.code(422).send(await renderTokens(context, visit, { errors, values }))
      }
    })
    pages.post(`${url}/:token/revoke`, { config }, async (request, reply) => {
      const visit = await requireTokensVisit(context, { request, reply })
      if (!visit) return reply
      const { token: tokenId } = readPathParameters(request.params, 'token')
      await revokeWorkspaceToken(context, { ...visit, tokenId })
      return reply.redirect(NOTICES.addTo(tokensPath(visit), 'revoke'), 303)
    })
  })
}

const NOTICES = new Notices({ revoke: 'Token revoked.' })

/** After signing in, always returns to the list: a form is not sent again. */
function requireTokensVisit(
  context: OauthContext,
  { request, reply }: Omit<WorkspacePageExchange, 'returnTo'>,
) {
  const returnTo = tokensPath({ workspaceId: readWorkspaceParam(request) })
  return requirePageSession(context, { request, reply, returnTo })
}

function tokensPath({ workspaceId }: Pick<WorkspaceVisit, 'workspaceId'>): string {
  return `/workspaces/${encodeURIComponent(String(workspaceId))}/tokens`
}

type PageFeedback = { page?: number } & Partial<
  Pick<ExecutionTokensPage, 'issued' | 'values' | 'errors' | 'notice'>
>

async function renderTokens(
  context: OauthContext,
  visit: WorkspaceVisit,
  { page = 1, ...feedback }: PageFeedback,
) {
  const { database, now } = context
  const membership = await requirePageMembership(database, visit.user, {
    workspaceId: visit.workspaceId,
    action: 'manage_agents',
  })
  const all = await listAdAccounts(database, membership.workspaceId)
  return executionTokensPage({
    user: visit.user,
    membership,
    tokens: await listWorkspaceTokens(context, visit, page),
    adAccounts: all.filter(({ status }) => status === 'active'),
    now: now(),
    ...feedback,
  })
}

interface ExecutionTokensPage {
  user: CurrentUser
  membership: PageMembership
  tokens: ListPage<ListedExecutionToken>
  /** The active ad accounts of the workspace. */
  adAccounts: readonly AdAccount[]
  now: Date
  /** The token that was just issued; shown once. */
  issued?: string | undefined
  /** The form's values, by field name. */
  values?: Record<string, string>
  errors?: FormErrors
  notice?: string | undefined
}

/** The execution tokens of a workspace, and the form to issue one. */
function executionTokensPage(page: ExecutionTokensPage): string {
  const { user, membership, tokens, adAccounts, issued, notice } = page
  const content = html`!${issued === undefined ? '' : issuedCard(issued)}
!${tokens.rows.length === 0 ? '<p>No tokens yet.</p>' : tokensCard(page)}
!${adAccounts.length === 0 ? NO_AD_ACCOUNT : issueCard(page)}`
  return workspacePage({ user, membership, tab: 'tokens', notice, content })
}

function issuedCard(token: string): string {
  return html`<section class="card" role="status" tabindex="-1" autofocus>
<h2>Your new token</h2>
<p>Copy it now: it is shown only once. Keep it on a server, never in a page or a prompt.</p>
<p><code>${token}</code></p>
</section>`
}

function tokensCard({ tokens, membership, now }: ExecutionTokensPage): string {
  const rows = tokens.rows.map(token => tokenRow(token, membership.workspaceId, now))
  return html`<section class="card"><h2>Tokens</h2>
<ul class="plain">!${rows.join('')}</ul>
!${pageLinks(tokens, `/workspaces/${membership.workspaceId}/tokens`)}</section>`
}

function tokenRow(token: ListedExecutionToken, workspaceId: number, now: Date): string {
  const { id, name, tier, last_characters, ad_account_name, issued_by, last_used_at } = token
  const status = tokenStatus(token, now)
  const button = buttonForm({
    action: `/workspaces/${workspaceId}/tokens/${id}/revoke`,
    label: 'Revoke',
    about: name,
  })
  return html`<li class="row"><span>${name} <span class="tag">${tier}</span>
!${status === null ? '' : html`<span class="tag">${status}</span>`}<br>
<small>ends in ${last_characters} · ${ad_account_name} · issued by ${issued_by} ·
until ${formatDate(token.expires_at)} ·
${last_used_at === null ? 'never used' : `last used ${formatDate(last_used_at)}`}</small></span>
!${status === null ? button : ''}</li>`
}

function tokenStatus({ revoked_at, expires_at }: ListedExecutionToken, now: Date): string | null {
  if (revoked_at !== null) return 'revoked'
  return expires_at <= now ? 'expired' : null
}

const USE_HINT = 'Where the token will be used.'
const NO_AD_ACCOUNT = '<p>A token needs an active ad account. Add one first.</p>'

/** Asks for a confirmation before the form is filled in, not after. */
function issueCard(page: ExecutionTokensPage): string {
  if (isRecentlyAuthenticated(page.user, page.now)) return issueForm(page)
  const query = new URLSearchParams({
    return_to: `/workspaces/${page.membership.workspaceId}/tokens`,
  })
  return html`<section class="card"><h2>Issue a token</h2>
<p><a class="button" href="${CONFIRM_PATH}?${query.toString()}">Confirm your identity first</a></p>
</section>`
}

function issueForm({ membership, adAccounts, values = {}, errors = {} }: ExecutionTokensPage) {
  const accounts = adAccounts.map(({ id, name }) => [String(id), name] as const)
  const tiers = TIERS.map(tier => [tier, TIER_LABELS[tier]] as const)
  const days = TOKEN_DAYS.map(count => [String(count), `${count} days`] as const)
  const field = (name: string) => ({ name, errors, ...(values[name] && { value: values[name] }) })
  return html`<section class="card"><h2>Issue a token</h2>
!${errorSummary(errors)}
<form method="post" action="/workspaces/${membership.workspaceId}/tokens">
!${textField({ ...field('name'), label: 'Name', hint: USE_HINT, charactersMax: 100 })}
!${selectField({ ...field('ad_account_id'), label: 'Ad account', options: accounts })}
!${selectField({ ...field('tier'), label: 'Permissions', options: tiers })}
!${selectField({ ...field('days'), label: 'Valid for', options: days })}
<button>Issue token</button>
</form></section>`
}
