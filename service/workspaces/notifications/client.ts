import { promises as dns, type LookupAddress } from 'node:dns'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { LookupFunction } from 'node:net'
import { type AddressRule, hostAddress, isWebhookAddress } from './webhook-endpoint.ts'

/** The arguments that tests replace. Nothing in the settings leads here. */
export interface PublicClientOptions {
  isAllowedAddress?: AddressRule
  resolveHost?: (hostname: string) => Promise<LookupAddress[]>
  /** Certificates to trust instead of the public ones. */
  certificateAuthority?: string
  timeoutMilliseconds?: number
}

export type WebhookClientOptions = PublicClientOptions

export interface WebhookRequest {
  url: string
  headers: Record<string, string>
  body: string
}

export type WebhookAnswer =
  | { status: number; waitSeconds: number }
  /** No answer. `error` is a code, without names and addresses. */
  | { status: null; error: WebhookError }

export type WebhookError =
  | 'address_not_public'
  | 'host_not_found'
  | 'invalid_certificate'
  | 'timeout'
  | 'no_connection'

export type PostWebhook = (request: WebhookRequest) => Promise<WebhookAnswer>

const TIMEOUT_MILLISECONDS = 10_000
const HEADER_BYTES_MAX = 16_384

/** Sends the webhooks of workspaces. Bodies of answers are not read. */
export function createWebhookClient(options: WebhookClientOptions = {}): PostWebhook {
  return async ({ url, headers, body }) => {
    const length = String(Buffer.byteLength(body))
    const sent = { ...headers, 'content-type': 'application/json', 'content-length': length }
    try {
      const answer = await requestPublicHost({ method: 'POST', url, headers: sent, body }, options)
      if (answer === null) return { status: null, error: 'address_not_public' }
      return { status: answer.status, waitSeconds: readWaitSeconds(answer.headers) }
    } catch (error) {
      if (error instanceof NotHttpsError) throw error
      return { status: null, error: classifyError(error) }
    }
  }
}

interface PublicRequest {
  method: 'GET' | 'POST'
  url: string
  headers: Record<string, string>
  body?: string
  /** How much of the answer is read; nothing if absent. */
  bytesMax?: number
}

interface PublicAnswer {
  status: number
  headers: IncomingHttpHeaders
  /** Null if it was longer than `bytesMax`. */
  body: string | null
}

/**
 * Requests an untrusted URL (server-side request forgery). Each request resolves the name once,
 * refuses it if any of its addresses is not public, and connects to those addresses only, so that a
 * second answer of DNS changes nothing. Redirects are not followed, and one time limit covers
 * everything. Returns null for an address that is not public; throws if there is no answer.
 */
export async function requestPublicHost(
  { url: text, ...given }: PublicRequest,
  options: PublicClientOptions,
): Promise<PublicAnswer | null> {
  const { isAllowedAddress = isWebhookAddress, resolveHost = resolveByDns } = options
  const { timeoutMilliseconds = TIMEOUT_MILLISECONDS, certificateAuthority } = options
  const url = new URL(text)
  // `https.request` would throw as well; no secret may leave unencrypted.
  if (url.protocol !== 'https:') throw new NotHttpsError('the URL is not https')
  const signal = AbortSignal.timeout(timeoutMilliseconds)
  const addresses = await raceWithSignal(resolveAddresses(url, resolveHost), signal)
  const isAllowed = addresses.length > 0 && addresses.every(it => isAllowedAddress(it.address))
  if (!isAllowed) return null
  return send({ ...given, url, addresses, signal, certificateAuthority })
}

/** A bug of the caller, and no failure of the network. */
class NotHttpsError extends Error {
  override name = 'NotHttpsError'
}

function resolveByDns(hostname: string): Promise<LookupAddress[]> {
  return dns.lookup(hostname, { all: true })
}

/** An address in the URL is not looked up: the connection goes to it. */
async function resolveAddresses(
  url: URL,
  resolveHost: (hostname: string) => Promise<LookupAddress[]>,
): Promise<LookupAddress[]> {
  const address = hostAddress(url)
  if (address === null) return resolveHost(url.hostname)
  return [{ address, family: address.includes(':') ? 6 : 4 }]
}

type PinnedRequest = Omit<PublicRequest, 'url'> & {
  url: URL
  addresses: readonly LookupAddress[]
  signal: AbortSignal
  certificateAuthority: string | undefined
}

/** A connection of its own, so that no earlier one to the same name is reused. */
function send({ url, addresses, body, ...rest }: PinnedRequest): Promise<PublicAnswer> {
  const { method, headers, signal, bytesMax = 0, certificateAuthority: ca } = rest
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method,
      headers,
      agent: false,
      lookup: pinLookup(addresses),
      maxHeaderSize: HEADER_BYTES_MAX,
      signal,
      ...(ca !== undefined && { ca }),
    })
    sent.on('error', reject)
    sent.on('response', response => {
      const { statusCode: status = 0, headers } = response
      const settle = (text: string | null) => resolve({ status, headers, body: text })
      response.on('error', reject)
      if (bytesMax > 0) readBody(response, bytesMax).then(settle, reject)
      else settle(null)
      if (bytesMax === 0) response.destroy()
    })
    sent.end(body)
  })
}

async function readBody(response: IncomingMessage, bytesMax: number): Promise<string | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    bytes += chunk.length
    // Leaving the loop destroys the response.
    if (bytes > bytesMax) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function pinLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    const [first] = addresses
    if (all || !first) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  }
}

const WAIT_SECONDS_MAX = 86_400

/** `Retry-After` in seconds, which 429 and 503 may have; 0 without it, or for a date. */
function readWaitSeconds(headers: IncomingHttpHeaders): number {
  const text = headers['retry-after'] ?? ''
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), WAIT_SECONDS_MAX) : 0
}

async function raceWithSignal<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function classifyError(error: unknown): WebhookError {
  const { name, code } = error as { name?: unknown; code?: unknown }
  if (name === 'TimeoutError' || name === 'AbortError') return 'timeout'
  const text = String(code ?? '')
  if (/^(ENOTFOUND|EAI_)/.test(text)) return 'host_not_found'
  if (/CERT|SIGNATURE|ERR_TLS|ALTNAME/.test(text)) return 'invalid_certificate'
  return 'no_connection'
}
