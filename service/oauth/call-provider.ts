import type { AuthorizationServer } from './provider.ts'

type Callback = ReturnType<AuthorizationServer['callback']>

/** A request and its reply, as the doorframe has them. */
export interface Exchange {
  request: { raw: Parameters<Callback>[0] }
  reply: {
    raw: Parameters<Callback>[1]
    hijack(): unknown
    getHeaders(): Record<string, number | string | string[] | undefined>
  }
}

export interface ProviderCall {
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
  { request, reply }: Exchange,
  { provider, origin, isPage }: ProviderCall,
): Promise<void> {
  const { raw } = request
  const { host, protocol } = new URL(origin)
  for (const name of FORWARDED) delete raw.headers[name]
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

const FORWARDED = ['x-forwarded-host', 'x-forwarded-for', 'x-forwarded-proto', 'forwarded']
