import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { callProvider } from './authorization-server.ts'
import { ENDPOINT_PATHS, OAUTH_PATHS, resourceMetadata, serverMetadata } from './metadata.ts'
import type { OauthContext } from './oauth-context.ts'
import { CORS_HEADERS, corsPreflightHeaders } from './oauth-responses.ts'
import { AUDIENCES, resourceMetadataPath } from './permissions.ts'
import { registerClient } from './register-client.ts'

/** The token, device code and revocation endpoints, with their preflights. */
export function tokenRoutes(app: ServiceApp, { provider, publicOrigin }: OauthContext): void {
  const { token, device_authorization: device, revocation } = ENDPOINT_PATHS
  const config = { credential: 'none' } as const
  for (const url of [token, device, revocation]) {
    app.post(url, { config }, async (request, reply) => {
      const call = { provider: await provider(), origin: publicOrigin(), isPage: false }
      await callProvider({ request, reply }, call)
    })
    app.options(url, { config }, async (_request, reply) =>
      reply
        .code(204)
        .headers(corsPreflightHeaders(['POST']))
        .send(),
    )
  }
}

/** Dynamic client registration (RFC 7591): public, and grants no access by itself. */
export function registrationRoutes(app: ServiceApp, context: OauthContext): void {
  const config = { credential: 'none' } as const
  app.post(OAUTH_PATHS.registration, { config }, async (request, reply) =>
    reply.code(201).send(await registerClient(context, request.body)),
  )
  app.options(OAUTH_PATHS.registration, { config }, async (_request, reply) =>
    reply
      .code(204)
      .headers(corsPreflightHeaders(['POST']))
      .send(),
  )
}

/** The well-known documents, readable by pages of any origin. */
export function metadataRoutes(
  app: ServiceApp,
  { publicOrigin }: Pick<OauthContext, 'publicOrigin'>,
): void {
  serveDocument(app, OAUTH_PATHS.serverMetadata, () => serverMetadata(publicOrigin()))
  for (const audience of AUDIENCES) {
    serveDocument(app, resourceMetadataPath(audience), () =>
      resourceMetadata(publicOrigin(), audience),
    )
  }
}

const CACHE_HEADERS = { ...CORS_HEADERS, 'cache-control': 'public, max-age=300' }

function serveDocument(app: ServiceApp, url: string, read: () => object): void {
  const config = { credential: 'none' } as const
  app.get(url, { config }, async (_request, reply) => reply.headers(CACHE_HEADERS).send(read()))
  app.options(url, { config }, async (_request, reply) =>
    reply
      .code(204)
      .headers({ ...CORS_HEADERS, ...corsPreflightHeaders(['GET']) })
      .send(),
  )
}
