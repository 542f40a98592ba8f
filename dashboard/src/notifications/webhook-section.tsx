import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { type Column, DataTable } from '../components/data-table.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Section } from '../components/facts.tsx'
import { Tag } from '../components/status-badge.tsx'
import { Time } from '../components/time.tsx'
import {
  enableWebhook,
  sendTestMessage,
  useNotificationChange,
  type WebhookState,
} from './notification-api.ts'
import { RemoveDialog, SecretRotationDialog, WebhookFormDialog } from './webhook-dialogs.tsx'

interface WebhookSectionProps {
  /** Null: the workspace has none. */
  webhook: WebhookState | null
  canChange: boolean
}

/** The webhook of the workspace with its last messages. Only its host is shown. */
export function WebhookSection({ webhook, canChange }: WebhookSectionProps) {
  const [open, setOpen] = useState<'set' | 'rotate' | 'remove' | null>(null)
  const close = () => setOpen(null)
  return (
    <Section
      title="Webhook"
      description={webhook ? FORMAT_TEXTS[webhook.format] : 'The workspace has no webhook.'}
      actions={
        canChange && (
          <Button size="sm" variant={webhook ? 'default' : 'filled'} onClick={() => setOpen('set')}>
            {webhook ? 'Replace the webhook' : 'Add a webhook'}
          </Button>
        )
      }
    >
      {webhook && (
        <Stack gap="sm">
          <WebhookFacts webhook={webhook} />
          {canChange && (
            <WebhookActions
              webhook={webhook}
              onRotate={() => setOpen('rotate')}
              onRemove={() => setOpen('remove')}
            />
          )}
        </Stack>
      )}
      {open === 'set' && <WebhookFormDialog webhook={webhook} onClose={close} />}
      {open === 'rotate' && <SecretRotationDialog onClose={close} />}
      {open === 'remove' && <RemoveDialog onClose={close} />}
    </Section>
  )
}

const FORMAT_TEXTS: Record<WebhookState['format'], string> = {
  standard: 'Messages are events in the form of Standard Webhooks.',
  text: 'Messages are texts, as Slack, Mattermost and Google Chat show them.',
}

function WebhookFacts({ webhook: { host, disabled, messages } }: { webhook: WebhookState }) {
  return (
    <>
      <Group gap="sm">
        <span>
          Requests go to <strong className="breakable">{host}</strong>
        </span>
        <Tag color={disabled ? 'gray' : 'brand'}>{disabled ? 'Off' : 'On'}</Tag>
      </Group>
      {disabled && (
        <Alert color="yellow" variant="light" title="Turned off after failures">
          <Time at={disabled.at} />: {disabled.problem}.
        </Alert>
      )}
      {messages.length > 0 && (
        <DataTable
          label="Last messages"
          columns={MESSAGE_COLUMNS}
          rows={messages}
          rowKey={({ id }) => id}
        />
      )}
    </>
  )
}

type Message = WebhookState['messages'][number]

const STATUSES: Record<Message['status'], { label: string; color: string }> = {
  pending: { label: 'Waiting', color: 'yellow' },
  sent: { label: 'Sent', color: 'brand' },
  failed: { label: 'Failed', color: 'red' },
}

const MESSAGE_COLUMNS: readonly Column<Message>[] = [
  {
    key: 'at',
    header: 'Message of',
    wrap: 'whole',
    cell: ({ created_at: at }) => <Time at={at} format="relative" />,
  },
  {
    key: 'status',
    header: 'Status',
    wrap: 'whole',
    cell: ({ status }) => <Tag color={STATUSES[status].color}>{STATUSES[status].label}</Tag>,
  },
  {
    key: 'attempts',
    header: 'Attempts',
    align: 'right',
    from: 'sm',
    cell: ({ attempts }) => attempts,
  },
  { key: 'problem', header: 'Last problem', wrap: 'free', cell: ({ problem }) => problem ?? '–' },
]

interface WebhookActionsProps {
  webhook: WebhookState
  onRotate: () => void
  onRemove: () => void
}

function WebhookActions({ webhook, onRotate, onRemove }: WebhookActionsProps) {
  const enable = useNotificationChange<void, null>(enableWebhook)
  const test = useNotificationChange<void, null>(sendTestMessage)
  const error = enable.error ?? test.error
  return (
    <>
      {error && <ErrorNotice error={error} />}
      <Group gap="sm">
        {webhook.disabled ? (
          <Button loading={enable.isPending} onClick={() => enable.mutate()}>
            Turn on
          </Button>
        ) : (
          <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Send a test message
          </Button>
        )}
        <Button variant="default" onClick={onRotate}>
          New signing secret
        </Button>
        <Button variant="default" onClick={onRemove}>
          Remove
        </Button>
        <Text size="sm" c="dimmed" role="status">
          {test.isSuccess && 'The message is sent within a minute.'}
        </Text>
      </Group>
    </>
  )
}
