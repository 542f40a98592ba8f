import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { limitAddresses } from '../access/limit-addresses.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { agentRoutes } from './agent-routes.ts'
import { authorizationRoutes } from './authorization-routes.ts'
import { agentBrowserRoutes } from './browser-routes.ts'
import { connectionRoutes } from './connection-routes.ts'
import { deviceRoutes } from './device-routes.ts'
import { executionTokenRoutes } from './execution-token-routes.ts'
import { interactionRoutes } from './interaction-routes.ts'
import { metadataRoutes } from './metadata-routes.ts'
import type { OauthContext } from './oauth-context.ts'
import { answerInOauthShape, leaveBodiesToTheLibrary } from './oauth-shape.ts'
import { registrationRoutes } from './registration-routes.ts'
import { tokenRoutes } from './token-routes.ts'

/**
 * Everything that agents and the people who approve them meet. What programs read answers failures
 * in OAuth's shape, what people read answers them as pages.
 */
export function oauthRoutes(app: ServiceApp, context: OauthContext): void {
  const { limits } = context
  app.register(async programs => {
    answerInOauthShape(programs)
    programs.register(async registration => {
      if (limits.registration) limitAddresses(registration, limits.registration)
      registrationRoutes(registration, context)
    })
    programs.register(async tokens => {
      leaveBodiesToTheLibrary(tokens)
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
  agentBrowserRoutes(app, context)
  app.register(async api => agentRoutes(api, context), { prefix: BASE_PATH })
}
