import type { ServiceApp } from '../http/service-app.ts'
import { OAUTH_PATHS } from './metadata.ts'
import type { OauthContext } from './oauth-context.ts'
import { preflightHeaders } from './oauth-shape.ts'
import { registerClient } from './register-client.ts'

/** Dynamic client registration (RFC 7591): open to everybody, and it opens nothing. */
export function registrationRoutes(app: ServiceApp, context: OauthContext): void {
  const config = { credential: 'none' } as const
  app.post(OAUTH_PATHS.registration, { config }, async (request, reply) =>
    reply.code(201).send(await registerClient(context, request.body)),
  )
  app.options(OAUTH_PATHS.registration, { config }, async (_request, reply) =>
    reply
      .code(204)
      .headers(preflightHeaders(['POST']))
      .send(),
  )
}
