import { html } from 'ghtml'
import {
  buttonForm,
  errorSummary,
  type FormErrors,
  selectField,
  tag,
  textField,
} from '../../runtime/pages/form-controls.ts'
import type { AdAccount } from './ad-account-store.ts'
import { TIME_ZONES } from './ad-accounts.ts'
import type { PageMembership } from './page-membership.ts'
import type { CurrentUser } from './session-store.ts'
import { workspacePage } from './workspace-pages.ts'
import { hasPermission } from './workspace-role.ts'

interface AdAccountsPage {
  user: CurrentUser
  membership: PageMembership
  accounts: readonly AdAccount[]
  /** The form's values, by field name. */
  values?: Record<string, string>
  errors?: FormErrors
  notice?: string | undefined
}

export function adAccountsPage(page: AdAccountsPage): string {
  const { user, membership, accounts, notice } = page
  const canManage = hasPermission(membership.role, 'manage_ad_accounts')
  const rows = accounts.map(account => accountRow(account, canManage))
  const list = html`<section class="card"><h2>Ad accounts</h2>
<ul class="plain">!${rows.join('')}</ul></section>`
  const content = html`!${accounts.length === 0 ? '<p>No ad accounts yet.</p>' : list}
!${canManage ? addAdAccountForm(page) : ''}`
  return workspacePage({ user, membership, tab: 'ad-accounts', notice, content })
}

function accountRow(account: AdAccount, canManage: boolean): string {
  const { id, workspaceId, name, platformAccountId, currency, timeZone, status } = account
  const isActive = status === 'active'
  const button = buttonForm({
    action: `/workspaces/${workspaceId}/ad-accounts/${id}/${isActive ? 'disable' : 'enable'}`,
    label: isActive ? 'Disable' : 'Enable',
    about: name,
  })
  return html`<li class="row"><span>${name}!${isActive ? '' : tag('Disabled')}<br>
<small>Meta ${platformAccountId} · ${currency} · ${timeZone}</small></span>
!${canManage ? button : ''}</li>`
}

function addAdAccountForm({ membership, values = {}, errors = {} }: AdAccountsPage): string {
  const zones = TIME_ZONES.map(zone => [zone, zone] as const)
  const field = (name: keyof typeof FIELDS) =>
    textField({ name, value: values[name] ?? '', errors, ...FIELDS[name] })
  const zone = { name: 'time_zone', label: 'Time zone', value: values.time_zone ?? 'UTC' }
  return html`<section class="card"><h2>Add an ad account</h2>
!${errorSummary(errors)}
<form method="post" action="/workspaces/${membership.workspaceId}/ad-accounts">
!${field('name')}
!${field('platform_account_id')}
!${field('currency')}
!${selectField({ ...zone, options: zones, errors })}
<button>Add ad account</button>
</form></section>`
}

const FIELDS = {
  name: { label: 'Name', charactersMax: 100 },
  platform_account_id: {
    label: 'Meta ad account ID',
    hint: 'The digits after act_.',
    charactersMax: 30,
  },
  currency: { label: 'Currency', hint: 'Three-letter code, such as EUR.', charactersMax: 3 },
} as const
