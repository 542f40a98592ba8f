import { WorkspaceSubmission } from '@signalbox/contract/session/users.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import { listOwnInvitations } from './invitations.ts'
import {
  forSignedIn,
  NOTICES,
  PUBLIC,
  readPageNumber,
  readWorkspaceParam,
  SIGNED_IN,
  type SignedInRequest,
  seeOther,
  UNPROCESSABLE,
} from './page-visit.ts'
import type { UsersContext } from './users-context.ts'
import { workspacesPage } from './workspace-pages.ts'
import { listMemberships } from './workspace-store.ts'
import { createWorkspace } from './workspaces.ts'

/** The list of workspaces, and the addresses that pages of the dashboard had before. */
export function workspaceRoutes(app: ServiceApp, context: UsersContext): void {
  const page = (handle: (visit: SignedInRequest) => Promise<unknown>) =>
    forSignedIn(context, handle)
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
  for (const [before, now] of Object.entries(MOVED_PAGES)) {
    app.get(`/workspaces/:workspace${before}`, PUBLIC, async (request, reply) => {
      const workspace = encodeURIComponent(readWorkspaceParam(request))
      return seeOther(reply, `/w/${workspace}${now}`)
    })
  }
}

/** Addresses below /workspaces/:workspace that emails and bookmarks have, and the new ones. */
const MOVED_PAGES = {
  '': '',
  '/ad-accounts': '/ad-accounts',
  '/people': '/people',
  '/connections': '/agents',
  '/tokens': '/tokens',
  '/notifications': '/notifications',
} as const

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
    return seeOther(reply, `/w/${id}/start`)
  } catch (error) {
    const page = await showWorkspaces(context, visit, toFormErrors(error))
    return reply.code(UNPROCESSABLE).send(page)
  }
}
