import type { RequestLimits } from '../access/request-limits.ts'
import type { AuditTrail } from '../audit/audit-store.ts'
import type { Database } from '../db/database.ts'
import type { AuthorizationServer } from './provider.ts'

/** What the routes of this room work with. */
export interface OauthContext {
  database: Database
  now: () => Date
  publicOrigin: () => string
  /** Whatever is approved, issued, changed or revoked is written down with it. */
  audit: AuditTrail
  /** Made at the first call, when the public origin is known. */
  provider: () => AuthorizationServer
  /** Schemes of approved native clients, without the colon. */
  nativeSchemes: readonly string[]
  limits: Pick<RequestLimits, 'registration' | 'oauth' | 'userCodes'>
  /** The time of last use is kept on the side; a failure there must not fail the request. */
  onTouchError: (error: unknown) => void
}

/** What the verbs work with that change who may do what. */
export type ChangeContext = Pick<OauthContext, 'database' | 'now' | 'audit'>
