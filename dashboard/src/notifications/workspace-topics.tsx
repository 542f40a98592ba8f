import { Button, Checkbox, Group, NativeSelect, Stack, Text } from '@mantine/core'
import {
  type ChosenTopic,
  DIGEST_MINUTES,
  type DigestMinutes,
  NOTIFICATION_TOPICS,
  TOPIC_LABELS,
} from '@signalbox/contract/session/notification-topics.ts'
import type { NotificationState } from '@signalbox/contract/session/notifications.ts'
import { useState } from 'react'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Facts, Section } from '../components/facts.tsx'
import { changeTopics, type SentTopics, useNotificationChange } from './notification-api.ts'

const INTERVAL_LABELS: Record<DigestMinutes, string> = {
  5: 'every 5 minutes',
  15: 'every 15 minutes',
  60: 'every hour',
  1440: 'every day',
}

interface WorkspaceTopicsProps {
  state: NotificationState
  canChange: boolean
}

/** What the workspace sends, and how often. Owners change it; the others read it. */
export function WorkspaceTopicsSection({ state, canChange }: WorkspaceTopicsProps) {
  if (canChange) return <TopicsForm state={state} />
  const list = (topics: readonly ChosenTopic[]) =>
    topics.map(topic => TOPIC_LABELS[topic]).join(', ') || 'Nothing'
  return (
    <Section
      title="What the workspace sends"
      description="Only an owner of the workspace can change it."
    >
      <Facts
        facts={[
          ['By email', list(state.email_topics)],
          ['By webhook', list(state.webhook_topics)],
          ['At most one message', INTERVAL_LABELS[intervalOf(state)]],
        ]}
      />
    </Section>
  )
}

function intervalOf({ digest_minutes: minutes }: NotificationState): DigestMinutes {
  return DIGEST_MINUTES.find(each => each === minutes) ?? 15
}

function TopicsForm({ state }: Pick<WorkspaceTopicsProps, 'state'>) {
  const [values, setValues] = useState<SentTopics>({
    email_topics: state.email_topics,
    webhook_topics: state.webhook_topics,
    digest_minutes: intervalOf(state),
  })
  const save = useNotificationChange(changeTopics)
  const change = (changed: Partial<SentTopics>) => {
    save.reset()
    setValues({ ...values, ...changed })
  }
  return (
    <Section
      title="What the workspace sends"
      description="Proposals go to the people who may decide, results to the person who connected the agent, alerts to owners, administrators and members who choose them."
    >
      <form
        onSubmit={event => {
          event.preventDefault()
          save.mutate(values)
        }}
      >
        <Stack gap="md">
          <Group gap="xl" align="flex-start">
            <TopicChoice
              label="By email"
              value={values.email_topics}
              onChange={topics => change({ email_topics: topics })}
            />
            <TopicChoice
              label="By webhook"
              value={values.webhook_topics}
              onChange={topics => change({ webhook_topics: topics })}
            />
          </Group>
          <NativeSelect
            label="At most one message"
            description="The first is sent within a minute; what happens until the next one is in one digest."
            maw="28rem"
            value={String(values.digest_minutes)}
            data={DIGEST_MINUTES.map(minutes => ({
              value: String(minutes),
              label: INTERVAL_LABELS[minutes],
            }))}
            onChange={({ currentTarget }) => {
              const minutes = DIGEST_MINUTES.find(each => String(each) === currentTarget.value)
              if (minutes) change({ digest_minutes: minutes })
            }}
          />
          {save.error && <ErrorNotice error={save.error} />}
          <Group gap="sm">
            <Button type="submit" loading={save.isPending}>
              Save
            </Button>
            <Text size="sm" c="dimmed" role="status">
              {save.isSuccess && 'Saved.'}
            </Text>
          </Group>
        </Stack>
      </form>
    </Section>
  )
}

interface TopicChoiceProps {
  label: string
  value: ChosenTopic[]
  onChange: (topics: ChosenTopic[]) => void
}

function TopicChoice({ label, value, onChange }: TopicChoiceProps) {
  return (
    <Checkbox.Group
      label={label}
      value={value}
      onChange={topics => onChange(topics as ChosenTopic[])}
    >
      <Stack gap="xs" mt="xs">
        {NOTIFICATION_TOPICS.map(topic => (
          <Checkbox key={topic} value={topic} label={TOPIC_LABELS[topic]} />
        ))}
      </Stack>
    </Checkbox.Group>
  )
}
