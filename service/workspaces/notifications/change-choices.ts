import { Refusal } from '../../runtime/http/refusal.ts'
import { requireRole } from '../users/workspaces.ts'
import type { NotificationsContext, SettingsRequest } from './change-settings.ts'
import { saveTopicChoices } from './choice-store.ts'
import { composeEmailDigest } from './digest.ts'
import { hasPendingEmail, insertMessage } from './message-store.ts'
import { choosableTopics, isTopicWantedByDefault } from './recipients.ts'
import { lockNotificationSettings } from './settings-store.ts'

/**
 * Changes what a member gets by email, for this member only. What equals the default of the role is
 * not stored, so it follows the role when that changes. Throws a Refusal: 403 or 404.
 */
export async function changeChoices(
  { database }: NotificationsContext,
  { user, workspaceId: given }: SettingsRequest,
  wanted: readonly string[],
): Promise<void> {
  const intent = { workspaceId: given, action: 'read' } as const
  const { workspaceId, role } = await requireRole(database, user, intent)
  const choices = new Map<string, boolean>()
  for (const topic of choosableTopics(role)) {
    const isWanted = wanted.includes(topic)
    if (isWanted !== isTopicWantedByDefault(role, topic)) choices.set(topic, isWanted)
  }
  const key = { workspaceId, userId: user.userId }
  await database.query.transaction().execute(query => saveTopicChoices({ query }, key, choices))
}

/**
 * Queues a test email to the member, which the job sends within a minute. Throws a 409 while
 * another email to the member is pending, so that the button cannot be used to flood a mailbox.
 */
export async function sendTestEmail(
  { database, now, publicOrigin }: NotificationsContext,
  { user, workspaceId: given }: SettingsRequest,
): Promise<void> {
  const intent = { workspaceId: given, action: 'read' } as const
  const { workspaceId, workspaceName } = await requireRole(database, user, intent)
  const at = now()
  const userId = user.userId
  const notification = {
    topic: 'email',
    type: 'email.test',
    permission: null,
    userId,
    subject: { type: 'workspace', id: String(workspaceId) },
    text: 'This is a test message. Alerts and proposals are sent in the same way.',
    path: `/workspaces/${workspaceId}/notifications`,
    at,
  } as const
  const origin = publicOrigin()
  const digest = { origin, workspaceId, workspaceName, at, notifications: [notification] }
  const body = JSON.stringify(composeEmailDigest(digest))
  await database.query.transaction().execute(async query => {
    // The lock makes two clicks at the same time one email.
    await lockNotificationSettings({ query }, workspaceId)
    if (await hasPendingEmail({ query }, { workspaceId, userId })) {
      throw new Refusal(409, 'An email to you is still being sent. Try again when it is done.')
    }
    const message = { workspaceId, channel: 'email', userId, body, createdAt: at } as const
    await insertMessage({ query }, { ...message, isTest: true })
  })
}
