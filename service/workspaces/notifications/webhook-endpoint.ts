import { createHmac, hash, randomBytes } from 'node:crypto'
import { isPublicAddress, parseIpAddress } from '../../runtime/util/ip-address.ts'
import type { WebhookSecrets } from './settings-store.ts'

/**
 * Which addresses a webhook may connect to. The rule is an argument of the client and no setting:
 * only tests pass another one.
 */
export type AddressRule = (address: string) => boolean

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
export function hostAddress({ hostname }: URL): string | null {
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
  { secret, previous }: Pick<WebhookSecrets, 'secret' | 'previous'>,
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
