import { storedText } from '@signalbox/contract/closed-set.ts'
import { hasPermission, type WorkspaceRole } from '../users/workspace-role.ts'
import type { TopicChoices } from './choice-store.ts'
import { type ChosenTopic, isAlertTopic, NOTIFICATION_TOPICS } from './notification.ts'
import type { DigestRecipient, WaitingNotification } from './notification-store.ts'

const NO_CHOICES: TopicChoices = new Map()

/**
 * True if a member gets the notification by email. What the member chose comes before the role,
 * with two limits: results are for one user, and proposals for those who may decide.
 */
export function isRecipient(
  { userId, role }: Pick<DigestRecipient, 'userId' | 'role'>,
  { topic, ...notification }: Pick<WaitingNotification, 'topic' | 'permission' | 'userId'>,
  choices: TopicChoices = NO_CHOICES,
): boolean {
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
