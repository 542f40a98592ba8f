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
import { type Column, DataTable } from '../components/data-table.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Facts, Section } from '../components/facts.tsx'
import { changeTopics, type SentTopics, useNotificationChange } from './notification-api.ts'

const INTERVAL_LABELS: Record<DigestMinutes, string> = {
  5: 'every 5 minutes',
  15: 'every 15 minutes',
  60: 'every hour',
  1440: 'every day',
}

const RECIPIENTS =
  'Proposals go to the people who may decide, results to the person who connected the agent, ' +
  'alerts to owners, administrators and members who choose them.'

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
    <Section title="What the workspace sends" description={RECIPIENTS}>
      <form
        onSubmit={event => {
          event.preventDefault()
          save.mutate(values)
        }}
      >
        <Stack gap="md">
          <TopicTable values={values} onChange={change} />
          <NativeSelect
            label="At most one message"
            description="The first within a minute; what follows until the next is one digest."
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

interface TopicTableProps {
  values: SentTopics
  onChange: (changed: Partial<SentTopics>) => void
}

/** A topic in each row, with a box for each way on which it can be sent. */
function TopicTable({ values, onChange }: TopicTableProps) {
  const columnOf = (
    key: 'email_topics' | 'webhook_topics',
    header: string,
  ): Column<ChosenTopic> => ({
    key,
    header,
    wrap: 'whole',
    cell: topic => (
      <Checkbox
        aria-label={`${header}: ${TOPIC_LABELS[topic]}`}
        checked={values[key].includes(topic)}
        onChange={({ currentTarget: { checked } }) => {
          const others = values[key].filter(each => each !== topic)
          onChange({ [key]: checked ? [...others, topic] : others })
        }}
      />
    ),
  })
  return (
    <DataTable
      label="Topics"
      columns={[
        { key: 'topic', header: 'Topic', cell: topic => TOPIC_LABELS[topic] },
        columnOf('email_topics', 'By email'),
        columnOf('webhook_topics', 'By webhook'),
      ]}
      rows={NOTIFICATION_TOPICS}
      rowKey={topic => topic}
    />
  )
}
