import type { RequestLimits } from '../../runtime/http/request-limits.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import type { AuthorizationServerOptions } from './authorization-server.ts'
import type { ChangeContext } from './connections.ts'
import type { AuthorizationServer } from './provider.ts'

/** What this module depends on. */
export interface OauthOptions extends ChangeContext, AuthorizationServerOptions {
  settings: Pick<Settings, 'nativeSchemes'>
  limits: Pick<RequestLimits, 'registration' | 'oauth' | 'userCodes'>
  /** Receives failures of recording the last use, which must not fail the request. */
  onTouchError: (error: unknown) => void
}

/** What the routes of this module depend on. */
export interface OauthContext extends OauthOptions {
  /** Loaded on the first call, when the public origin is known. */
  provider: () => Promise<AuthorizationServer>
}
