import type { WebhookFormat } from '@signalbox/contract/session/notification-topics.ts'
import type { Database, Transaction } from '../../runtime/db/database.ts'
import { isObject, parseJsonObject } from '../../runtime/util/is-object.ts'
import {
  type CredentialKeys,
  openCredential,
  sealCredential,
} from '../../runtime/util/sealed-credential.ts'
import type { SigningSecrets } from '../../runtime/webhooks/client.ts'

export interface NotificationSettings {
  mutedEmailTopics: readonly string[]
  mutedWebhookTopics: readonly string[]
  digestMinutes: number
  /** Null: the workspace has none. */
  webhook: WebhookSummary | null
}

/** What pages and logs may show: the path of a URL can be a secret. */
export interface WebhookSummary {
  host: string
  format: WebhookFormat
  /** Null: it is on. */
  disabled: { at: Date; reason: string } | null
  sealed: Buffer
}

const DEFAULT_SETTINGS: NotificationSettings = {
  mutedEmailTopics: [],
  mutedWebhookTopics: [],
  digestMinutes: 15,
  webhook: null,
}

export async function readNotificationSettings(
  { query }: Pick<Database, 'query'>,
  workspaceId: number,
): Promise<NotificationSettings> {
  const row = await query
    .selectFrom('notification_settings')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  if (!row) return DEFAULT_SETTINGS
  const { webhook_disabled_at: at, webhook_disabled_reason: reason } = row
  const { sealed_webhook: sealed, webhook_host: host, webhook_format: format } = row
  return {
    mutedEmailTopics: row.muted_email_topics,
    mutedWebhookTopics: row.muted_webhook_topics,
    digestMinutes: row.digest_minutes,
    webhook: sealed && {
      host: host ?? '',
      format: format as WebhookFormat,
      disabled: at && { at, reason: reason ?? '' },
      sealed,
    },
  }
}

/**
 * Creates the row if there is none and locks it until the transaction ends, so that concurrent
 * changes and the job do not overwrite each other.
 */
export async function lockNotificationSettings(
  { query }: Transaction,
  workspaceId: number,
): Promise<NotificationSettings> {
  await query
    .insertInto('notification_settings')
    .values({ workspace_id: workspaceId })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  await query
    .selectFrom('notification_settings')
    .select('workspace_id')
    .where('workspace_id', '=', workspaceId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return readNotificationSettings({ query }, workspaceId)
}

/** The caller must have locked the row. */
export async function saveTopics(
  { query }: Transaction,
  workspaceId: number,
  settings: Omit<NotificationSettings, 'webhook'>,
): Promise<void> {
  await query
    .updateTable('notification_settings')
    .set({
      muted_email_topics: [...settings.mutedEmailTopics],
      muted_webhook_topics: [...settings.mutedWebhookTopics],
      digest_minutes: settings.digestMinutes,
    })
    .where('workspace_id', '=', workspaceId)
    .execute()
}

/** The caller must have locked the row. Null removes the webhook. */
export async function saveWebhook(
  { query }: Transaction,
  workspaceId: number,
  webhook: WebhookSummary | null,
): Promise<void> {
  await query
    .updateTable('notification_settings')
    .set({
      webhook_host: webhook?.host ?? null,
      webhook_format: webhook?.format ?? null,
      sealed_webhook: webhook?.sealed ?? null,
      webhook_disabled_at: webhook?.disabled?.at ?? null,
      webhook_disabled_reason: webhook?.disabled?.reason ?? null,
    })
    .where('workspace_id', '=', workspaceId)
    .execute()
}

/** What is sealed. */
export interface WebhookSecrets extends SigningSecrets {
  url: string
}

/** Bound to the workspace, so that it cannot be copied to another row. */
export function sealWebhook(
  keys: CredentialKeys,
  workspaceId: number,
  secrets: WebhookSecrets,
): Buffer {
  return sealCredential(keys, sealName(workspaceId), JSON.stringify(secrets))
}

/** Null when no key opens it. */
export function openWebhook(
  keys: CredentialKeys,
  workspaceId: number,
  sealed: Buffer,
): (WebhookSecrets & { key: 'current' | 'previous' }) | null {
  const opened = openCredential(keys, sealName(workspaceId), sealed)
  const content = opened && parseJsonObject(opened.credential)
  if (!opened || !content) return null
  const { previous } = content
  return {
    url: String(content.url),
    secret: String(content.secret),
    previous: isObject(previous)
      ? { secret: String(previous.secret), until: new Date(String(previous.until)) }
      : null,
    key: opened.key,
  }
}

function sealName(workspaceId: number): string {
  return `webhook of workspace ${workspaceId}`
}

const PAGE_ROWS_MAX = 500

interface ResealSummary {
  resealed: number
  /** IDs of the workspaces whose webhook no key opens. */
  unreadable: number[]
}

/** Seals every webhook with the current key. Safe to run beside the service, and repeatedly. */
export async function resealWebhooks(
  database: Database,
  keys: CredentialKeys,
): Promise<ResealSummary> {
  const summary: ResealSummary = { resealed: 0, unreadable: [] }
  for (let last = 0; ; ) {
    const rows = await database.query
      .selectFrom('notification_settings')
      .select('workspace_id')
      .where('workspace_id', '>', last)
      .where('sealed_webhook', 'is not', null)
      .orderBy('workspace_id')
      .limit(PAGE_ROWS_MAX)
      .execute()
    for (const { workspace_id: workspaceId } of rows) {
      const outcome = await resealWebhook(database, keys, workspaceId)
      if (outcome === 'resealed') summary.resealed += 1
      if (outcome === 'unreadable') summary.unreadable.push(workspaceId)
    }
    last = rows.at(-1)?.workspace_id ?? last
    if (rows.length < PAGE_ROWS_MAX) return summary
  }
}

function resealWebhook(
  database: Database,
  keys: CredentialKeys,
  workspaceId: number,
): Promise<'current' | 'resealed' | 'unreadable'> {
  return database.query.transaction().execute(async query => {
    const { webhook } = await lockNotificationSettings({ query }, workspaceId)
    if (!webhook) return 'current'
    const opened = openWebhook(keys, workspaceId, webhook.sealed)
    if (!opened) return 'unreadable'
    const { key, ...secrets } = opened
    if (key === 'current') return 'current'
    const sealed = sealWebhook(keys, workspaceId, secrets)
    await saveWebhook({ query }, workspaceId, { ...webhook, sealed })
    return 'resealed'
  })
}
