import { limitAddresses } from '../access/limit-addresses.ts'
import { Refusal } from '../http/refusal.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { servePages } from '../pages/serve-pages.ts'
import { callProvider } from './call-provider.ts'
import { ENDPOINT_PATHS } from './metadata.ts'
import type { OauthContext } from './oauth-context.ts'

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
