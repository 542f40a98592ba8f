import { isMember, keysOf } from '@signalbox/contract/closed-set.ts'
import { html } from 'ghtml'
import {
  buttonForm,
  choiceGroup,
  choiceOption,
  errorSummary,
  type FormErrors,
  selectField,
  tag,
  textField,
} from '../../runtime/pages/form-controls.ts'
import { formatDateTime } from '../../runtime/util/time.ts'
import { WEBHOOK_URL_CHARACTERS_MAX } from '../../runtime/webhooks/client.ts'
import { CONFIRM_PATH, isRecentlyAuthenticated } from '../users/reauthentication.ts'
import type { CurrentUser } from '../users/session-store.ts'
import type { PageMembership } from '../users/workspace-pages.ts'
import { workspacePage } from '../users/workspace-pages.ts'
import { hasPermission } from '../users/workspace-role.ts'
import type { Membership } from '../users/workspace-store.ts'
import { DIGEST_MINUTES } from './change-settings.ts'
import type { TopicChoices } from './choice-store.ts'
import { choosableTopics, isTopicWantedByDefault } from './choice-store.ts'
import type { MessageRecord } from './message-store.ts'
import {
  type ChosenTopic,
  NOTIFICATION_TOPICS,
  TOPIC_LABELS,
  type WebhookFailure,
} from './notification.ts'
import type { NotificationSettings, WebhookFormat, WebhookSummary } from './settings-store.ts'

export interface NotificationsPage {
  user: CurrentUser
  membership: PageMembership
  settings: NotificationSettings
  /** What the user chose for their own email. */
  choices: TopicChoices
  now: Date
  /** The last messages of the webhook, newest first. */
  messages: readonly MessageRecord[]
  /** The signing secret that was just issued; shown once. */
  issuedSecret?: string
  /** The values of the webhook's form. */
  values?: { url: string; format: string }
  errors?: FormErrors
  notice?: string | undefined
}

/** What a workspace is told, and its webhook. Owners change it. */
export function notificationsPage(page: NotificationsPage): string {
  const { user, membership, settings, issuedSecret, errors = {}, notice } = page
  const mayChange = hasPermission(membership.role, 'manage_notifications')
  const content = html`!${errorSummary(errors)}
!${issuedSecret === undefined ? '' : secretCard(issuedSecret)}
!${memberChoicesCard(page)}
!${mayChange ? topicsForm(page) : topicsSummary(settings)}
!${settings.webhook ? webhookCard(page, settings.webhook) : ''}
!${mayChange ? webhookFormCard(page) : OWNERS_ONLY}`
  return workspacePage({ user, membership, tab: 'notifications', notice, content })
}

const OWNERS_ONLY = '<p>Only an owner of the workspace can change what the workspace sends.</p>'

function secretCard(secret: string): string {
  return html`<section class="card" role="status" tabindex="-1" autofocus>
<h2>The signing secret of the webhook</h2>
<p>Copy it now: it is shown only once. Verify the signature of every request with it
(<a href="https://www.standardwebhooks.com/">Standard Webhooks</a>).</p>
<p><code>${secret}</code></p>
</section>`
}

function topicsForm({ membership, settings, errors = {} }: NotificationsPage): string {
  const { mutedEmailTopics, mutedWebhookTopics, digestMinutes } = settings
  const choices = (name: string, muted: readonly string[]) =>
    NOTIFICATION_TOPICS.map(topic =>
      choiceOption({
        type: 'checkbox',
        name,
        value: topic,
        isChosen: !muted.includes(topic),
        content: html`${TOPIC_LABELS[topic]}`,
      }),
    )
  const options = DIGEST_MINUTES.map(
    minutes => [String(minutes), INTERVAL_LABELS[minutes]] as const,
  )
  return html`<section class="card"><h2>What the workspace sends</h2>
<form method="post" action="${pathOf(membership)}">
!${choiceGroup({ ...EMAIL_GROUP, choices: choices('email_topics', mutedEmailTopics) })}
!${choiceGroup({ ...WEBHOOK_GROUP, choices: choices('webhook_topics', mutedWebhookTopics) })}
!${selectField({ ...INTERVAL, errors, options, value: String(digestMinutes) })}
<button>Save</button>
</form></section>`
}

const EMAIL_GROUP = {
  name: 'email_topics',
  label: 'By email',
  hint:
    'Proposals go to the people who may decide, results to the person who connected the agent, ' +
    'alerts to owners, administrators and members who choose them.',
} as const
const WEBHOOK_GROUP = { name: 'webhook_topics', label: 'By webhook' } as const
const INTERVAL = {
  name: 'digest_minutes',
  label: 'At most one message',
  hint: 'The first is sent within a minute; what happens until the next one is in one digest.',
} as const

const INTERVAL_LABELS: Record<(typeof DIGEST_MINUTES)[number], string> = {
  5: 'every 5 minutes',
  15: 'every 15 minutes',
  60: 'every hour',
  1440: 'every day',
}

function topicsSummary({ mutedEmailTopics, mutedWebhookTopics }: NotificationSettings): string {
  const list = (muted: readonly string[]) => {
    const labels = NOTIFICATION_TOPICS.filter(topic => !muted.includes(topic)).map(
      topic => TOPIC_LABELS[topic],
    )
    return labels.length === 0 ? 'nothing' : labels.join(', ')
  }
  return html`<section class="card"><h2>What the workspace sends</h2>
<dl><dt>By email</dt><dd>${list(mutedEmailTopics)}</dd>
<dt>By webhook</dt><dd>${list(mutedWebhookTopics)}</dd></dl></section>`
}

function webhookCard({ membership, messages }: NotificationsPage, webhook: WebhookSummary): string {
  const { host, format, disabled } = webhook
  const rows = messages.map(messageRow)
  const mayChange = hasPermission(membership.role, 'manage_notifications')
  return html`<section class="card"><h2>Webhook</h2>
<p>Requests go to <strong>${host}</strong>, ${FORMAT_LABELS[format]}.
!${disabled ? tag('off') : ''}</p>
!${disabled ? disabledText(disabled) : ''}
!${rows.length === 0 ? '' : html`<ul class="plain">!${rows.join('')}</ul>`}
!${mayChange ? webhookButtons(membership, webhook) : ''}
</section>`
}

function disabledText({ at, reason }: NonNullable<WebhookSummary['disabled']>): string {
  return html`<p>Turned off ${formatDateTime(at)}: ${errorText(reason)}.</p>`
}

function messageRow({ status, attempts, lastError, createdAt }: MessageRecord): string {
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  const reason = lastError === null ? '' : `: ${errorText(lastError)}`
  return html`<li class="row"><span>${formatDateTime(createdAt)}
!${tag(MESSAGE_LABELS[status])}<br><small>${tries}${reason}</small></span></li>`
}

const MESSAGE_LABELS: Record<MessageRecord['status'], string> = {
  pending: 'waiting',
  sent: 'sent',
  failed: 'failed',
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

function errorText(code: string): string {
  const status = /^http_(\d{3})$/.exec(code)?.[1]
  if (status !== undefined) return `it answered HTTP ${status}`
  return isMember(keysOf(FAILURE_TEXTS), code) ? FAILURE_TEXTS[code] : code
}

function webhookButtons(membership: Membership, { host, disabled }: WebhookSummary): string {
  const base = `${pathOf(membership)}/webhook`
  const first = disabled
    ? buttonForm({ action: `${base}/enable`, label: 'Turn on', about: host })
    : buttonForm({ action: `${base}/test`, label: 'Send a test message', about: host })
  return html`<div class="actions">!${first}
!${buttonForm({ action: `${base}/secret`, label: 'New signing secret', about: host })}
!${buttonForm({ action: `${base}/remove`, label: 'Remove', about: host })}</div>`
}

const FORMAT_LABELS: Record<WebhookFormat, string> = {
  standard: 'as events in the form of Standard Webhooks',
  text: 'as a text message',
}

/** Asks for a confirmation before the form is filled in, not after. */
function webhookFormCard(page: NotificationsPage): string {
  const { user, membership, settings, now } = page
  const query = new URLSearchParams({ return_to: pathOf(membership) })
  return html`<section class="card">
<h2>${settings.webhook ? 'Replace the webhook' : 'Add a webhook'}</h2>
!${
    isRecentlyAuthenticated(user, now)
      ? webhookForm(page)
      : html`<p><a class="button" href="${CONFIRM_PATH}?${query.toString()}">Confirm your identity
first</a></p>`
  }
</section>`
}

function webhookForm({ membership, settings, values, errors = {} }: NotificationsPage): string {
  const format = values?.format ?? settings.webhook?.format ?? 'standard'
  const options = [
    ['standard', 'Events (Standard Webhooks)'],
    ['text', 'Text messages (Slack, Mattermost, Google Chat)'],
  ] as const
  const url = { ...URL_FIELD, value: values?.url ?? '', errors }
  return html`<form method="post" action="${pathOf(membership)}/webhook">
!${textField(url)}
!${selectField({ name: 'format', label: 'Format', options, value: format, errors })}
<button>${settings.webhook ? 'Replace' : 'Add'} webhook</button>
</form>`
}

const URL_FIELD = {
  name: 'url',
  label: 'URL',
  hint: 'https and a public address. It is stored encrypted, and only its host is shown.',
  charactersMax: WEBHOOK_URL_CHARACTERS_MAX,
} as const

function pathOf({ workspaceId }: Pick<Membership, 'workspaceId'>): string {
  return `/workspaces/${workspaceId}/notifications`
}

interface MemberChoices {
  membership: Membership
  settings: NotificationSettings
  choices: TopicChoices
}

/** What the member gets by email; each member chooses for themselves. */
function memberChoicesCard({ membership, settings, choices }: MemberChoices): string {
  const { role, workspaceId } = membership
  const base = `/workspaces/${workspaceId}/notifications/mine`
  const options = choosableTopics(role).map(topic =>
    choiceOption({
      type: 'checkbox',
      name: 'my_topics',
      value: topic,
      isChosen: choices.get(topic) ?? isTopicWantedByDefault(role, topic),
      content: labelOf(topic, settings),
    }),
  )
  const group = { name: 'my_topics', label: 'Emails to you', choices: options }
  return html`<section class="card"><h2>Your email</h2>
<form method="post" action="${base}">
!${choiceGroup({ ...group, hint: HINT })}
<button>Save your choice</button>
</form>
<div class="actions">!${buttonForm({ action: `${base}/test`, label: 'Send me a test email' })}</div>
</section>`
}

const HINT = 'Only you get what you choose here. Owners and administrators get alerts by default.'

function labelOf(topic: ChosenTopic, { mutedEmailTopics }: NotificationSettings): string {
  const muted = mutedEmailTopics.includes(topic)
  return html`${TOPIC_LABELS[topic]}!${muted ? ' <small>(off for the workspace)</small>' : ''}`
}
