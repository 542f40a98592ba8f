import Type from 'typebox'
import { Refusal } from '../../runtime/http/refusal.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import { formChoices, formText, readForm, toFormErrors } from '../../runtime/pages/form-body.ts'
import { Notices } from '../../runtime/pages/navigation.ts'
import { servePages } from '../../runtime/pages/serve-pages.ts'
import { WEBHOOK_URL_CHARACTERS_MAX } from '../../runtime/webhooks/client.ts'
import {
  forSignedIn,
  readWorkspaceParam,
  SIGNED_IN,
  type SignedInRequest,
  seeOther,
  UNPROCESSABLE,
} from '../users/page-visit.ts'
import { requirePageMembership } from '../users/workspace-pages.ts'
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
import { type NotificationsPage, notificationsPage } from './notifications-page.ts'
import { lockNotificationSettings, readNotificationSettings } from './settings-store.ts'

/** A workspace's notifications: owners change what is sent, each member what they get by email. */
export function notificationRoutes(app: ServiceApp, context: NotificationsContext): void {
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    const url = '/workspaces/:workspace/notifications'
    const page = (handle: (visit: SignedInRequest) => Promise<unknown>) =>
      forSignedIn(context, handle)
    pages.get(
      url,
      SIGNED_IN,
      page(visit => renderNotifications(context, visit)),
    )
    pages.post(
      url,
      SIGNED_IN,
      page(visit => postTopics(context, visit)),
    )
    pages.post(
      `${url}/mine`,
      SIGNED_IN,
      page(visit => postChoices(context, visit)),
    )
    pages.post(
      `${url}/mine/test`,
      SIGNED_IN,
      page(async visit => {
        await sendTestEmail(context, toRequest(visit))
        return seeOther(visit.reply, NOTICES.addTo(pathOf(visit), 'test_email'))
      }),
    )
    pages.post(
      `${url}/webhook`,
      SIGNED_IN,
      page(visit => postWebhook(context, visit)),
    )
    pages.post(
      `${url}/webhook/secret`,
      SIGNED_IN,
      page(async visit => {
        const issuedSecret = await rotateWebhookSecret(context, toRequest(visit))
        return renderNotifications(context, visit, { issuedSecret })
      }),
    )
    for (const { name, change } of WEBHOOK_CHANGES) {
      pages.post(
        `${url}/webhook/${name}`,
        SIGNED_IN,
        page(async visit => {
          await change(context, toRequest(visit))
          return seeOther(visit.reply, NOTICES.addTo(pathOf(visit), name))
        }),
      )
    }
  })
}

const WEBHOOK_CHANGES = [
  { name: 'enable', change: enableWebhook },
  { name: 'remove', change: removeWebhook },
  { name: 'test', change: sendTestMessage },
] as const

const NOTICES = new Notices({
  saved: 'Notifications saved.',
  chosen: 'Your choice is saved.',
  test_email: 'A test email is sent to you within a minute.',
  enable: 'Webhook turned on.',
  remove: 'Webhook removed.',
  test: 'A test message is sent within a minute. Reload this page to see the result.',
})

const TOPICS_FORM = Type.Object({
  email_topics: formChoices(),
  webhook_topics: formChoices(),
  digest_minutes: formText(),
})
const CHOICES_FORM = Type.Object({ my_topics: formChoices() })

async function postTopics(context: NotificationsContext, visit: SignedInRequest) {
  const form = readForm(visit.request.body, TOPICS_FORM)
  try {
    await changeTopics(context, toRequest(visit), {
      emailTopics: form.email_topics,
      webhookTopics: form.webhook_topics,
      digestMinutes: Number(form.digest_minutes),
    })
    return seeOther(visit.reply, NOTICES.addTo(pathOf(visit), 'saved'))
  } catch (error) {
    return refuse(context, visit, { errors: toFormErrors(error) })
  }
}

async function postChoices(context: NotificationsContext, visit: SignedInRequest) {
  const { my_topics: topics } = readForm(visit.request.body, CHOICES_FORM)
  await changeChoices(context, toRequest(visit), topics)
  return seeOther(visit.reply, NOTICES.addTo(pathOf(visit), 'chosen'))
}

const WEBHOOK_FORM = Type.Object({
  // One character more, so that a longer URL is refused instead of cut.
  url: formText(WEBHOOK_URL_CHARACTERS_MAX + 1),
  format: formText(),
})

async function postWebhook(context: NotificationsContext, visit: SignedInRequest) {
  const values = readForm(visit.request.body, WEBHOOK_FORM)
  try {
    const issuedSecret = await setWebhook(context, toRequest(visit), values)
    return await renderNotifications(context, visit, { issuedSecret })
  } catch (error) {
    return refuse(context, visit, { errors: toFormErrors(error), values })
  }
}

type PageState = Partial<Pick<NotificationsPage, 'issuedSecret' | 'values' | 'errors'>>

async function refuse(context: NotificationsContext, visit: SignedInRequest, state: PageState) {
  const page = await renderNotifications(context, visit, state)
  return visit.reply.code(UNPROCESSABLE).send(page)
}

const MESSAGES_SHOWN_MAX = 10

async function renderNotifications(
  { database, now }: NotificationsContext,
  visit: SignedInRequest,
  state: PageState = {},
): Promise<string> {
  const { user, workspaceId: given } = toRequest(visit)
  const membership = await requirePageMembership(database, user, { workspaceId: given })
  const { workspaceId } = membership
  return notificationsPage({
    user,
    membership,
    now: now(),
    settings: await readNotificationSettings(database, workspaceId),
    choices: await readTopicChoices(database, { workspaceId, userId: user.userId }),
    messages: await listWebhookMessages(database, workspaceId, MESSAGES_SHOWN_MAX),
    notice: NOTICES.find(visit.request.query),
    ...state,
  })
}

function toRequest({ user, request }: SignedInRequest): SettingsRequest {
  return { user, workspaceId: readWorkspaceParam(request) }
}

function pathOf({ request }: SignedInRequest): string {
  return `/workspaces/${encodeURIComponent(readWorkspaceParam(request))}/notifications`
}

/**
 * Changes what a member gets by email, for this member only. What equals the default of the role is
 * not stored, so it follows the role when that changes. Throws a Refusal: 403 or 404.
 */
async function changeChoices(
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
