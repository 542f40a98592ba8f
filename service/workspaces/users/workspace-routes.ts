import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { WorkspaceSubmission } from '@signalbox/contract/session/users.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters } from '../../runtime/http/validator.ts'
import { readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import type { FormErrors } from '../../runtime/pages/form-controls.ts'
import { listOwnInvitations } from './invitations.ts'
import {
  forSignedIn,
  NOTICES,
  PUBLIC,
  readPageNumber,
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
  movedPageRoutes(app)
}

/** The addresses below /workspaces/:workspace that answers, emails and bookmarks have. */
function movedPageRoutes(app: ServiceApp): void {
  for (const [before, { to, keepsQuery = false }] of Object.entries(MOVED_PAGES)) {
    app.get(`/workspaces/:workspace${before}`, PUBLIC, async (request, reply) => {
      const path = to.replaceAll(/:(\w+)/g, (_, name) =>
        encodeURIComponent(readPathParameters(request.params, name)[name] ?? ''),
      )
      const [, query] = request.url.split('?', 2)
      return seeOther(reply, keepsQuery && query !== undefined ? `${path}?${query}` : path)
    })
  }
}

interface MovedPage {
  to: string
  /** Its query means the same there. */
  keepsQuery?: boolean
}

const MOVED_PAGES: Record<string, MovedPage> = {
  '': { to: '/w/:workspace' },
  '/ad-accounts': { to: '/w/:workspace/ad-accounts' },
  '/people': { to: '/w/:workspace/people' },
  '/connections': { to: '/w/:workspace/agents' },
  '/tokens': { to: '/w/:workspace/tokens' },
  '/notifications': { to: '/w/:workspace/notifications' },
  '/approvals': { to: '/w/:workspace/approvals', keepsQuery: true },
  '/approvals/:batch': { to: '/w/:workspace/approvals/:batch', keepsQuery: true },
  '/policy': { to: '/w/:workspace/policy', keepsQuery: true },
  '/audit': { to: '/w/:workspace/audit', keepsQuery: true },
  '/audit/verify': { to: '/w/:workspace/audit', keepsQuery: true },
  '/audit/export': {
    to: `${SESSION_API_PATH}/workspaces/:workspace/audit/export`,
    keepsQuery: true,
  },
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
    return seeOther(reply, `/w/${id}/start`)
  } catch (error) {
    const page = await showWorkspaces(context, visit, toFormErrors(error))
    return reply.code(UNPROCESSABLE).send(page)
  }
}
