import { parseStored, type Stored } from '@signalbox/contract/closed-set.ts'
import type { WorkspaceAction, WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import { sql } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import {
  ALL_NOTIFICATION_TOPICS,
  NOTIFICATION_TEXT_CHARACTERS_MAX,
  type Notification,
  type NotificationChannel,
  type NotificationTopic,
} from './notification.ts'

/**
 * Stores a notification for the next digests, in the transaction of what it is about. The webhook
 * gets one only if it is on. Any module may call it; emails and requests are sent by a job.
 */
export async function raiseNotification(
  { query }: Transaction,
  { workspaceId, topic, type, recipients, subject, text, path, at }: Notification,
): Promise<void> {
  const { permission, userId } = recipients
  const shortText = text.slice(0, NOTIFICATION_TEXT_CHARACTERS_MAX)
  await sql`
    insert into notifications (workspace_id, channel, topic, type, permission, person_id,
      subject_type, subject_id, text, path, created_at)
    select ${workspaceId}::integer, channel, ${topic}::text, ${type}::text, ${permission}::text,
      ${userId}::integer, ${subject.type}::text, ${subject.id}::text, ${shortText}::text,
      ${path}::text, ${at}::timestamptz
    from unnest(array['email', 'webhook']) as channel
    where channel = 'email' or ${topic}::text <> 'webhook' and exists (
      select 1 from notification_settings
      where workspace_id = ${workspaceId}::integer and sealed_webhook is not null
        and webhook_disabled_at is null)`.execute(query)
}

/** Deletes what no digest contains yet, because it is no longer true. */
export async function withdrawNotifications(
  { query }: Transaction,
  { workspaceId, type, subject }: Pick<Notification, 'workspaceId' | 'type' | 'subject'>,
): Promise<void> {
  await query
    .deleteFrom('notifications')
    .where('workspace_id', '=', workspaceId)
    .where('subject_type', '=', subject.type)
    .where('subject_id', '=', subject.id)
    .where('type', '=', type)
    .execute()
}

/** The webhook of a workspace was removed or turned off. */
export async function deleteWebhookNotifications(
  { query }: Transaction,
  workspaceId: number,
): Promise<void> {
  await query
    .deleteFrom('notifications')
    .where('workspace_id', '=', workspaceId)
    .where('channel', '=', 'webhook')
    .execute()
}

export interface WaitingDigest {
  workspaceId: number
  workspaceName: string
  channel: NotificationChannel
}

/**
 * Workspaces and channels whose next digest is due: something waits, no digest was made within the
 * interval of the workspace, and no message is still being tried, so that an outage ends in one
 * digest instead of a backlog. What is said about the policy makes a digest due at once. Those of a
 * disabled workspace wait until it is enabled.
 */
export async function findDueDigests(
  { query }: Database,
  now: Date,
  countMax: number,
): Promise<WaitingDigest[]> {
  const { rows } = await sql<{ id: number; name: string; channel: NotificationChannel }>`
    select workspaces.id, workspaces.name, waiting.channel
    from (
      select workspace_id, channel, bool_or(topic = 'policy') as is_urgent
      from notifications group by workspace_id, channel) as waiting
    join workspaces on workspaces.id = waiting.workspace_id
    left join notification_settings settings on settings.workspace_id = waiting.workspace_id
    where workspaces.status = 'active' and (waiting.is_urgent or not exists (
      select 1 from notification_messages message
      where message.workspace_id = waiting.workspace_id and message.channel = waiting.channel
        and (message.status = 'pending' or not message.is_test
          and message.created_at > ${now}::timestamptz
            - make_interval(mins => coalesce(settings.digest_minutes, 15)))))
    order by workspaces.id, waiting.channel limit ${countMax}::integer`.execute(query)
  return rows.map(({ id, name, channel }) => ({ workspaceId: id, workspaceName: name, channel }))
}

export interface WaitingNotification {
  topic: Stored<NotificationTopic>
  /** A `NotificationType`, perhaps of another version: digests pass it on. */
  type: string
  permission: WorkspaceAction | null
  userId: number | null
  subject: { type: string; id: string }
  text: string
  path: string
  at: Date
}

/**
 * Takes what waits for a digest, the oldest first, at most `countMax`. Of two concurrent callers
 * one gets nothing.
 */
export async function takeNotifications(
  { query }: Transaction,
  { workspaceId, channel }: Pick<WaitingDigest, 'workspaceId' | 'channel'>,
  countMax: number,
): Promise<WaitingNotification[]> {
  const oldest = query
    .selectFrom('notifications')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('channel', '=', channel)
    .orderBy('id')
    .limit(countMax)
    .forUpdate()
  const rows = await query
    .deleteFrom('notifications')
    .where('id', 'in', oldest)
    .returningAll()
    .execute()
  return rows
    .toSorted((a, b) => a.id - b.id)
    .map(row => ({
      topic: parseStored(ALL_NOTIFICATION_TOPICS, row.topic),
      type: row.type,
      permission: row.permission as WorkspaceAction | null,
      userId: row.person_id,
      subject: { type: row.subject_type, id: row.subject_id },
      text: row.text,
      path: row.path,
      at: row.created_at,
    }))
}

export interface DigestRecipient {
  userId: number
  email: string
  role: WorkspaceRole
}

const RECIPIENTS_MAX = 200

/** The members who can get email: enabled, and with a verified address. */
export async function listEmailRecipients(
  { query }: Pick<Database, 'query'>,
  workspaceId: number,
): Promise<DigestRecipient[]> {
  const rows = await query
    .selectFrom('members')
    .innerJoin('workspaces', 'workspaces.id', 'members.workspace_id')
    .innerJoin('people.users as person', 'person.id', 'members.user_id')
    .select(['person.id', 'person.email', 'members.role'])
    .where('members.workspace_id', '=', workspaceId)
    .where('workspaces.status', '=', 'active')
    .where('person.status', '=', 'active')
    .where('person.email_verified', '=', true)
    .orderBy('person.id')
    .limit(RECIPIENTS_MAX)
    .execute()
  return rows.map(({ id, email, role }) => ({
    userId: id,
    email,
    role: role as WorkspaceRole,
  }))
}
