const baseUrl = '__BASE_URL__'
/** The URL of the tag at Signalbox; empty if the forwarder forwards only events. */
const tagUrl = '__TAG_URL__'

const bodyBytesMax = 65_536
const userAgentCharactersMax = 1_024
const timeoutMilliseconds = 5_000

/** Only these are forwarded: no cookies, other credentials or forged X-Signalbox headers. */
const requestHeaders = ['content-type', 'content-encoding', 'origin', 'idempotency-key']
const answerHeaders = ['content-type', 'request-id', 'location', 'idempotency-key', 'retry-after']

/** Values that depend on the runtime: the forwarding secret and the browser's address. */
export interface Edge {
  secret: string | undefined
  clientIp: string | null | undefined
}

/**
 * Forwards an event, or a batch of them, to Signalbox with the browser's address, user agent and
 * Global Privacy Control, which it signs.
 */
export async function forward(request: Request, edge: Edge): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (tagUrl && request.method === 'GET' && pathname.endsWith('/tag.js')) return forwardTag()
  const allow = 'POST, OPTIONS'
  if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow } })
  if (request.method !== 'POST') return problem(405, 'Send events with POST.', { allow })
  const secret = edge.secret?.trim()
  if (!secret) return problem(500, 'Set SIGNALBOX_FORWARDING_SECRET where the forwarder runs.')
  const body = await readBody(request)
  if (!body) return problem(413, `Send at most ${bodyBytesMax} bytes.`)
  try {
    const { url, headers } = await signRequest(request, body, {
      secret,
      ip: headerText(edge.clientIp),
    })
    const signal = AbortSignal.timeout(timeoutMilliseconds)
    const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
    if (answer.status >= 300 && answer.status < 400) return unreachable()
    const init = { status: answer.status, headers: pickHeaders(answer.headers, answerHeaders) }
    return new Response(await answer.arrayBuffer(), init)
  } catch {
    return unreachable()
  }
}

interface Signer {
  secret: string
  ip: string
}

async function signRequest(
  request: Request,
  body: Uint8Array<ArrayBuffer>,
  { secret, ip }: Signer,
) {
  const agent = headerText(request.headers.get('user-agent'))
    .slice(0, userAgentCharactersMax)
    .trim()
  const at = String(Math.floor(Date.now() / 1_000))
  // The opt-out of Global Privacy Control is a separate signed line, if the header is 1.
  const gpc = request.headers.get('sec-gpc')?.trim() === '1' ? 'Sec-GPC: 1\n' : ''
  const signature = await sign(secret, `${at}\n${ip}\n${agent}\n${gpc}`, body)
  const { authorization, query } = publishableKey(request)
  const headers = pickHeaders(request.headers, requestHeaders)
  if (authorization) headers.set('authorization', authorization)
  if (ip) headers.set('x-signalbox-client-ip', ip)
  if (gpc) headers.set('sec-gpc', '1')
  if (agent) headers.set('x-signalbox-client-user-agent', agent)
  headers.set('x-signalbox-forwarded-at', at)
  headers.set('x-signalbox-forwarding-signature', signature)
  const isBatch = new URL(request.url).pathname.endsWith('/events/batch')
  return { url: `${baseUrl}/events${isBatch ? '/batch' : ''}${query}`, headers }
}

/** Omits every other credential, which belongs to the shop. */
function publishableKey(request: Request): { authorization: string; query: string } {
  const authorization = request.headers.get('authorization') ?? ''
  const key = new URL(request.url).searchParams.get('key') ?? ''
  return {
    authorization: /^Bearer sbx_pk_[\w-]{1,200}$/.test(authorization) ? authorization : '',
    query: /^sbx_pk_[\w-]{1,200}$/.test(key) ? `?key=${key}` : '',
  }
}

/** HMAC-SHA256 of text and body in lower-case hex. The key is the SHA-256 of the secret. */
async function sign(secret: string, text: string, body: Uint8Array): Promise<string> {
  const encoder = new TextEncoder()
  const digest = await crypto.subtle.digest('SHA-256', encoder.encode(secret))
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', digest, algorithm, false, ['sign'])
  const signature = await crypto.subtle.sign('HMAC', key, joinBytes([encoder.encode(text), body]))
  return [...new Uint8Array(signature)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

/** Printable ASCII without outer spaces, so that it arrives exactly as it was signed. */
function headerText(text: string | null | undefined): string {
  return (text ?? '').replace(/[^\x20-\x7e]/g, '').trim()
}

/** The exact bytes, because they are signed; null if there are too many. */
async function readBody(request: Request): Promise<Uint8Array<ArrayBuffer> | null> {
  if (Number(request.headers.get('content-length')) > bodyBytesMax) return null
  const reader = request.body?.getReader()
  const parts: Uint8Array[] = []
  let bytes = 0
  while (reader) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.byteLength
    if (bytes > bodyBytesMax) return null
    parts.push(value)
  }
  return joinBytes(parts)
}

function joinBytes(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((bytes, part) => bytes + part.byteLength, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.byteLength
  }
  return whole
}

function pickHeaders(headers: Headers, names: string[]): Headers {
  const kept = new Headers()
  for (const name of names) {
    const value = headers.get(name)
    if (value) kept.set(name, value)
  }
  return kept
}

async function forwardTag(): Promise<Response> {
  try {
    const signal = AbortSignal.timeout(timeoutMilliseconds)
    const answer = await fetch(tagUrl, { signal, redirect: 'manual' })
    if (answer.status !== 200) return unreachable()
    const headers = {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=3600',
      'x-content-type-options': 'nosniff',
    }
    return new Response(await answer.arrayBuffer(), { headers })
  } catch {
    return unreachable()
  }
}

function unreachable(): Response {
  return problem(502, 'Signalbox cannot be reached: send the event again under the same event_id.')
}

function problem(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ message }, { status, headers })
}
