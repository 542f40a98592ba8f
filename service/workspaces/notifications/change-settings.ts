import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import {
  NOTIFICATION_TOPICS,
  WEBHOOK_FORMATS,
  type WebhookFormat,
} from '@signalbox/contract/session/notification-topics.ts'
import { WorkspaceTopics } from '@signalbox/contract/session/notifications.ts'
import type { AuditDetails } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { objectOrEmpty } from '../../runtime/util/is-object.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import {
  generateWebhookSecret,
  hostDigest,
  parseWebhookUrl,
  type WebhookUrlProblem,
} from '../../runtime/webhooks/client.ts'
import { requireRecentAuthentication } from '../users/reauthentication.ts'
import type { CurrentUser, SessionContext } from '../users/session-store.ts'
import { requireRole, userActor } from '../users/workspaces.ts'
import { composeWebhookDigest } from './digest.ts'
import { cancelWebhookMessages, insertMessage, listWebhookMessages } from './message-store.ts'
import { deleteWebhookNotifications } from './notification-store.ts'
import {
  lockNotificationSettings,
  type NotificationSettings,
  openWebhook,
  saveTopics,
  saveWebhook,
  sealWebhook,
  type WebhookSummary,
} from './settings-store.ts'

export interface NotificationsContext extends SessionContext, AuditedContext {
  credentialKeys: CredentialKeys
}

/** The user and the unparsed workspace ID of a request. */
export interface SettingsRequest {
  user: CurrentUser
  workspaceId: unknown
}

const NO_TOPICS = 'Choose topics from the list.'
const NO_INTERVAL = 'Choose an interval from the list.'
const topicsValidator = new Validator(WorkspaceTopics, {
  members: {
    email_topics: { error: NO_TOPICS },
    webhook_topics: { error: NO_TOPICS },
    digest_minutes: { error: NO_INTERVAL },
  },
})

/**
 * Changes what is sent and how often; topics that are left out are muted. Throws a Refusal: 403,
 * 404 or 422.
 */
export async function changeTopics(
  context: NotificationsContext,
  request: SettingsRequest,
  body: unknown,
): Promise<void> {
  await changeLocked(context, request, async (transaction, { workspaceId }) => {
    const given = topicsValidator.validate(body)
    const { digest_minutes: digestMinutes } = given
    const mutedBut = (sent: readonly string[]) =>
      NOTIFICATION_TOPICS.filter(topic => !sent.includes(topic))
    const mutedEmailTopics = mutedBut(given.email_topics)
    const mutedWebhookTopics = mutedBut(given.webhook_topics)
    const topics = { mutedEmailTopics, mutedWebhookTopics, digestMinutes }
    await saveTopics(transaction, workspaceId, topics)
    return {
      action: 'notifications.changed',
      details: {
        muted_email_topics: mutedEmailTopics,
        muted_webhook_topics: mutedWebhookTopics,
        digest_minutes: digestMinutes,
      },
      result: undefined,
    }
  })
}

/**
 * Sets the webhook of a workspace, or replaces it, after a recent confirmation of identity.
 * Returns its new signing secret, which is shown once. Throws a Refusal: 403, 404, or 422 with
 * every invalid field.
 */
export function setWebhook(
  context: NotificationsContext,
  request: SettingsRequest,
  body: unknown,
): Promise<string> {
  return changeLocked(context, request, async (transaction, { workspaceId, at }) => {
    requireRecentAuthentication(request.user, at)
    const { url, format } = parseWebhook(body)
    const secret = generateWebhookSecret()
    const secrets = { url: url.href, secret, previous: null }
    const sealed = sealWebhook(context.credentialKeys, workspaceId, secrets)
    await cancelWebhookMessages(transaction, workspaceId, at)
    await saveWebhook(transaction, workspaceId, { host: url.host, format, disabled: null, sealed })
    return {
      action: 'webhook.changed',
      details: { change: 'set', ...hostDigest(url), format },
      result: secret,
    }
  })
}

function parseWebhook(body: unknown): { url: URL; format: WebhookFormat } {
  const { url: text, format: name } = objectOrEmpty(body)
  const format = WEBHOOK_FORMATS.find(known => known === name)
  const parsed = parseWebhookUrl(typeof text === 'string' ? text : '')
  if ('url' in parsed && format) return { url: parsed.url, format }
  throw Refusal.ofFields({
    ...('problem' in parsed && { url: [URL_PROBLEMS[parsed.problem]] }),
    ...(!format && { format: ['Choose a format from the list.'] }),
  })
}

const URL_PROBLEMS: Record<WebhookUrlProblem, string> = {
  invalid: 'Enter a URL, such as https://hooks.example.com/signalbox.',
  not_https: 'Enter a URL that starts with https://.',
  has_credentials: 'Enter a URL without a user name and password; requests are signed instead.',
  not_public: 'Enter a URL with a public address; private networks cannot be reached.',
}

const ROTATION_HOURS = 24

/**
 * Issues a new signing secret after a recent confirmation of identity, and returns it. For a day,
 * requests carry the signature of the previous one as well.
 */
export function rotateWebhookSecret(
  context: NotificationsContext,
  request: SettingsRequest,
): Promise<string> {
  const { credentialKeys: keys } = context
  return changeLocked(context, request, async (transaction, { workspaceId, at, settings }) => {
    requireRecentAuthentication(request.user, at)
    const webhook = requireWebhook(settings)
    const opened = openWebhook(keys, workspaceId, webhook.sealed)
    if (!opened) throw new Refusal(409, 'The webhook cannot be read here. Set its URL again.')
    const until = new Date(at.getTime() + ROTATION_HOURS * HOUR_MILLISECONDS)
    const secret = generateWebhookSecret()
    const previous = { secret: opened.secret, until }
    const sealed = sealWebhook(keys, workspaceId, { url: opened.url, secret, previous })
    await saveWebhook(transaction, workspaceId, { ...webhook, sealed })
    return {
      action: 'webhook.changed',
      details: { change: 'secret_rotated', ...hostDigest(webhook) },
      result: secret,
    }
  })
}

/** Turns a webhook on that was turned off after failures. */
export async function enableWebhook(
  context: NotificationsContext,
  request: SettingsRequest,
): Promise<void> {
  await changeLocked(context, request, async (transaction, { workspaceId, settings }) => {
    const webhook = requireWebhook(settings)
    await saveWebhook(transaction, workspaceId, { ...webhook, disabled: null })
    const details = { change: 'enabled', ...hostDigest(webhook) }
    return { action: 'webhook.changed', details, result: undefined }
  })
}

export async function removeWebhook(
  context: NotificationsContext,
  request: SettingsRequest,
): Promise<void> {
  await changeLocked(context, request, async (transaction, { workspaceId, at, settings }) => {
    const webhook = requireWebhook(settings)
    await cancelWebhookMessages(transaction, workspaceId, at)
    await deleteWebhookNotifications(transaction, workspaceId)
    await saveWebhook(transaction, workspaceId, null)
    return {
      action: 'webhook.changed',
      details: { change: 'removed', ...hostDigest(webhook) },
      result: undefined,
    }
  })
}

/**
 * Queues a test message, which the job sends within a minute. Throws a 409 while another message is
 * pending, so that the button cannot be used to flood a receiver.
 */
export async function sendTestMessage(
  context: NotificationsContext,
  request: SettingsRequest,
): Promise<void> {
  await changeLocked(context, request, async (transaction, change) => {
    const { workspaceId, workspaceName, at, settings } = change
    const webhook = requireWebhook(settings)
    if (webhook.disabled) throw new Refusal(409, 'The webhook is off. Turn it on first.')
    const [last] = await listWebhookMessages(transaction, workspaceId, 1)
    if (last?.status === 'pending') {
      throw new Refusal(409, 'A message is still being sent. Try again when it is done.')
    }
    const notification = {
      topic: 'webhook',
      type: 'webhook.test',
      permission: null,
      userId: null,
      subject: { type: 'workspace', id: String(workspaceId) },
      text: 'This is a test message.',
      path: `/w/${workspaceId}/notifications`,
      at,
    } as const
    const origin = context.publicOrigin()
    const digest = { origin, workspaceId, workspaceName, at, notifications: [notification] }
    await insertMessage(transaction, {
      workspaceId,
      channel: 'webhook',
      userId: null,
      body: composeWebhookDigest(digest, webhook.format),
      createdAt: at,
      isTest: true,
    })
    return { action: null, result: undefined }
  })
}

function requireWebhook({ webhook }: NotificationSettings): WebhookSummary {
  if (webhook) return webhook
  throw new Refusal(409, 'This workspace has no webhook. Set its URL first.')
}

interface LockedChange {
  workspaceId: number
  workspaceName: string
  at: Date
  settings: NotificationSettings
}

/** What a change returns, and its audit entry; null for what changes no setting. */
type ChangeResult<Result> = { result: Result } & (
  | { action: AuditAction; details: AuditDetails }
  | { action: null }
)

/** Runs a change of an authorized user under the lock of the settings, with its audit entry. */
async function changeLocked<Result>(
  context: NotificationsContext,
  { user, workspaceId: given }: SettingsRequest,
  change: (transaction: Transaction, input: LockedChange) => Promise<ChangeResult<Result>>,
): Promise<Result> {
  const intent = { workspaceId: given, action: 'manage_notifications' } as const
  const { workspaceId, workspaceName } = await requireRole(context.database, user, intent)
  return commitAudited(context, async (transaction, record) => {
    const settings = await lockNotificationSettings(transaction, workspaceId)
    const at = context.now()
    const changed = await change(transaction, { workspaceId, workspaceName, at, settings })
    if (changed.action !== null) {
      record({
        workspaceId,
        at,
        action: changed.action,
        actor: userActor(user),
        subject: { type: 'workspace', id: String(workspaceId) },
        details: changed.details,
      })
    }
    return changed.result
  })
}
