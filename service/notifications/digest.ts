import type { Email } from '../people/mail/mail-queue.ts'
import { plainName } from './notification.ts'
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
    ...(more > 0 ? [`There are ${more} more:\n  ${origin}${approvalsPath(workspaceId)}`] : []),
    'You get this email as a member of the workspace. An owner can change what is sent:\n' +
      `  ${origin}/workspaces/${workspaceId}/notifications`,
    'Signalbox',
  ]
  return { subject: subjectOf(notifications, name), text: `${paragraphs.join('\n\n')}\n` }
}

function approvalsPath(workspaceId: number): string {
  return `/workspaces/${workspaceId}/approvals`
}

function subjectOf(notifications: readonly WaitingNotification[], name: string): string {
  const waiting = notifications.filter(({ topic }) => topic === 'approvals').length
  if (waiting === 1) return `A proposal waits for approval: ${name}`
  if (waiting > 1) return `${waiting} proposals wait for approval: ${name}`
  const { length } = notifications
  return length === 1 ? `An update in ${name}` : `${length} updates in ${name}`
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

function composeChatText(
  { origin, workspaceId, workspaceName, notifications }: Digest,
  shown: readonly WaitingNotification[],
): string {
  const more = notifications.length - shown.length
  return [
    `Signalbox: updates in ${escapeChatText(plainName(workspaceName))}`,
    ...shown.map(({ text, path }) => `• ${escapeChatText(text)} ${origin}${path}`),
    ...(more > 0 ? [`There are ${more} more: ${origin}${approvalsPath(workspaceId)}`] : []),
  ].join('\n')
}

/** Slack's three control characters: a name such as `<!channel>` must not notify everyone. */
function escapeChatText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
