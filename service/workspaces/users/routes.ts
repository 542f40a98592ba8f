import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { servePages } from '../../runtime/pages/serve-pages.ts'
import { emailLinkRoutes } from './email-link-routes.ts'
import { memberRoutes } from './member-routes.ts'
import { passkeyRoutes } from './passkey-routes.ts'
import { profileRoutes } from './profile-routes.ts'
import { secondFactorRoutes } from './second-factor-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { signInRoutes, socialRoutes } from './sign-in-routes.ts'
import { startRoutes } from './start-routes.ts'
import type { UsersContext } from './users-context.ts'
import { workspaceRoutes } from './workspace-routes.ts'

/** Sign-in, account and workspace pages (only passkeys need JavaScript) and the dashboard's API. */
export function userRoutes(app: ServiceApp, context: UsersContext): void {
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    recordLimitedSignIns(pages, context)
    signInRoutes(pages, context)
    emailLinkRoutes(pages, context)
    socialRoutes(pages, context)
    secondFactorRoutes(pages, context)
    passkeyRoutes(pages, context)
    profileRoutes(pages, context)
    workspaceRoutes(pages, context)
    memberRoutes(pages, context)
  })
  startRoutes(app, context)
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
