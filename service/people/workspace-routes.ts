import type { ServiceApp } from '../http/service-app.ts'
import { formText } from '../pages/form-body.ts'
import type { FieldFaults } from '../pages/form-controls.ts'
import { listAdAccounts } from './ad-account-store.ts'
import { adAccountsPage } from './ad-accounts-page.ts'
import { addAdAccount, switchAdAccount } from './add-ad-account.ts'
import { createWorkspace } from './create-workspace.ts'
import { formFaults } from './form-faults.ts'
import { listInvitationsTo } from './invitation-store.ts'
import { listMemberships } from './member-store.ts'
import { noticeOf } from './notices.ts'
import type { PeopleContext } from './people-context.ts'
import { type PersonalVisit, personalPage, seeOther } from './personal-page.ts'
import { requireRole } from './require-role.ts'
import { workspacesPage } from './workspace-pages.ts'

const SIGNED_IN = { config: { credential: 'session' } } as const
const UNPROCESSABLE = 422

/** The list of workspaces, and the ad accounts of one. */
export function workspaceRoutes(app: ServiceApp, context: PeopleContext): void {
  const page = (handle: (visit: PersonalVisit) => Promise<unknown>) => personalPage(context, handle)
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
    page(async ({ person, request, reply }) => {
      const intent = { workspaceId: workspaceOf(request), action: 'read' } as const
      const { workspaceId } = await requireRole(context.database, person, intent)
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
  for (const [verb, status] of [['disable', 'disabled'] as const, ['enable', 'active'] as const]) {
    app.post(
      `${accounts}/:account/${verb}`,
      SIGNED_IN,
      page(async ({ person, request, reply }) => {
        const workspaceId = workspaceOf(request)
        const adAccountId = (request.params as { account: string }).account
        await switchAdAccount(context, person, { workspaceId, adAccountId, status })
        return seeOther(reply, `/workspaces/${workspaceId}/ad-accounts?done=account_${verb}d`)
      }),
    )
  }
}

/** As it stands in the path; whoever uses it checks it. */
export function workspaceOf({ params }: { params: unknown }): string {
  return (params as { workspace: string }).workspace
}

async function showWorkspaces(
  { database, now }: PeopleContext,
  { person, request }: PersonalVisit,
  faults: FieldFaults = {},
): Promise<string> {
  const memberships = await listMemberships(database, person.userId)
  const invitations = person.isEmailVerified
    ? await listInvitationsTo(database, person.email, now())
    : []
  return workspacesPage({
    person,
    memberships,
    invitations,
    faults,
    notice: noticeOf(request.query),
  })
}

async function postWorkspace(context: PeopleContext, visit: PersonalVisit) {
  const { person, request, reply } = visit
  try {
    const id = await createWorkspace(context, person, formText(request.body, 'name'))
    return seeOther(reply, `/workspaces/${id}/ad-accounts?done=workspace_created`)
  } catch (error) {
    const shown = await showWorkspaces(context, visit, formFaults(error))
    return reply.code(UNPROCESSABLE).send(shown)
  }
}

interface Refilled {
  values: Record<string, string>
  faults: FieldFaults
}

async function showAdAccounts(
  { database }: PeopleContext,
  { person, request }: PersonalVisit,
  refilled?: Refilled,
): Promise<string> {
  const intent = { workspaceId: workspaceOf(request), action: 'read' } as const
  const membership = await requireRole(database, person, intent)
  const accounts = await listAdAccounts(database, membership.workspaceId)
  return adAccountsPage({
    ...{ person, membership, accounts, ...refilled },
    notice: noticeOf(request.query),
  })
}

async function postAdAccount(context: PeopleContext, visit: PersonalVisit) {
  const { person, request, reply } = visit
  const workspaceId = workspaceOf(request)
  const names = ['name', 'platform_account_id', 'currency', 'time_zone']
  const values = Object.fromEntries(names.map(name => [name, formText(request.body, name)]))
  try {
    await addAdAccount(context, person, {
      workspaceId,
      name: values.name,
      platformAccountId: values.platform_account_id,
      currency: values.currency,
      timeZone: values.time_zone,
    })
    return seeOther(reply, `/workspaces/${workspaceId}/ad-accounts?done=account_added`)
  } catch (error) {
    const shown = await showAdAccounts(context, visit, { values, faults: formFaults(error) })
    return reply.code(UNPROCESSABLE).send(shown)
  }
}
