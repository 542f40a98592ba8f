import { InvalidArgumentError, SignalboxError } from './errors.ts'

/** A message of a webhook destination. Its `type` says what is in `data`. */
export interface WebhookMessage {
  type: string
  /** ISO 8601. */
  timestamp: string
  /** True for test events. */
  test?: boolean
  data: Record<string, unknown>
}

export interface WebhookRequest {
  /** The body as it arrived, not parsed and printed again. */
  body: string | Uint8Array
  /** Of the request: `Headers`, or an object with names in any case. */
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The signing secret, or several while it is rotated. */
  secret: string | readonly string[]
  /** How far the time of the message may be from the clock. */
  toleranceSeconds?: number
  now?: Date
}

/** The message is not genuine, or too old to tell. Answer 401, and use nothing of it. */
export class WebhookVerificationError extends SignalboxError {
  override name = 'WebhookVerificationError'
  constructor(reason: string) {
    super('webhook_verification', `The webhook is not verified: ${reason}.`)
  }
}

const TOLERANCE_SECONDS = 300
const PREFIX = 'whsec_'

/**
 * Verifies a message by the conventions of Standard Webhooks, and returns it. Throws a
 * WebhookVerificationError unless one of the signatures is of one of the secrets and the time is
 * near the clock. `webhook-id` is the same for every attempt of a message.
 */
export async function verifyWebhook({
  body,
  headers,
  secret,
  toleranceSeconds = TOLERANCE_SECONDS,
  now = new Date(),
}: WebhookRequest): Promise<WebhookMessage> {
  const id = readHeader(headers, 'webhook-id')
  const timestamp = readHeader(headers, 'webhook-timestamp')
  const signatures = readHeader(headers, 'webhook-signature').split(' ')
  if (id === '' || !/^\d{1,12}$/.test(timestamp)) throw refuse('a header is missing or invalid')
  const age = Math.abs(now.getTime() / 1_000 - Number(timestamp))
  if (!(age <= toleranceSeconds)) throw refuse('its time is too far from the clock')
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const content = joinBytes(new TextEncoder().encode(`${id}.${timestamp}.`), bytes)
  let isGenuine = false
  for (const one of [secret].flat()) {
    const expected = `v1,${await computeSignature(one, content)}`
    for (const given of signatures) if (isEqual(given, expected)) isGenuine = true
  }
  if (!isGenuine) throw refuse('no signature matches')
  return parseMessage(bytes)
}

function refuse(reason: string): WebhookVerificationError {
  return new WebhookVerificationError(reason)
}

function readHeader(headers: WebhookRequest['headers'], name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? ''
  const [, value] = Object.entries(headers).find(([one]) => one.toLowerCase() === name) ?? []
  return typeof value === 'string' ? value : ''
}

function joinBytes(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(one.length + other.length)
  joined.set(one)
  joined.set(other, one.length)
  return joined
}

async function computeSignature(secret: string, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', readSecret(secret), algorithm, false, ['sign'])
  const digest = new Uint8Array(await crypto.subtle.sign('HMAC', key, content))
  return btoa(String.fromCharCode(...digest))
}

/** The error never repeats the secret. */
function readSecret(secret: string): Uint8Array<ArrayBuffer> {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : ''
  if (!/^[A-Za-z0-9+/]{16,}={0,2}$/.test(encoded))
    throw new InvalidArgumentError('The signing secret must be whsec_ and base64.')
  return Uint8Array.from(atob(encoded), character => character.charCodeAt(0))
}

/** In a time that does not depend on where the texts differ. */
function isEqual(one: string, other: string): boolean {
  let difference = one.length ^ other.length
  for (let index = 0; index < other.length; index += 1) {
    difference |= (one.charCodeAt(index) || 0) ^ other.charCodeAt(index)
  }
  return difference === 0
}

function parseMessage(bytes: Uint8Array): WebhookMessage {
  try {
    const message = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (typeof message?.type === 'string') return message
  } catch {
    // The same as for JSON that is no message.
  }
  throw refuse('the body is no message')
}
