import { storedText } from '@signalbox/contract/closed-set.ts'
import type { WebhookFormat } from '@signalbox/contract/session/notification-topics.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { plainName } from '../../runtime/util/plain-name.ts'
import type { Email } from '../users/mail/mail-queue.ts'
import { isRecipient, listTopicChoices } from './choice-store.ts'
import { insertMessage } from './message-store.ts'
import { isAlertTopic } from './notification.ts'
import {
  findDueDigests,
  listEmailRecipients,
  takeNotifications,
  type WaitingDigest,
  type WaitingNotification,
} from './notification-store.ts'
import { lockNotificationSettings, type NotificationSettings } from './settings-store.ts'

/** More are counted: a digest is a reason to open the page, not a copy of it. */
const EMAIL_LINES_MAX = 20
const WEBHOOK_ITEMS_MAX = 50

export interface Digest {
  origin: string
  workspaceId: number
  workspaceName: string
  /** The oldest first, at least one. */
  notifications: readonly WaitingNotification[]
  at: Date
}

/** An email without its recipient, whose address is read when it is sent. */
export function composeEmailDigest(digest: Digest): Omit<Email, 'to'> {
  const { notifications, workspaceId, origin } = digest
  const name = plainName(digest.workspaceName)
  const shown = notifications.slice(0, EMAIL_LINES_MAX)
  const more = notifications.length - shown.length
  const paragraphs = [
    'Hello,',
    `there are updates in the workspace ${name}:`,
    ...shown.map(({ text, path }) => `- ${text}\n  ${origin}${path}`),
    ...(more > 0 ? [`There are ${more} more:\n  ${origin}${overviewPath(digest)}`] : []),
    'You get this email as a member of the workspace. Choose what you get:\n' +
      `  ${origin}/w/${workspaceId}/notifications`,
    'Signalbox',
  ]
  return { subject: subjectOf(notifications, name), text: `${paragraphs.join('\n\n')}\n` }
}

/** The page of the rest: the approvals, or the dashboard for a digest of alerts. */
function overviewPath({ workspaceId, notifications }: Digest): string {
  const isAlertsOnly = notifications.every(({ topic }) => isAlertTopic(topic))
  return isAlertsOnly ? `/w/${workspaceId}` : `/w/${workspaceId}/approvals`
}

function subjectOf(notifications: readonly WaitingNotification[], name: string): string {
  const waiting = notifications.filter(({ topic }) => topic === 'approvals').length
  if (waiting === 1) return `A proposal waits for approval: ${name}`
  if (waiting > 1) return `${waiting} proposals wait for approval: ${name}`
  const alerts = notifications.filter(({ topic }) => isAlertTopic(topic))
  if (alerts.length > 0) return alertSubjectOf(alerts, name)
  const { length } = notifications
  return length === 1 ? `An update in ${name}` : `${length} updates in ${name}`
}

function alertSubjectOf(alerts: readonly WaitingNotification[], name: string): string {
  const raised = alerts.filter(({ type }) => type.endsWith('.raised')).length
  const resolved = alerts.length - raised
  const count = raised === 0 ? resolved : raised
  const subject = count === 1 ? 'Alert' : `${count} alerts`
  if (raised === 0) return `${subject} resolved: ${name}`
  return resolved === 0 ? `${subject}: ${name}` : `${subject}, ${resolved} resolved: ${name}`
}

/** The body of a webhook, as the exact text that is signed. */
export function composeWebhookDigest(digest: Digest, format: WebhookFormat): string {
  const shown = digest.notifications.slice(0, WEBHOOK_ITEMS_MAX)
  switch (format) {
    case 'text':
      return JSON.stringify({ text: composeChatText(digest, shown) })
    case 'standard':
      return JSON.stringify({
        type: 'notifications.digest',
        timestamp: digest.at.toISOString(),
        data: {
          workspace_id: digest.workspaceId,
          total: digest.notifications.length,
          notifications: shown.map(notification => toWebhookItem(digest.origin, notification)),
        },
      })
  }
}

function toWebhookItem(origin: string, notification: WaitingNotification) {
  const { type, topic, subject, text, path, at } = notification
  return { type, topic, subject, text, url: `${origin}${path}`, created_at: at.toISOString() }
}

function composeChatText(digest: Digest, shown: readonly WaitingNotification[]): string {
  const { origin, workspaceName, notifications } = digest
  const more = notifications.length - shown.length
  return [
    `Signalbox: updates in ${escapeChatText(plainName(workspaceName))}`,
    ...shown.map(({ text, path }) => `• ${escapeChatText(text)} ${origin}${path}`),
    ...(more > 0 ? [`There are ${more} more: ${origin}${overviewPath(digest)}`] : []),
  ].join('\n')
}

/** Slack's three control characters: a name such as `<!channel>` must not notify everyone. */
function escapeChatText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

export interface DigestContext {
  database: Database
  now: () => Date
  publicOrigin: string
}

const DIGESTS_PER_RUN_MAX = 200
/** The rest is in the next digest. */
const NOTIFICATIONS_PER_DIGEST_MAX = 2_000

/**
 * Turns what waits into messages, for each workspace and channel at most once per interval. Many
 * notifications become one message per recipient. Each digest has its own transaction.
 */
export async function composeDigests({ database, now, ...context }: DigestContext): Promise<void> {
  for (const due of await findDueDigests(database, now(), DIGESTS_PER_RUN_MAX)) {
    await database.query
      .transaction()
      .execute(query => composeDigest({ query }, { ...context, due, at: now() }))
  }
}

interface DueDigest {
  due: WaitingDigest
  publicOrigin: string
  at: Date
}

async function composeDigest(transaction: Transaction, request: DueDigest): Promise<void> {
  const { due, publicOrigin: origin, at } = request
  // The lock also orders concurrent runs of the job.
  const settings = await lockNotificationSettings(transaction, due.workspaceId)
  const waiting = await takeNotifications(transaction, due, NOTIFICATIONS_PER_DIGEST_MAX)
  const { workspaceId, workspaceName } = due
  const digest = { origin, workspaceId, workspaceName, at, notifications: waiting }
  switch (due.channel) {
    case 'email':
      return queueEmails(transaction, digest, settings)
    case 'webhook':
      return queueWebhook(transaction, digest, settings)
  }
}

async function queueEmails(
  transaction: Transaction,
  digest: Digest,
  { mutedEmailTopics }: NotificationSettings,
): Promise<void> {
  const { workspaceId, at: createdAt } = digest
  const unmuted = withoutTopics(digest.notifications, mutedEmailTopics)
  const choices = await listTopicChoices(transaction, workspaceId)
  for (const recipient of await listEmailRecipients(transaction, workspaceId)) {
    const { userId } = recipient
    const notifications = unmuted.filter(it => isRecipient(recipient, it, choices.get(userId)))
    if (notifications.length === 0) continue
    const body = JSON.stringify(composeEmailDigest({ ...digest, notifications }))
    await insertMessage(transaction, { workspaceId, channel: 'email', userId, body, createdAt })
  }
}

async function queueWebhook(
  transaction: Transaction,
  digest: Digest,
  { mutedWebhookTopics, webhook }: NotificationSettings,
): Promise<void> {
  const notifications = withoutTopics(digest.notifications, mutedWebhookTopics)
  if (!webhook || webhook.disabled || notifications.length === 0) return
  await insertMessage(transaction, {
    workspaceId: digest.workspaceId,
    channel: 'webhook',
    userId: null,
    body: composeWebhookDigest({ ...digest, notifications }, webhook.format),
    createdAt: digest.at,
  })
}

function withoutTopics(
  notifications: readonly WaitingNotification[],
  muted: readonly string[],
): WaitingNotification[] {
  return notifications.filter(({ topic }) => !muted.includes(storedText(topic)))
}
