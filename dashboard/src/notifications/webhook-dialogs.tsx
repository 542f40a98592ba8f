import { Anchor, NativeSelect, Text, TextInput } from '@mantine/core'
import type { WebhookFormat } from '@signalbox/contract/session/notification-topics.ts'
import { useState } from 'react'
import { fieldErrorOf, isShownByFields } from '../api/client.ts'
import { FormDialog, SecretDialog } from '../components/form-dialog.tsx'
import {
  removeWebhook,
  rotateSecret,
  setWebhook,
  useNotificationChange,
  type WebhookState,
} from './notification-api.ts'

interface DialogProps {
  onClose: () => void
}

const FORMATS: readonly { value: WebhookFormat; label: string }[] = [
  { value: 'standard', label: 'Events (Standard Webhooks)' },
  { value: 'text', label: 'Text messages (Slack, Mattermost, Google Chat)' },
]

/** Sets the webhook or replaces it, and shows its signing secret once. */
export function WebhookFormDialog({
  webhook,
  onClose,
}: DialogProps & { webhook: WebhookState | null }) {
  const [url, setUrl] = useState('')
  const [format, setFormat] = useState<WebhookFormat>(webhook?.format ?? 'standard')
  const save = useNotificationChange(setWebhook)
  if (save.data) return <IssuedSecret secret={save.data.signing_secret} onClose={onClose} />
  const urlError = fieldErrorOf(save.error, 'url')
  return (
    <FormDialog
      title={webhook ? 'Replace the webhook' : 'Add a webhook'}
      submitLabel={webhook ? 'Replace' : 'Add'}
      isSensitive
      isPending={save.isPending}
      error={isShownByFields(save.error, ['url', 'format']) ? null : save.error}
      onSubmit={() => save.mutate({ url, format })}
      onClose={onClose}
    >
      <TextInput
        data-autofocus
        label="URL"
        description="https and a public address. Stored encrypted; only its host is shown."
        autoComplete="off"
        spellCheck={false}
        value={url}
        onChange={({ currentTarget }) => setUrl(currentTarget.value)}
        error={urlError}
      />
      <NativeSelect
        label="Format"
        value={format}
        data={[...FORMATS]}
        onChange={({ currentTarget }) =>
          setFormat(FORMATS.find(({ value }) => value === currentTarget.value)?.value ?? 'standard')
        }
        error={fieldErrorOf(save.error, 'format')}
      />
    </FormDialog>
  )
}

/** Issues a new signing secret. The previous one signs as well for a day. */
export function SecretRotationDialog({ onClose }: DialogProps) {
  const rotate = useNotificationChange<void, { signing_secret: string }>(rotateSecret)
  if (rotate.data) return <IssuedSecret secret={rotate.data.signing_secret} onClose={onClose} />
  return (
    <FormDialog
      title="Issue a new signing secret?"
      submitLabel="Issue the secret"
      isSensitive
      isPending={rotate.isPending}
      error={rotate.error}
      onSubmit={() => rotate.mutate()}
      onClose={onClose}
    >
      <Text size="sm">
        For 24 hours, requests carry the signatures of both secrets, so that no message is lost
        while you change the receiver.
      </Text>
    </FormDialog>
  )
}

function IssuedSecret({ secret, onClose }: DialogProps & { secret: string }) {
  return (
    <SecretDialog
      title="The signing secret of the webhook"
      secret={secret}
      copyLabel="Copy the secret"
      onClose={onClose}
    >
      <Text size="sm">
        Verify the signature of every request with it, as{' '}
        <Anchor
          href="https://www.standardwebhooks.com/"
          target="_blank"
          rel="noreferrer"
          underline="always"
        >
          Standard Webhooks
        </Anchor>{' '}
        describes.
      </Text>
    </SecretDialog>
  )
}

export function RemoveDialog({ onClose }: DialogProps) {
  const remove = useNotificationChange<void, null>(removeWebhook, onClose)
  return (
    <FormDialog
      isFinal
      title="Remove the webhook?"
      submitLabel="Remove"
      isPending={remove.isPending}
      error={remove.error}
      onSubmit={() => remove.mutate()}
      onClose={onClose}
    >
      <Text size="sm">
        Messages that wait are not sent, and the URL with its signing secret is deleted.
      </Text>
    </FormDialog>
  )
}
