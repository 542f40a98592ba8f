import { sql } from 'kysely'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { generateUuidV7 } from '../../runtime/util/ids.ts'
import { MINUTE_SECONDS } from '../../runtime/util/time.ts'
import type { NotificationChannel, WebhookFailure } from './notification.ts'

/** Longer than an attempt takes; afterwards another process may try the message again. */
const LEASE_SECONDS = 2 * MINUTE_SECONDS

interface NewMessage {
  workspaceId: number
  channel: NotificationChannel
  /** Null for the webhook. */
  userId: number | null
  body: string
  createdAt: Date
  /** It does not delay the next digest. */
  isTest?: boolean
}

/** Queues a message. It is tried until it is sent or has failed for good. */
export async function insertMessage({ query }: Transaction, message: NewMessage): Promise<void> {
  const { createdAt } = message
  await query
    .insertInto('notification_messages')
    .values({
      id: generateUuidV7(createdAt),
      workspace_id: message.workspaceId,
      channel: message.channel,
      person_id: message.userId,
      body: message.body,
      status: 'pending',
      next_attempt_at: createdAt,
      created_at: createdAt,
      is_test: message.isTest ?? false,
    })
    .execute()
}

/** A message whose attempt this process may make. */
export interface ClaimedMessage extends NewMessage {
  id: string
  /** This one included. */
  attempts: number
}

/** Claims a due message of a channel, of an active workspace. Null when there is none. */
export async function claimMessage(
  { query }: Database,
  channel: NotificationChannel,
  now: Date,
): Promise<ClaimedMessage | null> {
  const due = query
    .selectFrom('notification_messages')
    .select('id')
    .where('channel', '=', channel)
    .where('status', '=', 'pending')
    .where('next_attempt_at', '<=', now)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('workspaces')
          .select('id')
          .whereRef('workspaces.id', '=', 'notification_messages.workspace_id')
          .where('workspaces.status', '=', 'active'),
      ),
    )
    .orderBy('next_attempt_at')
    .limit(1)
    .forUpdate()
    .skipLocked()
  const row = await query
    .updateTable('notification_messages')
    .set({
      attempts: sql`attempts + 1`,
      next_attempt_at: new Date(now.getTime() + LEASE_SECONDS * 1_000),
    })
    .where('id', '=', due)
    .returningAll()
    .executeTakeFirst()
  if (!row) return null
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    channel,
    userId: row.person_id,
    body: row.body,
    attempts: row.attempts,
    createdAt: row.created_at,
  }
}

export type MessageOutcome =
  | { status: 'sent' }
  | { status: 'pending'; error: string; nextAttemptAt: Date }
  | { status: 'failed'; error: string }

/** Records an attempt. False if the message was canceled or claimed by another process since. */
export async function settleMessage(
  { query }: Transaction,
  { id, attempts }: Pick<ClaimedMessage, 'id' | 'attempts'>,
  { at, ...outcome }: MessageOutcome & { at: Date },
): Promise<boolean> {
  const settled = await query
    .updateTable('notification_messages')
    .set({
      status: outcome.status,
      ...(outcome.status === 'pending'
        ? { last_error: outcome.error, next_attempt_at: outcome.nextAttemptAt }
        : {
            body: '',
            finished_at: at,
            last_error: outcome.status === 'failed' ? outcome.error : null,
          }),
    })
    .where('id', '=', id)
    .where('attempts', '=', attempts)
    .where('status', '=', 'pending')
    .returning('id')
    .executeTakeFirst()
  return settled !== undefined
}

/** Whether an email to a member is still being sent. */
export async function hasPendingEmail(
  { query }: Transaction,
  { workspaceId, userId }: { workspaceId: number; userId: number },
): Promise<boolean> {
  const row = await query
    .selectFrom('notification_messages')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('channel', '=', 'email')
    .where('status', '=', 'pending')
    .where('person_id', '=', userId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Ends the pending message of a webhook that was changed or removed. */
export async function cancelWebhookMessages(
  { query }: Transaction,
  workspaceId: number,
  at: Date,
): Promise<void> {
  const last_error: WebhookFailure = 'webhook_changed'
  await query
    .updateTable('notification_messages')
    .set({ status: 'failed', body: '', last_error, finished_at: at })
    .where('workspace_id', '=', workspaceId)
    .where('channel', '=', 'webhook')
    .where('status', '=', 'pending')
    .execute()
}

export interface MessageRecord {
  id: string
  status: 'pending' | 'sent' | 'failed'
  attempts: number
  lastError: string | null
  createdAt: Date
  finishedAt: Date | null
}

/** The last messages of a workspace's webhook, newest first. */
export async function listWebhookMessages(
  { query }: Pick<Database, 'query'>,
  workspaceId: number,
  countMax: number,
): Promise<MessageRecord[]> {
  const rows = await query
    .selectFrom('notification_messages')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('channel', '=', 'webhook')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(countMax)
    .execute()
  return rows.map(row => ({
    id: row.id,
    status: row.status as MessageRecord['status'],
    attempts: row.attempts,
    lastError: row.last_error,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  }))
}

const RETENTION_DAYS = 30
const DELETED_ROWS_MAX = 1_000

/** Deletes messages that finished a month ago. */
export async function deleteOldMessages(
  { query }: Database,
  now: Date,
): Promise<{ deleted: number; more: boolean }> {
  const { rows } = await sql`
    delete from notification_messages where id in (
      select id from notification_messages
      where finished_at < ${now}::timestamptz - make_interval(days => ${RETENTION_DAYS}::integer)
      limit ${DELETED_ROWS_MAX}::integer)
    returning 1`.execute(query)
  return { deleted: rows.length, more: rows.length === DELETED_ROWS_MAX }
}
