import { html } from 'ghtml'
import {
  buttonForm,
  errorSummary,
  type FormErrors,
  selectField,
  textField,
} from '../../runtime/pages/form-controls.ts'
import { pageLinks } from '../../runtime/pages/page-links.ts'
import type { ListPage } from '../../runtime/util/list-page.ts'
import { formatDate } from '../../runtime/util/time.ts'
import type { AdAccount } from '../users/ad-account-store.ts'
import type { PageMembership } from '../users/page-membership.ts'
import { CONFIRM_PATH, isRecentlyAuthenticated } from '../users/reauthentication.ts'
import type { CurrentUser } from '../users/session-store.ts'
import { workspacePage } from '../users/workspace-pages.ts'
import type { ListedExecutionToken } from './execution-token-store.ts'
import { TIER_LABELS, TIERS, TOKEN_DAYS } from './permissions.ts'

export interface ExecutionTokensPage {
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
export function executionTokensPage(page: ExecutionTokensPage): string {
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
