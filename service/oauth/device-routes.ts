import { limitAddresses } from '../access/limit-addresses.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { servePages } from '../pages/serve-pages.ts'
import { callProvider } from './call-provider.ts'
import { ENDPOINT_PATHS } from './metadata.ts'
import type { OauthContext } from './oauth-context.ts'
import { leaveBodiesToTheLibrary } from './oauth-shape.ts'
import { signedInPerson } from './signed-in-person.ts'

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
    leaveBodiesToTheLibrary(pages)
    pages.get(url, { config, exposeHeadRoute: false }, async (request, reply) => {
      const userCode = userCodeOf(request.query)
      const back = userCode === '' ? url : `${url}?user_code=${encodeURIComponent(userCode)}`
      if (!(await signedInPerson(context, { request, reply, back }))) return reply
      // The library would send the code on by a script of its own.
      Object.assign(request.raw, { prefilledUserCode: userCode, url })
      await callProvider({ request, reply }, call())
    })
    pages.register(async limited => {
      if (limits.userCodes) limitAddresses(limited, limits.userCodes)
      limited.post(url, { config }, async (request, reply) => {
        if (!(await signedInPerson(context, { request, reply, back: url }))) return reply
        // The form's page gives the cookie; the library stumbles over a form that comes without.
        const cookie = `${provider().cookieName('session')}=`
        if (!request.headers.cookie?.includes(cookie)) return reply.redirect(url, 303)
        await callProvider({ request, reply }, call())
      })
    })
  })
}

const USER_CODE = /^[A-Za-z0-9-]{1,20}$/

function userCodeOf(query: unknown): string {
  const { user_code: given } = query as { user_code?: unknown }
  return typeof given === 'string' && USER_CODE.test(given) ? given.toUpperCase() : ''
}
