import { isMember, keysOf } from '@signalbox/contract/closed-set.ts'
import * as operations from '@signalbox/contract/session/notification-operations.ts'
import { NOTIFICATION_TOPICS } from '@signalbox/contract/session/notification-topics.ts'
import { type NotificationState, OwnTopics } from '@signalbox/contract/session/notifications.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { readPathParameters, Validator } from '../../runtime/http/validator.ts'
import type { CurrentUser } from '../users/session-store.ts'
import { requireSession } from '../users/signed-in-session.ts'
import { requireRole } from '../users/workspaces.ts'
import {
  changeTopics,
  enableWebhook,
  type NotificationsContext,
  removeWebhook,
  rotateWebhookSecret,
  type SettingsRequest,
  sendTestMessage,
  setWebhook,
} from './change-settings.ts'
import {
  choosableTopics,
  isTopicWantedByDefault,
  readTopicChoices,
  saveTopicChoices,
} from './choice-store.ts'
import { composeEmailDigest } from './digest.ts'
import { hasPendingEmail, insertMessage, listWebhookMessages } from './message-store.ts'
import type { WebhookFailure } from './notification.ts'
import { lockNotificationSettings, readNotificationSettings } from './settings-store.ts'

/** A workspace's notifications: owners change what is sent, each member what they get by email. */
export function notificationRoutes(app: ServiceApp, context: NotificationsContext): void {
  app.register(
    async api => {
      requireSession(api, context)
      choiceRoutes(api, context)
      webhookRoutes(api, context)
    },
    { prefix: SESSION_API_PATH },
  )
}

function choiceRoutes(app: ServiceApp, context: NotificationsContext): void {
  app.route({
    ...operations.getNotifications,
    handler: async request => readNotificationState(context, toSettingsRequest(request)),
  })
  app.route({
    ...operations.chooseOwnTopics,
    async handler(request, reply) {
      await changeChoices(context, toSettingsRequest(request), request.body)
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.sendTestEmail,
    async handler(request, reply) {
      await sendTestEmail(context, toSettingsRequest(request))
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.changeTopics,
    async handler(request, reply) {
      await changeTopics(context, toSettingsRequest(request), request.body)
      return reply.code(204).send()
    },
  })
}

function webhookRoutes(app: ServiceApp, context: NotificationsContext): void {
  app.route({
    ...operations.setWebhook,
    async handler(request, reply) {
      const secret = await setWebhook(context, toSettingsRequest(request), request.body)
      return reply.code(201).send({ signing_secret: secret })
    },
  })
  app.route({
    ...operations.rotateWebhookSecret,
    async handler(request, reply) {
      const secret = await rotateWebhookSecret(context, toSettingsRequest(request))
      return reply.code(201).send({ signing_secret: secret })
    },
  })
  app.route({
    ...operations.enableWebhook,
    async handler(request, reply) {
      await enableWebhook(context, toSettingsRequest(request))
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.removeWebhook,
    async handler(request, reply) {
      await removeWebhook(context, toSettingsRequest(request))
      return reply.code(204).send()
    },
  })
  app.route({
    ...operations.sendTestMessage,
    async handler(request, reply) {
      await sendTestMessage(context, toSettingsRequest(request))
      return reply.code(204).send()
    },
  })
}

function toSettingsRequest(request: { user: CurrentUser; params: unknown }): SettingsRequest {
  const { workspace: workspaceId } = readPathParameters(request.params, 'workspace')
  return { user: request.user, workspaceId }
}

const MESSAGES_SHOWN_MAX = 10

async function readNotificationState(
  { database }: NotificationsContext,
  { user, workspaceId: given }: SettingsRequest,
): Promise<NotificationState> {
  const intent = { workspaceId: given, action: 'read' } as const
  const { workspaceId, role } = await requireRole(database, user, intent)
  const settings = await readNotificationSettings(database, workspaceId)
  const choices = await readTopicChoices(database, { workspaceId, userId: user.userId })
  const messages = await listWebhookMessages(database, workspaceId, MESSAGES_SHOWN_MAX)
  const { webhook, mutedEmailTopics, mutedWebhookTopics } = settings
  const sentBut = (muted: readonly string[]) =>
    NOTIFICATION_TOPICS.filter(topic => !muted.includes(topic))
  return {
    own_topics: choosableTopics(role).map(topic => ({
      topic,
      is_wanted: choices.get(topic) ?? isTopicWantedByDefault(role, topic),
      is_muted: mutedEmailTopics.includes(topic),
    })),
    email_topics: sentBut(mutedEmailTopics),
    webhook_topics: sentBut(mutedWebhookTopics),
    digest_minutes: settings.digestMinutes,
    webhook: webhook && {
      host: webhook.host,
      format: webhook.format,
      disabled: webhook.disabled && {
        at: webhook.disabled.at.toISOString(),
        problem: describeProblem(webhook.disabled.reason),
      },
      messages: messages.map(({ id, status, attempts, lastError, createdAt }) => ({
        id,
        created_at: createdAt.toISOString(),
        status,
        attempts,
        problem: lastError === null ? null : describeProblem(lastError),
      })),
    },
  }
}

const FAILURE_TEXTS: Record<WebhookFailure, string> = {
  address_not_public: 'its address is not public',
  host_not_found: 'its host name was not found',
  invalid_certificate: 'its certificate is not valid',
  timeout: 'it did not answer in time',
  no_connection: 'it could not be reached',
  webhook_changed: 'the webhook was changed',
  unreadable_secret: 'its secret could not be read',
}

function describeProblem(code: string): string {
  const status = /^http_(\d{3})$/.exec(code)?.[1]
  if (status !== undefined) return `it answered HTTP ${status}`
  return isMember(keysOf(FAILURE_TEXTS), code) ? FAILURE_TEXTS[code] : code
}

const choicesValidator = new Validator(OwnTopics, {
  members: { topics: { error: 'Choose topics from the list.' } },
})

/**
 * Changes what a member gets by email, for this member only. What equals the default of the role is
 * not stored, so it follows the role when that changes. Throws a Refusal: 403, 404 or 422.
 */
async function changeChoices(
  { database }: NotificationsContext,
  { user, workspaceId: given }: SettingsRequest,
  body: unknown,
): Promise<void> {
  const intent = { workspaceId: given, action: 'read' } as const
  const { workspaceId, role } = await requireRole(database, user, intent)
  const { topics: wanted } = choicesValidator.validate(body)
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
async function sendTestEmail(
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
    path: `/w/${workspaceId}/notifications`,
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
