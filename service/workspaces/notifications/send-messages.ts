import { parseStored, storedText } from '@signalbox/contract/closed-set.ts'
import type { AuditEntry } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { HOUR_SECONDS, MINUTE_SECONDS } from '../../runtime/util/time.ts'
import type { PostWebhook } from '../../runtime/webhooks/client.ts'
import { hostDigest, signWebhook } from '../../runtime/webhooks/client.ts'
import type { Email, EmailTransport } from '../users/mail/mail-queue.ts'
import { type ClaimedMessage, claimMessage, settleMessage } from './message-store.ts'
import { EMAIL_ERRORS, type MessageError, type NotificationChannel } from './notification.ts'
import {
  deleteWebhookNotifications,
  listEmailRecipients,
  raiseNotification,
} from './notification-store.ts'
import {
  lockNotificationSettings,
  openWebhook,
  readNotificationSettings,
  saveWebhook,
} from './settings-store.ts'

export interface SendContext extends AuditedContext {
  now: () => Date
  credentialKeys: CredentialKeys
  sendEmail: EmailTransport
  postWebhook: PostWebhook
  /** A message will not be sent. The code names neither a recipient nor a URL. */
  onFailure: (failure: MessageFailure) => void
}

export interface MessageFailure {
  workspaceId: number
  channel: NotificationChannel
  code: string
}

/**
 * Delays after failed attempts. An email is tried for half an hour, so that one bad mailbox does
 * not hold up the digests of others for long; a webhook for 18 hours.
 */
const RETRY_DELAYS_SECONDS: Record<NotificationChannel, readonly number[]> = {
  email: [MINUTE_SECONDS, 5 * MINUTE_SECONDS, 30 * MINUTE_SECONDS],
  webhook: [
    MINUTE_SECONDS,
    5 * MINUTE_SECONDS,
    30 * MINUTE_SECONDS,
    2 * HOUR_SECONDS,
    5 * HOUR_SECONDS,
    10 * HOUR_SECONDS,
  ],
}

/** Each channel has its own, so that slow receivers of one do not hold up the other. */
const CONCURRENCY: Record<NotificationChannel, number> = { email: 2, webhook: 8 }

/** Sends what is due, until nothing is left or `signal` aborts. */
export async function sendMessages(context: SendContext, signal: AbortSignal): Promise<void> {
  const senders = (channel: NotificationChannel) =>
    Array.from({ length: CONCURRENCY[channel] }, () => sendChannel(context, channel, signal))
  await Promise.all([...senders('email'), ...senders('webhook')])
}

async function sendChannel(
  context: SendContext,
  channel: NotificationChannel,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const message = await claimMessage(context.database, channel, context.now())
    if (!message) return
    const attempt = channel === 'email' ? sendEmail : sendWebhook
    await settle(context, message, await attempt(context, message))
  }
}

type AttemptResult =
  | { kind: 'sent' }
  | { kind: 'retry'; error: MessageError; waitSeconds: number }
  | { kind: 'failed'; error: MessageError }
  /** The receiver is gone (HTTP 410): nothing more is sent. */
  | { kind: 'gone'; error: MessageError }

/** Members who left, were disabled or changed their address in the meantime get nothing. */
async function sendEmail(
  { database, sendEmail: send }: SendContext,
  { workspaceId, userId, body }: ClaimedMessage,
): Promise<AttemptResult> {
  const members = await listEmailRecipients(database, workspaceId)
  const recipient = members.find(member => member.userId === userId)
  if (!recipient) return { kind: 'failed', error: 'recipient_left' }
  const { subject, text } = JSON.parse(body) as Omit<Email, 'to'>
  try {
    await send({ to: recipient.email, subject, text })
    return { kind: 'sent' }
  } catch (error) {
    const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
    // RFC 5321, 4.2.1: a code of 5xx says not to repeat the command.
    const kind = typeof responseCode === 'number' && responseCode >= 500 ? 'failed' : 'retry'
    const failure = parseStored(EMAIL_ERRORS, String(code ?? 'no_response'))
    return { kind, error: failure, waitSeconds: 0 }
  }
}

async function sendWebhook(
  { database, now, credentialKeys, postWebhook }: SendContext,
  { id, workspaceId, body }: ClaimedMessage,
): Promise<AttemptResult> {
  const { webhook } = await readNotificationSettings(database, workspaceId)
  if (!webhook || webhook.disabled) return { kind: 'failed', error: 'webhook_changed' }
  const secrets = openWebhook(credentialKeys, workspaceId, webhook.sealed)
  if (!secrets) return { kind: 'retry', error: 'unreadable_secret', waitSeconds: 0 }
  const signed = signWebhook(secrets, { messageId: `msg_${id}`, at: now(), body })
  const headers = { ...signed, 'user-agent': 'Signalbox' }
  const answer = await postWebhook({ url: secrets.url, headers, body })
  if (answer.status === null) return { kind: 'retry', error: answer.error, waitSeconds: 0 }
  const { status, waitSeconds } = answer
  if (status >= 200 && status < 300) return { kind: 'sent' }
  return { kind: status === 410 ? 'gone' : 'retry', error: `http_${status}`, waitSeconds }
}

async function settle(
  context: SendContext,
  message: ClaimedMessage,
  result: AttemptResult,
): Promise<void> {
  const at = context.now()
  const { workspaceId, channel, attempts } = message
  if (result.kind === 'sent') {
    await settleMessage(context.database, message, { status: 'sent', at })
    return
  }
  const error = storedText(result.error)
  const delaySeconds = RETRY_DELAYS_SECONDS[channel][attempts - 1]
  if (result.kind === 'retry' && delaySeconds !== undefined) {
    const seconds = Math.max(delaySeconds, result.waitSeconds)
    const nextAttemptAt = new Date(at.getTime() + seconds * 1_000)
    await settleMessage(context.database, message, { status: 'pending', error, nextAttemptAt, at })
    return
  }
  const isUnreachable = channel === 'webhook' && result.kind !== 'failed'
  await commitAudited(context, async (transaction, record) => {
    // Changes of the settings lock them first, too.
    if (isUnreachable) await lockNotificationSettings(transaction, workspaceId)
    const isSettled = await settleMessage(transaction, message, { status: 'failed', error, at })
    if (!isSettled || !isUnreachable) return
    const entry = await disableWebhook(transaction, { workspaceId, error, at })
    if (entry) record(entry)
  })
  context.onFailure({ workspaceId, channel, code: error })
}

/**
 * Nothing more is sent until an owner turns it on again. They are told by email. Returns the audit
 * entry; null when the webhook was removed meanwhile.
 */
async function disableWebhook(
  transaction: Transaction,
  { workspaceId, error, at }: { workspaceId: number; error: string; at: Date },
): Promise<AuditEntry | null> {
  const { webhook } = await readNotificationSettings(transaction, workspaceId)
  if (!webhook) return null
  await saveWebhook(transaction, workspaceId, { ...webhook, disabled: { at, reason: error } })
  await deleteWebhookNotifications(transaction, workspaceId)
  await raiseNotification(transaction, {
    workspaceId,
    topic: 'webhook',
    type: 'webhook.disabled',
    recipients: { permission: 'manage_notifications', userId: null },
    subject: { type: 'workspace', id: String(workspaceId) },
    text: `The webhook at ${webhook.host} was turned off after failed attempts.`,
    path: `/w/${workspaceId}/notifications`,
    at,
  })
  return {
    workspaceId,
    at,
    action: 'webhook.disabled',
    actor: { type: 'system', id: null },
    subject: { type: 'workspace', id: String(workspaceId) },
    details: { ...hostDigest(webhook), error },
  }
}
