import { EventEmitter } from 'node:events'
import type { AuditTrail } from '../agents/audit/audit-trail.ts'
import type { Database } from '../db/database.ts'
import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import { derivedKey } from '../http/derived-key.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import { type AuthorizationServer, oauthProvider } from './provider.ts'
import { providerPages } from './provider-pages.ts'

export interface ProviderSource {
  database: Database
  now: () => Date
  audit: AuditTrail
  publicOrigin: () => string
  credentialKeys: CredentialKeys
  logger: ServiceLogger
}

const DERIVED_FOR = 'signalbox oauth cookies v1'

/**
 * The authorization server, made at the first request: its issuer is the public origin, which is
 * known only when the port is. Cookies are signed with keys that are derived from the credential
 * keys, so that every process takes them and a change of keys interrupts nobody.
 */
export function providerSource(source: ProviderSource): () => AuthorizationServer {
  let made: AuthorizationServer | null = null
  return () => {
    made ??= makeProvider(source)
    return made
  }
}

function makeProvider(source: ProviderSource): AuthorizationServer {
  const { database, now, audit, publicOrigin, credentialKeys, logger } = source
  const provider = oauthProvider({
    database,
    now,
    audit,
    origin: publicOrigin(),
    cookieKeys: [credentialKeys.current, ...credentialKeys.previous].map(cookieKey),
    pages: providerPages(),
  })
  // Only what is no fault of a caller; its answer says `server_error` and nothing more.
  const report = (err: unknown) => logger.error({ err }, 'the authorization server failed')
  provider.on('server_error', (_ctx, err) => report(err))
  // Of the web framework below it, which the library's types do not name.
  EventEmitter.prototype.on.call(provider, 'error', report)
  return provider
}

function cookieKey(secret: Buffer): string {
  return derivedKey(secret, DERIVED_FOR).toString('base64url')
}
