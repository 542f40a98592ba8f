import { EventEmitter } from 'node:events'
import type { AuditTrail } from '../audit/audit-store.ts'
import type { Database } from '../db/database.ts'
import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import type { ServiceLogger } from '../http/service-app.ts'
import { deriveKey } from '../util/derive-key.ts'
import { type AuthorizationServer, createOauthProvider } from './provider.ts'
import { createProviderPages } from './provider-pages.ts'

interface AuthorizationServerOptions {
  database: Database
  now: () => Date
  audit: AuditTrail
  publicOrigin: () => string
  credentialKeys: CredentialKeys
  logger: ServiceLogger
}

const COOKIE_KEY_PURPOSE = 'signalbox oauth cookies v1'

/**
 * The authorization server, made at the first request: its issuer is the public origin, which is
 * known only when the port is. Cookies are signed with keys that are derived from the credential
 * keys, so that every process takes them and a change of keys interrupts nobody.
 */
export function lazyAuthorizationServer(
  source: AuthorizationServerOptions,
): () => AuthorizationServer {
  let made: AuthorizationServer | null = null
  return () => {
    made ??= createAuthorizationServer(source)
    return made
  }
}

function createAuthorizationServer(source: AuthorizationServerOptions): AuthorizationServer {
  const { database, now, audit, publicOrigin, credentialKeys, logger } = source
  const provider = createOauthProvider({
    database,
    now,
    audit,
    origin: publicOrigin(),
    cookieKeys: [credentialKeys.current, ...credentialKeys.previous].map(deriveCookieKey),
    pages: createProviderPages(),
  })
  // Only what is no fault of a caller; its answer says `server_error` and nothing more.
  const report = (err: unknown) => logger.error({ err }, 'the authorization server failed')
  provider.on('server_error', (_ctx, err) => report(err))
  // Of the web framework below it, which the library's types do not name.
  EventEmitter.prototype.on.call(provider, 'error', report)
  return provider
}

function deriveCookieKey(secret: Buffer): string {
  return deriveKey(secret, COOKIE_KEY_PURPOSE).toString('base64url')
}

type Callback = ReturnType<AuthorizationServer['callback']>

/** A request and its reply, as the doorframe has them. */
export interface HttpExchange {
  request: { raw: Parameters<Callback>[0] }
  reply: {
    raw: Parameters<Callback>[1]
    hijack(): unknown
    getHeaders(): Record<string, number | string | string[] | undefined>
  }
}

interface ProviderCall {
  provider: AuthorizationServer
  /** The public origin. */
  origin: string
  /** True where a person reads the answer, false where a program does. */
  isPage: boolean
}

/**
 * Hands one request to the library. It makes addresses and cookies of what the request says about
 * host and protocol, so these are overwritten with the public origin: no caller can have a link, a
 * redirect or a cookie made for another host. What the doorframe wanted in the answer goes with it,
 * since after `hijack` it can add nothing.
 */
export async function callProvider(
  { request, reply }: HttpExchange,
  { provider, origin, isPage }: ProviderCall,
): Promise<void> {
  const { raw } = request
  const { host, protocol } = new URL(origin)
  for (const name of FORWARDING_HEADERS) delete raw.headers[name]
  raw.headers.host = host
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1)
  raw.headers.accept = isPage ? 'text/html' : 'application/json'
  // A whole URL as target (RFC 9112, 3.2.2) would be believed as well.
  raw.url = raw.url?.replace(/^https?:\/\/[^/?#]*/i, '') || '/'
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
  await provider.callback()(raw, reply.raw)
}

const FORWARDING_HEADERS = ['x-forwarded-host', 'x-forwarded-for', 'x-forwarded-proto', 'forwarded']
