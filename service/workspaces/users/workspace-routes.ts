import { AdAccountSubmission, WorkspaceSubmission } from '@signalbox/contract/session/users.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import { listAdAccounts } from './ad-account-store.ts'
import { addAdAccount, changeAdAccountStatus } from './ad-accounts.ts'
import { adAccountsPage } from './ad-accounts-page.ts'
import { listOwnInvitations } from './invitations.ts'
import { requirePageMembership } from './page-membership.ts'
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
import type { UsersContext } from './users-context.ts'
import { workspacesPage } from './workspace-pages.ts'
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
