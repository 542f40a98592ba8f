import { limitAddresses } from '../access/address-limits.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { readFormText } from '../pages/form-body.ts'
import { renderPage } from '../pages/layout.ts'
import { pageHeaders, servePages } from '../pages/serve-pages.ts'
import { listOwnedAdAccounts } from '../people/ad-account-store.ts'
import { requireSignIn } from '../people/page-visit.ts'
import type { CurrentPerson } from '../people/session-store.ts'
import { callProvider, type HttpExchange } from './authorization-server.ts'
import { type ApprovalRequest, decideApproval, findApprovalRequest } from './connection-approval.ts'
import { consentPage } from './consent-page.ts'
import { ENDPOINT_PATHS } from './metadata.ts'
import type { OauthContext } from './oauth-context.ts'
import { disableBodyParsing } from './oauth-responses.ts'
import { INTERACTION_PATH } from './provider.ts'
import { errorPage } from './provider-pages.ts'
import { formActionSource } from './redirect-uri.ts'

/**
 * Where a person approves or refuses an agent. The half-finished request is bound to the browser.
 */
export function interactionRoutes(app: ServiceApp, context: OauthContext): void {
  const url = `${INTERACTION_PATH}/:uid`
  const config = { credential: 'none' } as const
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    pages.get(url, { config, exposeHeadRoute: false }, async (request, reply) => {
      const asked = await findPendingApproval(context, { request, reply })
      if (!asked) return reply
      return sendConsentPage(reply, {
        ...asked,
        fault: null,
        adAccounts: await listAdAccountChoices(context, asked),
      })
    })
    pages.post(url, { config }, async (request, reply) => {
      const asked = await findPendingApproval(context, { request, reply })
      if (!asked) return reply
      const adAccounts = await listAdAccountChoices(context, asked)
      const isApproved = readFormText(request.body, 'decision') === 'approve'
      const chosen = readFormText(request.body, 'ad_account_id')
      const adAccount = adAccounts.find(({ adAccountId }) => String(adAccountId) === chosen)
      if (isApproved && !adAccount) {
        const fault = 'Choose the ad account that this agent may work with.'
        return sendConsentPage(reply.code(422), { ...asked, fault, adAccounts })
      }
      const returnTo = await decideApproval(context, {
        exchange: { request, reply },
        ...asked,
        adAccount: isApproved && adAccount ? adAccount : null,
      })
      return reply.redirect(returnTo, 303)
    })
  })
}

interface PendingApproval {
  person: CurrentPerson
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

/** Who is asked, and what for; null when the reply was sent instead. */
async function findPendingApproval(
  context: OauthContext,
  exchange: PageExchange,
): Promise<PendingApproval | null> {
  const { request, reply } = exchange
  const { uid } = request.params as { uid: string }
  const back = `${INTERACTION_PATH}/${encodeURIComponent(uid)}`
  const person = await requireSignIn(context, { request, reply, returnTo: back })
  if (!person) return null
  const approval = await findApprovalRequest(context, { exchange, uid })
  if (approval) return { person, approval }
  reply.code(400).send(renderPage(errorPage({ error: 'session_not_found' })))
  return null
}

function listAdAccountChoices({ database }: OauthContext, { person }: PendingApproval) {
  return listOwnedAdAccounts(database, person.userId)
}

type ConsentView = PendingApproval & Pick<Parameters<typeof consentPage>[0], 'fault' | 'adAccounts'>

function sendConsentPage(reply: PageReply, { person, approval, fault, adAccounts }: ConsentView) {
  const target = approval.redirectUri === null ? [] : [formActionSource(approval.redirectUri)]
  const body = consentPage({ approval, adAccounts, fault })
  return reply
    .headers(pageHeaders({ formTargets: target }))
    .send(renderPage({ ...body, signedInAs: person.name || person.email }))
}

/** Where an agent sends a person, and where the person comes back to with what they decided. */
export function authorizationRoutes(app: ServiceApp, context: OauthContext): void {
  const { provider, publicOrigin, limits } = context
  const { authorization, code_verification: device } = ENDPOINT_PATHS
  app.register(async pages => {
    servePages(pages, publicOrigin)
    // Each request is remembered for a while, before anybody has signed in.
    if (limits.oauth) limitAddresses(pages, limits.oauth)
    for (const url of [authorization, `${authorization}/:uid`, `${device}/:uid`]) {
      pages.route({
        method: 'GET',
        url,
        exposeHeadRoute: false,
        config: { credential: 'none' },
        async handler(request, reply) {
          const { uid } = request.params as { uid?: string }
          if (uid === '') throw Refusal.notFound('There is nothing at this path.')
          const call = { provider: provider(), origin: publicOrigin(), isPage: true }
          await callProvider({ request, reply }, call)
        },
      })
    }
  })
}

/**
 * Where a person types the code of a device (RFC 8628). Only who is signed in may try one, and only
 * so often from one address: the code has eight letters (section 5.1). A link that brings a code
 * shows it in the form; nothing is sent before the person says so.
 */
export function deviceRoutes(app: ServiceApp, context: OauthContext): void {
  const { provider, publicOrigin, limits } = context
  const url = ENDPOINT_PATHS.code_verification
  const config = { credential: 'none' } as const
  const call = () => ({ provider: provider(), origin: publicOrigin(), isPage: true })
  app.register(async pages => {
    servePages(pages, publicOrigin)
    disableBodyParsing(pages)
    pages.get(url, { config, exposeHeadRoute: false }, async (request, reply) => {
      const userCode = parseUserCode(request.query)
      const back = userCode === '' ? url : `${url}?user_code=${encodeURIComponent(userCode)}`
      if (!(await requireSignIn(context, { request, reply, returnTo: back }))) return reply
      // The library would send the code on by a script of its own.
      Object.assign(request.raw, { prefilledUserCode: userCode, url })
      await callProvider({ request, reply }, call())
    })
    pages.register(async limited => {
      if (limits.userCodes) limitAddresses(limited, limits.userCodes)
      limited.post(url, { config }, async (request, reply) => {
        if (!(await requireSignIn(context, { request, reply, returnTo: url }))) return reply
        // The form's page gives the cookie; the library stumbles over a form that comes without.
        const cookie = `${provider().cookieName('session')}=`
        if (!request.headers.cookie?.includes(cookie)) return reply.redirect(url, 303)
        await callProvider({ request, reply }, call())
      })
    })
  })
}

const USER_CODE = /^[A-Za-z0-9-]{1,20}$/

function parseUserCode(query: unknown): string {
  const { user_code: given } = query as { user_code?: unknown }
  return typeof given === 'string' && USER_CODE.test(given) ? given.toUpperCase() : ''
}
