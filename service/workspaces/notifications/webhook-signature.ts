import { createHmac, randomBytes } from 'node:crypto'
import type { WebhookSecrets } from './settings-store.ts'

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
