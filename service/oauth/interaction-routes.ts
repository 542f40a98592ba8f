import type { ServiceApp } from '../http/service-app.ts'
import { formText } from '../pages/form-body.ts'
import { page } from '../pages/layout.ts'
import { pageHeaders } from '../pages/page-headers.ts'
import { servePages } from '../pages/serve-pages.ts'
import { findOwnedAdAccounts } from '../people/ad-account-store.ts'
import type { CurrentPerson } from '../people/current-person.ts'
import { type ApprovalRequest, approvalRequest } from './approval-request.ts'
import type { Exchange } from './call-provider.ts'
import { consentPage } from './consent-page.ts'
import { decideApproval } from './decide-approval.ts'
import { errorPage } from './error-page.ts'
import type { OauthContext } from './oauth-context.ts'
import { INTERACTION_PATH } from './provider.ts'
import { formTarget } from './redirect-words.ts'
import { signedInPerson } from './signed-in-person.ts'

/**
 * Where a person approves or refuses an agent. The half-finished request is bound to the browser.
 */
export function interactionRoutes(app: ServiceApp, context: OauthContext): void {
  const url = `${INTERACTION_PATH}/:uid`
  const config = { credential: 'none' } as const
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    pages.get(url, { config, exposeHeadRoute: false }, async (request, reply) => {
      const asked = await askedOf(context, { request, reply })
      if (!asked) return reply
      return show(reply, { ...asked, fault: null, adAccounts: await choices(context, asked) })
    })
    pages.post(url, { config }, async (request, reply) => {
      const asked = await askedOf(context, { request, reply })
      if (!asked) return reply
      const adAccounts = await choices(context, asked)
      const isApproved = formText(request.body, 'decision') === 'approve'
      const chosen = formText(request.body, 'ad_account_id')
      const adAccount = adAccounts.find(({ adAccountId }) => String(adAccountId) === chosen)
      if (isApproved && !adAccount) {
        const fault = 'Choose the ad account that this agent may work with.'
        return show(reply.code(422), { ...asked, fault, adAccounts })
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

interface Asked {
  person: CurrentPerson
  approval: ApprovalRequest
}

type PageExchange = Exchange & {
  request: { headers: { cookie?: string | undefined }; params: unknown }
  reply: PageReply & { redirect(url: string, code: number): unknown }
}

interface PageReply {
  code(status: number): PageReply
  headers(values: Record<string, string>): PageReply
  send(text: string): unknown
}

/** Who is asked, and what for; null when the reply was sent instead. */
async function askedOf(context: OauthContext, exchange: PageExchange): Promise<Asked | null> {
  const { request, reply } = exchange
  const { uid } = request.params as { uid: string }
  const back = `${INTERACTION_PATH}/${encodeURIComponent(uid)}`
  const person = await signedInPerson(context, { request, reply, back })
  if (!person) return null
  const approval = await approvalRequest(context, { exchange, uid })
  if (approval) return { person, approval }
  reply.code(400).send(page(errorPage({ error: 'session_not_found' })))
  return null
}

function choices({ database }: OauthContext, { person }: Asked) {
  return findOwnedAdAccounts(database, person.userId)
}

type Shown = Asked & Pick<Parameters<typeof consentPage>[0], 'fault' | 'adAccounts'>

function show(reply: PageReply, { person, approval, fault, adAccounts }: Shown) {
  const target = approval.redirectUri === null ? [] : [formTarget(approval.redirectUri)]
  const body = consentPage({ approval, adAccounts, fault })
  return reply
    .headers(pageHeaders({ formTargets: target }))
    .send(page({ ...body, signedInAs: person.name || person.email }))
}
