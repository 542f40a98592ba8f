import { EventEmitter } from 'node:events'
import type { AuditTrail } from '../../audit/audit-store.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { AddressedRequest } from '../../runtime/http/client-address.ts'
import type { RequestLimits } from '../../runtime/http/request-limits.ts'
import type { ServiceLogger } from '../../runtime/http/service-app.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { deriveKey } from '../../runtime/util/sealed-credential.ts'
import type { PublicClientOptions } from '../../runtime/webhooks/client.ts'
import { createDocumentClientFinder } from './client.ts'
import type { AuthorizationServer } from './provider.ts'
import { createProviderPages } from './provider-pages.ts'

export interface AuthorizationServerOptions {
  database: Database
  now: () => Date
  audit: AuditTrail
  publicOrigin: () => string
  credentialKeys: CredentialKeys
  settings: Pick<Settings, 'nativeSchemes'>
  limits: Pick<RequestLimits, 'userCodes'>
  /** Returns the address of a client, as the rate limits count it. */
  addressOf: (request: AddressedRequest) => string
  /** For tests: how the documents of clients are requested. */
  documentRequests?: PublicClientOptions
  logger: ServiceLogger
}

const COOKIE_KEY_PURPOSE = 'signalbox oauth cookies v1'

/**
 * Creates the authorization server on the first request: its issuer is the public origin, which is
 * known only when the port is, and loading the library takes 9 MB for each thread. Cookie keys are
 * derived from the credential keys, so that every process accepts them, also after a key rotation.
 */
export function lazyAuthorizationServer(
  options: AuthorizationServerOptions,
): () => Promise<AuthorizationServer> {
  let server: Promise<AuthorizationServer> | null = null
  return () => {
    server ??= createAuthorizationServer(options)
    return server
  }
}

async function createAuthorizationServer(
  options: AuthorizationServerOptions,
): Promise<AuthorizationServer> {
  const { createOauthProvider } = await import('./provider.ts')
  const { database, now, audit, publicOrigin, credentialKeys, logger } = options
  const { nativeSchemes } = options.settings
  const findDocumentClient = createDocumentClientFinder(nativeSchemes, options.documentRequests)
  const provider = createOauthProvider({
    database,
    now,
    audit,
    origin: publicOrigin(),
    cookieKeys: [credentialKeys.current, ...credentialKeys.previous].map(deriveCookieKey),
    pages: createProviderPages(),
    userCodeLimit: options.limits.userCodes?.limit ?? null,
    findDocumentClient: (url, request) =>
      findDocumentClient(url, options.addressOf((request && callers.get(request)) ?? NOBODY)),
  })
  // Only our own failures; the response contains `server_error` and no detail.
  const report = (err: unknown) => logger.error({ err }, 'the authorization server failed')
  provider.on('server_error', (_ctx, err) => report(err))
  // Emitted by Koa below the library, whose types omit it.
  EventEmitter.prototype.on.call(provider, 'error', report)
  return provider
}

function deriveCookieKey(secret: Buffer): string {
  return deriveKey(secret, COOKIE_KEY_PURPOSE).toString('base64url')
}

type Callback = ReturnType<AuthorizationServer['callback']>

/** The parts of a Fastify request and reply that the library needs. */
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
  /** True when a user reads the response, false when a program does. */
  isPage: boolean
}

/**
 * Passes one request to the library. The library builds URLs and cookies from the host and protocol
 * of the request, so these are overwritten with the public origin: no caller can get a link, a
 * redirect or a cookie for another host. Headers set so far are copied, because Fastify adds none
 * after `hijack`.
 */
export async function callProvider(
  { request, reply }: HttpExchange,
  { provider, origin, isPage }: ProviderCall,
): Promise<void> {
  const { raw } = request
  const { remoteAddress: ip } = raw.socket
  callers.set(raw, { ip, headers: { 'x-forwarded-for': raw.headers['x-forwarded-for'] } })
  const { host, protocol } = new URL(origin)
  for (const name of FORWARDING_HEADERS) delete raw.headers[name]
  raw.headers.host = host
  raw.headers['x-forwarded-proto'] = protocol.slice(0, -1)
  raw.headers.accept = isPage ? 'text/html' : 'application/json'
  // An absolute URL as the target (RFC 9112, 3.2.2) would be trusted as well.
  raw.url = raw.url?.replace(/^https?:\/\/[^/?#]*/i, '') || '/'
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
  await provider.callback()(raw, reply.raw)
}

/** Who sent a request, before its forwarding headers were removed. */
const callers = new WeakMap<object, AddressedRequest>()
const NOBODY: AddressedRequest = { ip: undefined, headers: {} }

const FORWARDING_HEADERS = ['x-forwarded-host', 'x-forwarded-for', 'x-forwarded-proto', 'forwarded']
