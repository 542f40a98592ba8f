import { createHmac, hash, randomBytes } from 'node:crypto'
import { promises as dns, type LookupAddress } from 'node:dns'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { LookupFunction } from 'node:net'
import { isPublicAddress, parseIpAddress } from '../util/ip-address.ts'

/** The arguments that tests replace. Nothing in the settings leads here. */
export interface PublicClientOptions {
  isAllowedAddress?: AddressRule
  resolveHost?: (hostname: string) => Promise<LookupAddress[]>
  /** Certificates to trust instead of the public ones. */
  certificateAuthority?: string
  timeoutMilliseconds?: number
}

export type WebhookClientOptions = PublicClientOptions

/** A signing secret, as Standard Webhooks writes it: `whsec_` and base64. */
export interface SigningSecrets {
  secret: string
  /** The secret before a rotation, which still signs until then. */
  previous: { secret: string; until: Date } | null
}

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

/**
 * Which addresses a webhook may connect to. The rule is an argument of the client and no setting:
 * only tests pass another one.
 */
type AddressRule = (address: string) => boolean

/** Public addresses only: a webhook must not reach the network in which the service runs. */
export const isWebhookAddress: AddressRule = address => {
  const parsed = parseIpAddress(address)
  return parsed !== null && isPublicAddress(parsed)
}

export const WEBHOOK_URL_CHARACTERS_MAX = 2_000

/** Names that no public DNS has (RFC 6761, RFC 6762, RFC 8375, ICANN's `internal`). */
const PRIVATE_NAMES = /(^|\.)(localhost|local|internal|home\.arpa|test|invalid|onion)\.?$/

export type WebhookUrlProblem = 'not_https' | 'has_credentials' | 'not_public' | 'invalid'

/**
 * Checks the URL of a webhook before it is stored. Where its name leads is checked with each
 * request, since DNS can change. The fragment is dropped, as it is never sent.
 */
export function parseWebhookUrl(text: string): { url: URL } | { problem: WebhookUrlProblem } {
  if (text.length > WEBHOOK_URL_CHARACTERS_MAX || !URL.canParse(text)) return { problem: 'invalid' }
  const url = new URL(text)
  url.hash = ''
  if (url.protocol !== 'https:') return { problem: 'not_https' }
  if (url.username !== '' || url.password !== '') return { problem: 'has_credentials' }
  const literal = hostAddress(url)
  if (literal !== null) return isWebhookAddress(literal) ? { url } : { problem: 'not_public' }
  const isPublicName = url.hostname.includes('.') && !PRIVATE_NAMES.test(url.hostname)
  return isPublicName ? { url } : { problem: 'not_public' }
}

/** The address in a URL; null for a name. The URL parser has already read `0x7f.1` and the like. */
function hostAddress({ hostname }: URL): string | null {
  return parseIpAddress(hostname.replace(/^\[(.*)\]$/, '$1'))?.toString() ?? null
}

/** How audit entries, which hold no text that people wrote, say where messages go. */
export function hostDigest({ host }: { host: string }): { host_sha256: string } {
  return { host_sha256: hash('sha256', host) }
}

const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** A new signing secret, in the form of Standard Webhooks. */
export function generateWebhookSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`
}

interface SignedContent {
  /** The same for every attempt. */
  messageId: string
  at: Date
  body: string
}

/**
 * The headers of Standard Webhooks 1.0 (https://www.standardwebhooks.com). While a secret is being
 * rotated there are two signatures, separated by a space.
 */
export function signWebhook(
  { secret, previous }: SigningSecrets,
  { messageId, at, body }: SignedContent,
): Record<string, string> {
  const timestamp = Math.floor(at.getTime() / 1_000)
  const secrets = previous && previous.until > at ? [secret, previous.secret] : [secret]
  const content = `${messageId}.${timestamp}.${body}`
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map(key => `v1,${computeSignature(key, content)}`).join(' '),
  }
}

function computeSignature(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
  return createHmac('sha256', key).update(content).digest('base64')
}
