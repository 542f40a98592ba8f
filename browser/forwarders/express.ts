// Signalbox forwarder for Express: app.use('__PATH__', signalboxForwarder())
//
// It passes the tag's events on to Signalbox and vouches for the browser's address and user agent.
// Put it before express.json(). The forwarding secret stands in the environment as
// SIGNALBOX_FORWARDING_SECRET, or is given as an option from wherever you keep secrets.
// Forwarding does not replace consent: the tag still sends nothing without it.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { forward } from './forward.ts'

interface ForwarderOptions {
  secret?: string | undefined
  /**
   * `socket`: browsers connect to this server directly. `trust-proxy`: a proxy stands before it,
   * and app.set('trust proxy') names that proxy; `true` there would believe anybody.
   */
  clientIp?: 'socket' | 'trust-proxy'
}

type ExpressRequest = IncomingMessage & { ip?: string; body?: unknown }

export function signalboxForwarder({
  secret = process.env.SIGNALBOX_FORWARDING_SECRET,
  clientIp = 'socket',
}: ForwarderOptions = {}) {
  return async (request: ExpressRequest, response: ServerResponse, next: () => void) => {
    if (!/^\/(events|tag\.js)(\?|$)/.test(request.url ?? '')) return next()
    const ip = clientIp === 'trust-proxy' ? request.ip : request.socket.remoteAddress
    try {
      const answer = await forward(webRequest(request), { secret, clientIp: ip })
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      response.end(Buffer.from(await answer.arrayBuffer()))
    } catch {
      // The browser went away while it was sending; there is nobody left to answer.
      response.destroy()
    }
  }
}

function webRequest(request: ExpressRequest): Request {
  const headers = new Headers()
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  const { method = 'GET', url } = request
  const init = { method, headers, duplex: 'half' as const }
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(`http://forwarder${url}`, hasBody ? { ...init, body: bodyOf(request) } : init)
}

/** The bytes as they come; what express.json() has read already is written down again. */
function bodyOf(request: ExpressRequest): NonNullable<RequestInit['body']> {
  const { body } = request
  if (!request.readableEnded) return Readable.toWeb(request) as ReadableStream<Uint8Array>
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body ?? {})
}
