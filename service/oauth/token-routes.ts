import type { ServiceApp } from '../http/service-app.ts'
import { callProvider } from './call-provider.ts'
import { ENDPOINT_PATHS } from './metadata.ts'
import type { OauthContext } from './oauth-context.ts'
import { preflightHeaders } from './oauth-shape.ts'

/** The endpoints that programs talk to: tokens, device codes, revocation; with their preflights. */
export function tokenRoutes(app: ServiceApp, { provider, publicOrigin }: OauthContext): void {
  const { token, device_authorization: device, revocation } = ENDPOINT_PATHS
  const config = { credential: 'none' } as const
  for (const url of [token, device, revocation]) {
    app.post(url, { config }, async (request, reply) => {
      const call = { provider: provider(), origin: publicOrigin(), isPage: false }
      await callProvider({ request, reply }, call)
    })
    app.options(url, { config }, async (_request, reply) =>
      reply
        .code(204)
        .headers(preflightHeaders(['POST']))
        .send(),
    )
  }
}
