import type { NotificationType } from '@signalbox/contract/alerts.ts'
import { isMember, isRecognized, type Stored } from '@signalbox/contract/closed-set.ts'
import {
  type ChosenTopic,
  NOTIFICATION_TOPICS,
} from '@signalbox/contract/session/notification-topics.ts'
import type { WorkspaceAction } from '@signalbox/contract/session/roles.ts'
import type { WebhookError } from '../../runtime/webhooks/client.ts'

/** How a workspace is notified: its people by email, its systems by a webhook. */
export const NOTIFICATION_CHANNELS = ['email', 'webhook'] as const
export type NotificationChannel = (typeof NOTIFICATION_CHANNELS)[number]

/** Alerts: by default for owners and administrators, and for each member who chooses them. */
export const ALERT_TOPICS: readonly ChosenTopic[] = [
  'destinations',
  'match_quality',
  'reconciliation',
  'page_withdrawals',
  'audit_log',
]

export function isAlertTopic(topic: Stored<NotificationTopic>): boolean {
  return isRecognized(topic) && isMember(ALERT_TOPICS, topic)
}

/**
 * `policy`: agents may do more, which cannot be muted and waits for no interval. `webhook`:
 * problems of the webhook itself, which are always sent, and only by email. `email`: a test
 * message.
 */
export const ALL_NOTIFICATION_TOPICS = [
  ...NOTIFICATION_TOPICS,
  'policy',
  'webhook',
  'email',
] as const
export type NotificationTopic = (typeof ALL_NOTIFICATION_TOPICS)[number]

/** Who gets the email: the members whose role has a permission, or one member. */
export type Recipients =
  | { permission: WorkspaceAction; userId: null }
  | { permission: null; userId: number }

export interface NotificationSubject {
  type: string
  id: string
}

/** Something that people of a workspace should know. It is sent with the next digest. */
export interface Notification {
  workspaceId: number
  topic: NotificationTopic
  type: NotificationType
  recipients: Recipients
  subject: NotificationSubject
  /** One sentence without secrets and personal data; names in it are without links. */
  text: string
  /** The page about it, as a path of this site. */
  path: string
  at: Date
}

/** Why a webhook has not got a message, besides `http_<status>`. */
export type WebhookFailure = WebhookError | 'webhook_changed' | 'unreadable_secret'

/** Why a recipient has not got an email. Any other code is of the mail server or the connection. */
export const EMAIL_ERRORS = ['recipient_left', 'no_response'] as const

/** Why a message was not delivered, as it is stored with the message and shown. */
export type MessageError = WebhookFailure | `http_${number}` | Stored<(typeof EMAIL_ERRORS)[number]>

export const NOTIFICATION_TEXT_CHARACTERS_MAX = 500
