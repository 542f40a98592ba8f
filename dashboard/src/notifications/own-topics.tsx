import { Button, Checkbox, Group, Stack, Text } from '@mantine/core'
import { type ChosenTopic, TOPIC_LABELS } from '@signalbox/contract/session/notification-topics.ts'
import type { NotificationState } from '@signalbox/contract/session/notifications.ts'
import { useState } from 'react'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Section } from '../components/facts.tsx'
import { chooseOwnTopics, sendTestEmail, useNotificationChange } from './notification-api.ts'

/** What this person gets by email. Nobody else is affected. */
export function OwnTopicsSection({ topics }: { topics: NotificationState['own_topics'] }) {
  const [chosen, setChosen] = useState<ChosenTopic[]>(() =>
    topics.filter(({ is_wanted: isWanted }) => isWanted).map(({ topic }) => topic),
  )
  const save = useNotificationChange(chooseOwnTopics)
  const test = useNotificationChange<void, null>(sendTestEmail)
  return (
    <Section
      title="Your email"
      description="Only for you. Owners and administrators get alerts by default."
    >
      <form
        onSubmit={event => {
          event.preventDefault()
          save.mutate(chosen)
        }}
      >
        <Stack gap="sm">
          <Checkbox.Group
            aria-label="Emails to you"
            value={chosen}
            onChange={value => {
              save.reset()
              setChosen(value as ChosenTopic[])
            }}
          >
            <Stack gap="xs">
              {topics.map(({ topic, is_muted: isMuted }) => (
                <Checkbox
                  key={topic}
                  value={topic}
                  label={
                    isMuted ? `${TOPIC_LABELS[topic]} (off for the workspace)` : TOPIC_LABELS[topic]
                  }
                />
              ))}
            </Stack>
          </Checkbox.Group>
          {save.error && <ErrorNotice error={save.error} />}
          {test.error && <ErrorNotice error={test.error} />}
          <Group gap="sm">
            <Button type="submit" loading={save.isPending}>
              Save your choice
            </Button>
            <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
              Send me a test email
            </Button>
            <Text size="sm" c="dimmed" role="status">
              {save.isSuccess && 'Your choice is saved. '}
              {test.isSuccess && 'A test email is sent to you within a minute.'}
            </Text>
          </Group>
        </Stack>
      </form>
    </Section>
  )
}
