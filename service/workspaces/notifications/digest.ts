import { plainName } from '../../runtime/util/plain-name.ts'
import type { Email } from '../users/mail/mail-queue.ts'
import { isAlertTopic } from './notification.ts'
import type { WaitingNotification } from './notification-store.ts'
import type { WebhookFormat } from './settings-store.ts'

/** More are counted: a digest is a reason to open the page, not a copy of it. */
const EMAIL_LINES_MAX = 20
const WEBHOOK_ITEMS_MAX = 50

export interface Digest {
  origin: string
  workspaceId: number
  workspaceName: string
  /** The oldest first, at least one. */
  notifications: readonly WaitingNotification[]
  at: Date
}

/** An email without its recipient, whose address is read when it is sent. */
export function composeEmailDigest(digest: Digest): Omit<Email, 'to'> {
  const { notifications, workspaceId, origin } = digest
  const name = plainName(digest.workspaceName)
  const shown = notifications.slice(0, EMAIL_LINES_MAX)
  const more = notifications.length - shown.length
  const paragraphs = [
    'Hello,',
    `there are updates in the workspace ${name}:`,
    ...shown.map(({ text, path }) => `- ${text}\n  ${origin}${path}`),
    ...(more > 0 ? [`There are ${more} more:\n  ${origin}${overviewPath(digest)}`] : []),
    'You get this email as a member of the workspace. Choose what you get:\n' +
      `  ${origin}/workspaces/${workspaceId}/notifications`,
    'Signalbox',
  ]
  return { subject: subjectOf(notifications, name), text: `${paragraphs.join('\n\n')}\n` }
}

/** The page of the rest: the approvals, or the dashboard for a digest of alerts. */
function overviewPath({ workspaceId, notifications }: Digest): string {
  const isAlertsOnly = notifications.every(({ topic }) => isAlertTopic(topic))
  return isAlertsOnly ? `/w/${workspaceId}` : `/workspaces/${workspaceId}/approvals`
}

function subjectOf(notifications: readonly WaitingNotification[], name: string): string {
  const waiting = notifications.filter(({ topic }) => topic === 'approvals').length
  if (waiting === 1) return `A proposal waits for approval: ${name}`
  if (waiting > 1) return `${waiting} proposals wait for approval: ${name}`
  const alerts = notifications.filter(({ topic }) => isAlertTopic(topic))
  if (alerts.length > 0) return alertSubjectOf(alerts, name)
  const { length } = notifications
  return length === 1 ? `An update in ${name}` : `${length} updates in ${name}`
}

function alertSubjectOf(alerts: readonly WaitingNotification[], name: string): string {
  const raised = alerts.filter(({ type }) => type.endsWith('.raised')).length
  const resolved = alerts.length - raised
  const count = raised === 0 ? resolved : raised
  const subject = count === 1 ? 'Alert' : `${count} alerts`
  if (raised === 0) return `${subject} resolved: ${name}`
  return resolved === 0 ? `${subject}: ${name}` : `${subject}, ${resolved} resolved: ${name}`
}

/** The body of a webhook, as the exact text that is signed. */
export function composeWebhookDigest(digest: Digest, format: WebhookFormat): string {
  const shown = digest.notifications.slice(0, WEBHOOK_ITEMS_MAX)
  switch (format) {
    case 'text':
      return JSON.stringify({ text: composeChatText(digest, shown) })
    case 'standard':
      return JSON.stringify({
        type: 'notifications.digest',
        timestamp: digest.at.toISOString(),
        data: {
          workspace_id: digest.workspaceId,
          total: digest.notifications.length,
          notifications: shown.map(notification => toWebhookItem(digest.origin, notification)),
        },
      })
  }
}

function toWebhookItem(origin: string, notification: WaitingNotification) {
  const { type, topic, subject, text, path, at } = notification
  return { type, topic, subject, text, url: `${origin}${path}`, created_at: at.toISOString() }
}

function composeChatText(digest: Digest, shown: readonly WaitingNotification[]): string {
  const { origin, workspaceName, notifications } = digest
  const more = notifications.length - shown.length
  return [
    `Signalbox: updates in ${escapeChatText(plainName(workspaceName))}`,
    ...shown.map(({ text, path }) => `• ${escapeChatText(text)} ${origin}${path}`),
    ...(more > 0 ? [`There are ${more} more: ${origin}${overviewPath(digest)}`] : []),
  ].join('\n')
}

/** Slack's three control characters: a name such as `<!channel>` must not notify everyone. */
function escapeChatText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
