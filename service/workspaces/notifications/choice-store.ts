import { storedText } from '@signalbox/contract/closed-set.ts'
import {
  type ChosenTopic,
  NOTIFICATION_TOPICS,
} from '@signalbox/contract/session/notification-topics.ts'
import { hasPermission, type WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { isAlertTopic } from './notification.ts'
import type { DigestRecipient, WaitingNotification } from './notification-store.ts'

/** What a member chose for their own email, by topic. Other topics follow the role. */
export type TopicChoices = ReadonlyMap<string, boolean>

interface MemberKey {
  workspaceId: number
  userId: number
}

export async function readTopicChoices(
  { query }: Pick<Database, 'query'>,
  { workspaceId, userId }: MemberKey,
): Promise<TopicChoices> {
  const rows = await query
    .selectFrom('notification_choices')
    .select(['topic', 'is_wanted'])
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
  return new Map(rows.map(row => [row.topic, row.is_wanted]))
}

/** The choices of all members of a workspace, by user. */
export async function listTopicChoices(
  { query }: Pick<Database, 'query'>,
  workspaceId: number,
): Promise<ReadonlyMap<number, TopicChoices>> {
  const rows = await query
    .selectFrom('notification_choices')
    .select(['user_id', 'topic', 'is_wanted'])
    .where('workspace_id', '=', workspaceId)
    .execute()
  const byUser = new Map<number, Map<string, boolean>>()
  for (const row of rows) {
    const choices = byUser.get(row.user_id) ?? new Map<string, boolean>()
    byUser.set(row.user_id, choices.set(row.topic, row.is_wanted))
  }
  return byUser
}

/** Replaces the choices of a member. They end with the membership. */
export async function saveTopicChoices(
  { query }: Transaction,
  { workspaceId, userId }: MemberKey,
  choices: TopicChoices,
): Promise<void> {
  await query
    .deleteFrom('notification_choices')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', userId)
    .execute()
  const rows = [...choices].map(([topic, isWanted]) => ({
    workspace_id: workspaceId,
    user_id: userId,
    topic,
    is_wanted: isWanted,
  }))
  if (rows.length > 0) await query.insertInto('notification_choices').values(rows).execute()
}

const NO_CHOICES: TopicChoices = new Map()

/**
 * True if a member gets the notification by email. What the member chose comes before the role,
 * with three limits: results are for one user, proposals for those who may decide, and nothing is
 * for events viewers, who see no more of the workspace than events.
 */
export function isRecipient(
  { userId, role }: Pick<DigestRecipient, 'userId' | 'role'>,
  { topic, ...notification }: Pick<WaitingNotification, 'topic' | 'permission' | 'userId'>,
  choices: TopicChoices = NO_CHOICES,
): boolean {
  if (!hasPermission(role, 'read')) return false
  const choice = choices.get(storedText(topic))
  if (choice === false) return false
  const { permission } = notification
  if (permission === null) return userId === notification.userId
  return hasPermission(role, permission) || (choice === true && isAlertTopic(topic))
}

/** The topics that a member of this role may choose. */
export function choosableTopics(role: WorkspaceRole): ChosenTopic[] {
  return NOTIFICATION_TOPICS.filter(
    topic => topic !== 'approvals' || hasPermission(role, 'decide_actions'),
  )
}

/** Whether a member who chose nothing gets the topic. */
export function isTopicWantedByDefault(role: WorkspaceRole, topic: ChosenTopic): boolean {
  return isAlertTopic(topic) ? hasPermission(role, 'manage_deliveries') : true
}
