import type { RequestLimits } from '../runtime/http/request-limits.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import type { Settings } from '../runtime/settings/settings.ts'
import type { CredentialKeys } from '../runtime/util/sealed-credential.ts'
import type { NotificationsContext } from './notifications/change-settings.ts'
import { notificationRoutes } from './notifications/routes.ts'
import type { OauthOptions } from './oauth/oauth-responses.ts'
import { oauthRoutes } from './oauth/routes.ts'
import { userRoutes } from './users/routes.ts'
import { createUsersContext, type UsersOptions } from './users/users-context.ts'

/** What the routes of this room depend on. */
export interface WorkspacesContext extends UsersOptions, OauthOptions, NotificationsContext {
  settings: Settings
  limits: RequestLimits
  credentialKeys: CredentialKeys
}

/** Users and their workspaces, the authorization server, and notifications. */
export function workspacesRoutes(app: ServiceApp, context: WorkspacesContext): void {
  userRoutes(app, createUsersContext(context))
  oauthRoutes(app, context)
  notificationRoutes(app, context)
}
