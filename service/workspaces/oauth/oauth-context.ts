import type { RequestLimits } from '../../runtime/http/request-limits.ts'
import type { ChangeContext } from './connections.ts'
import type { AuthorizationServer } from './provider.ts'

/** What the routes of this module depend on. */
export interface OauthContext extends ChangeContext {
  publicOrigin: () => string
  /** Loaded on the first call, when the public origin is known. */
  provider: () => Promise<AuthorizationServer>
  /** Schemes of approved native clients, without the colon. */
  nativeSchemes: readonly string[]
  limits: Pick<RequestLimits, 'registration' | 'oauth' | 'userCodes'>
  /** Receives failures of recording the last use, which must not fail the request. */
  onTouchError: (error: unknown) => void
}
