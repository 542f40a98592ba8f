import { storedText } from '@signalbox/contract/closed-set.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { listTopicChoices } from './choice-store.ts'
import { composeEmailDigest, composeWebhookDigest, type Digest } from './digest.ts'
import { insertMessage } from './message-store.ts'
import {
  findDueDigests,
  listEmailRecipients,
  takeNotifications,
  type WaitingDigest,
  type WaitingNotification,
} from './notification-store.ts'
import { isRecipient } from './recipients.ts'
import { lockNotificationSettings, type NotificationSettings } from './settings-store.ts'

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
