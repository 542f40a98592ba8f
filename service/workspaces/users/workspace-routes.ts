import { AdAccountSubmission, WorkspaceSubmission } from '@signalbox/contract/session/users.ts'
import { html } from 'ghtml'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import {
  buttonForm,
  errorSummary,
  type FormErrors,
  selectField,
  tag,
  textField,
} from '../../runtime/pages/form-controls.ts'
import { type AdAccount, listAdAccounts } from './ad-account-store.ts'
import { addAdAccount, changeAdAccountStatus, TIME_ZONES } from './ad-accounts.ts'
import { listOwnInvitations } from './invitations.ts'
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
import type { CurrentUser } from './session-store.ts'
import type { UsersContext } from './users-context.ts'
import {
  type PageMembership,
  requirePageMembership,
  workspacePage,
  workspacesPage,
} from './workspace-pages.ts'
import { hasPermission } from './workspace-role.ts'
import { listMemberships } from './workspace-store.ts'
import { createWorkspace, requireRole } from './workspaces.ts'

/** The list of workspaces, and the ad accounts of each. */
export function workspaceRoutes(app: ServiceApp, context: UsersContext): void {
  const page = (handle: (visit: SignedInRequest) => Promise<unknown>) =>
    forSignedIn(context, handle)
  const accounts = '/workspaces/:workspace/ad-accounts'

  app.get(
    '/workspaces',
    SIGNED_IN,
    page(visit => showWorkspaces(context, visit)),
  )
  app.post(
    '/workspaces',
    SIGNED_IN,
    page(visit => postWorkspace(context, visit)),
  )
  app.get(
    '/workspaces/:workspace',
    SIGNED_IN,
    page(async ({ user, request, reply }) => {
      const intent = { workspaceId: readWorkspaceParam(request), action: 'read' } as const
      const { workspaceId } = await requireRole(context.database, user, intent)
      return seeOther(reply, `/workspaces/${workspaceId}/ad-accounts`)
    }),
  )
  app.get(
    accounts,
    SIGNED_IN,
    page(visit => showAdAccounts(context, visit)),
  )
  app.post(
    accounts,
    SIGNED_IN,
    page(visit => postAdAccount(context, visit)),
  )
  for (const { verb, status, notice } of STATUS_CHANGES) {
    app.post(
      `${accounts}/:account/${verb}`,
      SIGNED_IN,
      page(async ({ user, request, reply }) => {
        const workspaceId = readWorkspaceParam(request)
        const { account: adAccountId } = readPathParameters(request.params, 'account')
        await changeAdAccountStatus(context, user, { workspaceId, adAccountId, body: { status } })
        return seeOther(reply, adAccountsPath(workspaceId, notice))
      }),
    )
  }
}

const STATUS_CHANGES = [
  { verb: 'disable', status: 'disabled', notice: 'account_disabled' },
  { verb: 'enable', status: 'active', notice: 'account_enabled' },
] as const

function adAccountsPath(workspaceId: string | number, notice: UserNotice): string {
  return NOTICES.addTo(`/workspaces/${workspaceId}/ad-accounts`, notice)
}

async function showWorkspaces(
  context: UsersContext,
  { user, request }: SignedInRequest,
  errors: FormErrors = {},
): Promise<string> {
  const memberships = await listMemberships(context.database, user.userId)
  const page = readPageNumber(request.query)
  const invitations = await listOwnInvitations(context, user, page)
  return workspacesPage({
    user,
    memberships,
    invitations,
    errors,
    notice: NOTICES.find(request.query),
  })
}

async function postWorkspace(context: UsersContext, visit: SignedInRequest) {
  const { user, request, reply } = visit
  try {
    const id = await createWorkspace(context, user, readForm(request.body, WorkspaceSubmission))
    return seeOther(reply, adAccountsPath(id, 'workspace_created'))
  } catch (error) {
    const page = await showWorkspaces(context, visit, toFormErrors(error))
    return reply.code(UNPROCESSABLE).send(page)
  }
}

interface FormState {
  values: Record<string, string>
  errors: FormErrors
}

async function showAdAccounts(
  { database }: UsersContext,
  { user, request }: SignedInRequest,
  form?: FormState,
): Promise<string> {
  const intent = { workspaceId: readWorkspaceParam(request), action: 'read' } as const
  const membership = await requirePageMembership(database, user, intent)
  const accounts = await listAdAccounts(database, membership.workspaceId)
  return adAccountsPage({
    user,
    membership,
    accounts,
    ...form,
    notice: NOTICES.find(request.query),
  })
}

async function postAdAccount(context: UsersContext, visit: SignedInRequest) {
  const { user, request, reply } = visit
  const workspaceId = readWorkspaceParam(request)
  const values = readForm(request.body, AdAccountSubmission)
  try {
    await addAdAccount(context, user, { workspaceId, body: values })
    return seeOther(reply, adAccountsPath(workspaceId, 'account_added'))
  } catch (error) {
    const page = await showAdAccounts(context, visit, { values, errors: toFormErrors(error) })
    return reply.code(UNPROCESSABLE).send(page)
  }
}

interface AdAccountsPage {
  user: CurrentUser
  membership: PageMembership
  accounts: readonly AdAccount[]
  /** The form's values, by field name. */
  values?: Record<string, string>
  errors?: FormErrors
  notice?: string | undefined
}

function adAccountsPage(page: AdAccountsPage): string {
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
