// Signalbox forwarder for Express: app.use('__PATH__', signalboxForwarder())
//
// It forwards the tag's events to Signalbox and signs the browser's address and user agent.
// Put it before express.json(). Set the forwarding secret as SIGNALBOX_FORWARDING_SECRET in the
// environment, or pass it as an option.
// Forwarding does not replace consent: the tag still sends nothing without it.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { forward } from './forward.ts'

interface ForwarderOptions {
  secret?: string | undefined
  /**
   * `socket`: browsers connect to this server directly. `trust-proxy`: a proxy is in front of it,
   * and app.set('trust proxy') names that proxy. Never use `true`, which trusts every client.
   */
  clientIp?: 'socket' | 'trust-proxy'
}

type ExpressRequest = IncomingMessage & { ip?: string; body?: unknown }

export function signalboxForwarder({
  secret = process.env.SIGNALBOX_FORWARDING_SECRET,
  clientIp = 'socket',
}: ForwarderOptions = {}) {
  return async (request: ExpressRequest, response: ServerResponse, next: () => void) => {
    if (!/^\/(events(\/batch)?|tag\.js)(\?|$)/.test(request.url ?? '')) return next()
    const ip = clientIp === 'trust-proxy' ? request.ip : request.socket.remoteAddress
    try {
      const answer = await forward(toWebRequest(request), { secret, clientIp: ip })
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      response.end(Buffer.from(await answer.arrayBuffer()))
    } catch {
      // The browser disconnected while sending, so no response is possible.
      response.destroy()
    }
  }
}

function toWebRequest(request: ExpressRequest): Request {
  const headers = new Headers()
  for (const [name, values] of Object.entries(request.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  // express.json() decompresses what it parses.
  if (request.readableEnded) headers.delete('content-encoding')
  const { method = 'GET', url } = request
  const init = { method, headers, duplex: 'half' as const }
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(
    `http://forwarder${url}`,
    hasBody ? { ...init, body: streamBody(request) } : init,
  )
}

/** The bytes as they arrive. A body that express.json() already parsed is serialized again. */
function streamBody(request: ExpressRequest): NonNullable<RequestInit['body']> {
  const { body } = request
  if (!request.readableEnded) return Readable.toWeb(request) as ReadableStream<Uint8Array>
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body ?? {})
}
