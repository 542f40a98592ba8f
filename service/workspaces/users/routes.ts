import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { acceptsHtml, servePages } from '../../runtime/pages/serve-pages.ts'
import { emailLinkRoutes } from './email-link-routes.ts'
import { invitationRoutes } from './invitation-routes.ts'
import { movedPageRoutes } from './moved-page-routes.ts'
import { PUBLIC, readLastWorkspace, requireSignIn, seeOther } from './page-visit.ts'
import { passkeyRoutes } from './passkey-routes.ts'
import { profileRoutes } from './profile-routes.ts'
import { secondFactorRoutes } from './second-factor-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { signInRoutes, socialRoutes } from './sign-in-routes.ts'
import { singleSignOnRoutes } from './single-sign-on/routes.ts'
import type { UsersContext } from './users-context.ts'
import { listMemberships } from './workspace-store.ts'

/** Sign-in and account pages (only passkeys need JavaScript) and the dashboard's API. */
export function userRoutes(app: ServiceApp, context: UsersContext): void {
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    recordLimitedSignIns(pages, context)
    signInRoutes(pages, context)
    emailLinkRoutes(pages, context)
    socialRoutes(pages, context)
    singleSignOnRoutes(pages, context)
    secondFactorRoutes(pages, context)
    passkeyRoutes(pages, context)
    profileRoutes(pages, context)
    movedPageRoutes(pages)
    invitationRoutes(pages, context)
  })
  rootRoute(app, context)
  sessionRoutes(app, context)
}

/** Too many sign-ins, emails or links: of an address, or for one account. */
function recordLimitedSignIns(app: ServiceApp, { recordSecurityEvent }: UsersContext): void {
  app.addHook('onError', async (request, _reply, error) => {
    if (!(error instanceof Refusal) || !SIGN_IN_LIMIT.test(error.reason)) return
    const details = { limit: error.reason.replace('rate_limited:', '') }
    await recordSecurityEvent({ type: 'sign_in.limited', user: null, request, details })
  })
}

const SIGN_IN_LIMIT = /^rate_limited:(sign_in|sign_in_account|account_emails)$/

/**
 * The address that the start of the service prints: it leads a browser to sign in, or to the
 * workspace that the user opened last. Programs get the 404 that the contract documents.
 */
function rootRoute(app: ServiceApp, context: UsersContext): void {
  const { database, publicOrigin } = context
  app.get('/', PUBLIC, async (request, reply) => {
    reply.header('vary', 'accept')
    const { headers } = request
    // The router takes a target that is no path, such as `*`, to this route.
    const isPath = request.url.startsWith('/') || request.url.startsWith('http')
    if (!isPath || !acceptsHtml(headers.accept)) throw Refusal.notFound()
    const user = await requireSignIn(context, { request, reply, returnTo: '/' })
    if (!user) return reply
    const memberships = await listMemberships(database, user.userId)
    const last = readLastWorkspace(headers, publicOrigin())
    const opened =
      memberships.find(({ workspaceId }) => String(workspaceId) === last) ?? memberships[0]
    return seeOther(reply, opened ? `/w/${opened.workspaceId}` : '/workspaces')
  })
}
