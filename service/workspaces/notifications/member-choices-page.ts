import { html } from 'ghtml'
import { buttonForm, choiceGroup, choiceOption } from '../../runtime/pages/form-controls.ts'
import type { Membership } from '../users/workspace-store.ts'
import type { TopicChoices } from './choice-store.ts'
import { type ChosenTopic, TOPIC_LABELS } from './notification.ts'
import { choosableTopics, isTopicWantedByDefault } from './recipients.ts'
import type { NotificationSettings } from './settings-store.ts'

interface MemberChoices {
  membership: Membership
  settings: NotificationSettings
  choices: TopicChoices
}

/** What the member gets by email; each member chooses for themselves. */
export function memberChoicesCard({ membership, settings, choices }: MemberChoices): string {
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
