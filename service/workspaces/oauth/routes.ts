import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { limitAddresses } from '../../runtime/http/address-limits.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { agentRoutes } from './agent-routes.ts'
import {
  authorizationRoutes,
  deviceRoutes,
  interactionRoutes,
} from './authorization-page-routes.ts'
import { lazyAuthorizationServer } from './authorization-server.ts'
import { metadataRoutes, registrationRoutes, tokenRoutes } from './authorization-server-routes.ts'
import { connectionRoutes } from './connection-routes.ts'
import { executionTokenRoutes } from './execution-token-routes.ts'
import type { OauthContext, OauthOptions } from './oauth-context.ts'
import { disableBodyParsing, useOauthErrorResponses } from './oauth-responses.ts'
import { agentSessionRoutes } from './session-routes.ts'

/**
 * All OAuth routes. Endpoints that programs call return errors as OAuth error objects; those that
 * browsers open return them as pages.
 */
export function oauthRoutes(app: ServiceApp, options: OauthOptions): void {
  const context: OauthContext = { ...options, provider: lazyAuthorizationServer(options) }
  const { limits } = context
  app.register(async endpoints => {
    useOauthErrorResponses(endpoints)
    endpoints.register(async registration => {
      if (limits.registration) limitAddresses(registration, limits.registration)
      registrationRoutes(registration, context)
    })
    endpoints.register(async tokens => {
      disableBodyParsing(tokens)
      if (limits.oauth) limitAddresses(tokens, limits.oauth)
      tokenRoutes(tokens, context)
    })
  })
  app.register(async pages => {
    authorizationRoutes(pages, context)
    deviceRoutes(pages, context)
    interactionRoutes(pages, context)
    connectionRoutes(pages, context)
    executionTokenRoutes(pages, context)
  })
  metadataRoutes(app, context)
  agentSessionRoutes(app, context)
  app.register(async api => agentRoutes(api, context), { prefix: BASE_PATH })
}
