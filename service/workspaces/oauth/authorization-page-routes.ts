import Type from 'typebox'
import { limitAddresses } from '../../runtime/http/client-address.ts'
import { createRateLimitRefusal } from '../../runtime/http/rate-limit.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../../runtime/http/validator.ts'
import { formText, readForm } from '../../runtime/pages/form-body.ts'
import { renderPage } from '../../runtime/pages/layout.ts'
import { pageHeaders, servePages } from '../../runtime/pages/serve-pages.ts'
import { objectOrEmpty } from '../../runtime/util/is-object.ts'
import { listOwnedAdAccounts } from '../users/ad-account-store.ts'
import { requireSignIn } from '../users/page-visit.ts'
import {
  CONFIRM_PATH,
  isRecentlyAuthenticated,
  requireSecondFactor,
} from '../users/reauthentication.ts'
import type { CurrentUser } from '../users/session-store.ts'
import { callProvider, type HttpExchange } from './authorization-server.ts'
import { formActionSource } from './client-metadata.ts'
import {
  type ApprovalRequest,
  consentPage,
  decideApproval,
  findApprovalRequest,
} from './consent-page.ts'
import { ENDPOINT_PATHS, INTERACTION_PATH } from './metadata.ts'
import type { OauthContext } from './oauth-responses.ts'
import { disableBodyParsing } from './oauth-responses.ts'
import { errorPage } from './provider-pages.ts'

const CONSENT_FORM = Type.Object({ decision: formText(), ad_account_id: formText() })

/** The consent page. The pending request is bound to the browser. */
export function interactionRoutes(app: ServiceApp, context: OauthContext): void {
  const url = `${INTERACTION_PATH}/:uid`
  const config = { credential: 'none' } as const
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    pages.get(url, { config, exposeHeadRoute: false }, async (request, reply) => {
      const pending = await findPendingApproval(context, { request, reply })
      if (!pending) return reply
      return sendConsentPage(reply, {
        ...pending,
        error: null,
        adAccounts: await listAdAccountChoices(context, pending),
      })
    })
    pages.post(url, { config }, async (request, reply) => {
      const pending = await findPendingApproval(context, { request, reply })
      if (!pending) return reply
      const adAccounts = await listAdAccountChoices(context, pending)
      const { decision, ad_account_id: chosen } = readForm(request.body, CONSENT_FORM)
      const isApproved = decision === 'approve'
      const adAccount = adAccounts.find(({ adAccountId }) => String(adAccountId) === chosen)
      if (isApproved && !adAccount) {
        const error = 'Choose the ad account that this agent may access.'
        return sendConsentPage(reply.code(422), { ...pending, error, adAccounts })
      }
      const returnTo = await decideApproval(context, {
        exchange: { request, reply },
        ...pending,
        adAccount: isApproved && adAccount ? adAccount : null,
      })
      return reply.redirect(returnTo, 303)
    })
  })
}

interface PendingApproval {
  user: CurrentUser
  approval: ApprovalRequest
}

type PageExchange = HttpExchange & {
  request: { url: string; headers: { cookie?: string | undefined }; params: unknown }
  reply: PageReply & { redirect(url: string, code: number): unknown }
}

interface PageReply {
  code(status: number): PageReply
  headers(values: Record<string, string>): PageReply
  send(text: string): unknown
}

/**
 * Returns the user and the pending request; null after sending another reply. Approving a
 * connection issues tokens, so the user must have confirmed their identity recently.
 */
async function findPendingApproval(
  context: OauthContext,
  exchange: PageExchange,
): Promise<PendingApproval | null> {
  const { request, reply } = exchange
  const { uid } = readPathParameters(request.params, 'uid')
  const returnTo = `${INTERACTION_PATH}/${encodeURIComponent(uid)}`
  const user = await requireSignIn(context, { request, reply, returnTo })
  if (!user) return null
  if (!isRecentlyAuthenticated(user, context.now())) {
    reply.redirect(`${CONFIRM_PATH}?return_to=${encodeURIComponent(returnTo)}`, 303)
    return null
  }
  const approval = await findApprovalRequest(context, { exchange, uid })
  if (approval) return { user, approval }
  reply.code(400).send(renderPage(errorPage({ error: 'session_not_found' })))
  return null
}

/** Throws a 403 when only workspaces are left that require a second factor. */
async function listAdAccountChoices({ database }: OauthContext, { user }: PendingApproval) {
  const owned = await listOwnedAdAccounts(database, user.userId)
  if (user.secondFactorAt !== null) return owned
  const allowed = owned.filter(account => !account.requiresSecondFactor)
  if (owned.length > 0 && allowed.length === 0) requireSecondFactor(user)
  return allowed
}

type ConsentView = PendingApproval & Pick<Parameters<typeof consentPage>[0], 'error' | 'adAccounts'>

function sendConsentPage(reply: PageReply, { user, approval, error, adAccounts }: ConsentView) {
  const formTargets = approval.redirectUri === null ? [] : [formActionSource(approval.redirectUri)]
  const body = consentPage({ approval, adAccounts, error })
  return reply
    .headers(pageHeaders({ formTargets }))
    .send(renderPage({ ...body, signedInAs: user.email }))
}

/** The authorization endpoint, and where the browser returns to it after the decision. */
export function authorizationRoutes(app: ServiceApp, context: OauthContext): void {
  const { provider, publicOrigin, limits } = context
  const { authorization, code_verification: device } = ENDPOINT_PATHS
  app.register(async pages => {
    servePages(pages, publicOrigin)
    // Each request is stored for a while, before anyone has signed in.
    if (limits.oauth) limitAddresses(pages, limits.oauth)
    for (const url of [authorization, `${authorization}/:uid`, `${device}/:uid`]) {
      pages.route({
        method: 'GET',
        url,
        exposeHeadRoute: false,
        config: { credential: 'none' },
        async handler(request, reply) {
          // The router takes the path without an ID, but with its slash, to this route.
          if (objectOrEmpty(request.params).uid === '') throw Refusal.notFound()
          const call = { provider: await provider(), origin: publicOrigin(), isPage: true }
          await callProvider({ request, reply }, call)
        },
      })
    }
  })
}

/**
 * The page to enter the code of a device (RFC 8628). Requires a session and limits attempts by
 * address, because the code has only eight letters (section 5.1). A link with a code fills the form
 * but does not submit it.
 */
export function deviceRoutes(app: ServiceApp, context: OauthContext): void {
  const { provider, publicOrigin, limits } = context
  const url = ENDPOINT_PATHS.code_verification
  const config = { credential: 'none' } as const
  const call = async () => ({ provider: await provider(), origin: publicOrigin(), isPage: true })
  app.register(async pages => {
    servePages(pages, publicOrigin)
    disableBodyParsing(pages)
    pages.get(url, { config, exposeHeadRoute: false }, async (request, reply) => {
      const userCode = parseUserCode(request.query)
      const returnTo = userCode === '' ? url : `${url}?user_code=${encodeURIComponent(userCode)}`
      if (!(await requireSignIn(context, { request, reply, returnTo }))) return reply
      // The library would submit the code with a script.
      Object.assign(request.raw, { prefilledUserCode: userCode, url })
      await callProvider({ request, reply }, await call())
    })
    pages.register(async limited => {
      if (limits.userCodes) limitAddresses(limited, limits.userCodes)
      limited.post(url, { config }, async (request, reply) => {
        const user = await requireSignIn(context, { request, reply, returnTo: url })
        if (!user) return reply
        limitUser(limits.userCodes, user)
        // The form's page sets the cookie; the library fails on a form without it.
        const cookie = `${(await provider()).cookieName('session')}=`
        if (!request.headers.cookie?.includes(cookie)) return reply.redirect(url, 303)
        await callProvider({ request, reply }, await call())
      })
    })
  })
}

/** A user who guesses codes may do it from many addresses. */
function limitUser(limit: OauthContext['limits']['userCodes'], { userId }: CurrentUser): void {
  if (!limit) return
  const { waitSeconds } = limit.limit.limiter.take(`person ${userId}`)
  if (waitSeconds > 0) throw createRateLimitRefusal(limit.limit, waitSeconds)
}

const codeQuery = new Validator(
  Type.Object({ user_code: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9-]{1,20}$' })) }),
)

function parseUserCode(query: unknown): string {
  return codeQuery.pickValid(query).user_code?.toUpperCase() ?? ''
}
