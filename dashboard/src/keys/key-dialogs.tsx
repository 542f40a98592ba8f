import { List, Text, Textarea } from '@mantine/core'
import type { IssuedTrackerKey, TrackerKey } from '@signalbox/contract/session/keys.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../api/client.ts'
import { FormDialog, SecretDialog } from '../components/form-dialog.tsx'
import { Time } from '../components/time.tsx'
import {
  issueKey,
  type KeyKind,
  keysOf,
  revokeKey,
  rotateKey,
  type TrackerParams,
} from './key-api.ts'
import type { KeyIntent } from './key-section.tsx'

interface DialogProps {
  params: TrackerParams
  intent: KeyIntent
  onClose: () => void
}

/** Asks before a key is issued, rotated or revoked, and shows a new key once. */
export function KeyDialog(props: DialogProps) {
  const { intent } = props
  switch (intent.action) {
    case 'issue':
      return <IssueDialog {...props} kind={intent.kind} />
    case 'rotate':
      return <RotateDialog {...props} current={intent.key} />
    case 'revoke':
      return <RevokeDialog {...props} current={intent.key} />
  }
}

const KIND_NAMES: Record<KeyKind, string> = {
  tracker_secret: 'tracker secret',
  publishable: 'publishable key',
  forwarding: 'forwarding secret',
}

/** Runs a change and reads the list of keys again. */
function useKeyChange<Answer, Input = void>(
  params: TrackerParams,
  change: (input: Input) => Promise<Answer>,
) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSettled: () => client.invalidateQueries({ queryKey: keysOf(params) }),
  })
}

function IssueDialog({ params, kind, onClose }: DialogProps & { kind: KeyKind }) {
  const [origins, setOrigins] = useState('')
  const issue = useKeyChange(params, () => {
    const lines = origins.split(/\s+/).filter(line => line !== '')
    return issueKey(params, kind === 'publishable' ? { kind, origins: lines } : { kind })
  })
  if (issue.data) return <IssuedDialog issued={issue.data} onClose={onClose} />
  const invalid = issue.error instanceof ApiError ? Object.values(issue.error.errors).flat() : []
  return (
    <FormDialog
      title={`Issue a ${KIND_NAMES[kind]}`}
      submitLabel="Issue the key"
      isPending={issue.isPending}
      error={kind === 'publishable' && invalid.length > 0 ? null : issue.error}
      onSubmit={() => issue.mutate()}
      onClose={onClose}
    >
      {kind === 'publishable' && (
        <Textarea
          label="Origins of your pages"
          description="One a line, such as https://shop.example or https://*.shop.example."
          autosize
          minRows={3}
          spellCheck={false}
          value={origins}
          onChange={event => setOrigins(event.currentTarget.value)}
          error={invalid.length > 0 && invalid.join(' ')}
          data-autofocus
        />
      )}
    </FormDialog>
  )
}

function RotateDialog({ params, current, onClose }: DialogProps & { current: TrackerKey }) {
  const rotate = useKeyChange(params, () => rotateKey(params, current.id))
  if (rotate.data) {
    return <IssuedDialog issued={rotate.data} replaces={current} onClose={onClose} />
  }
  return (
    <FormDialog
      title={`Rotate the key …${current.last_characters}`}
      submitLabel="Issue the second key"
      isPending={rotate.isPending}
      error={rotate.error}
      onSubmit={() => rotate.mutate()}
      onClose={onClose}
    >
      <Text>
        Signalbox issues a second {KIND_NAMES[current.kind]}
        {current.kind === 'publishable' && ' with the same origins'}. Both are valid until you
        revoke this one, so no event is lost.
      </Text>
    </FormDialog>
  )
}

interface IssuedDialogProps {
  issued: IssuedTrackerKey
  /** The key that the new one replaces. */
  replaces?: TrackerKey
  onClose: () => void
}

/** The only moment at which a key is shown. */
function IssuedDialog({ issued, replaces, onClose }: IssuedDialogProps) {
  return (
    <SecretDialog
      title={`Your new ${KIND_NAMES[issued.key.kind]}`}
      secret={issued.token}
      copyLabel="Copy the key"
      onClose={onClose}
    >
      {replaces && (
        <List type="ordered" size="sm" spacing="xs">
          <List.Item>Put the new key where …{replaces.last_characters} is in use.</List.Item>
          <List.Item>
            Wait until the last use of …{replaces.last_characters} on this page stops changing.
          </List.Item>
          <List.Item>Revoke …{replaces.last_characters}.</List.Item>
        </List>
      )}
    </SecretDialog>
  )
}

function RevokeDialog({ params, current, onClose }: DialogProps & { current: TrackerKey }) {
  const revoke = useKeyChange(params, async () => {
    await revokeKey(params, current.id)
    onClose()
  })
  return (
    <FormDialog
      title={`Revoke the key …${current.last_characters}?`}
      submitLabel="Revoke the key"
      isFinal
      isPending={revoke.isPending}
      error={revoke.error}
      onSubmit={() => revoke.mutate()}
      onClose={onClose}
    >
      <Text>
        Requests with this {KIND_NAMES[current.kind]} get 401 within half a second. This cannot be
        undone.
      </Text>
      <Text>
        {current.last_used_at ? (
          <>
            It was last used <Time at={current.last_used_at} format="relative" />.
          </>
        ) : (
          'It was never used.'
        )}
      </Text>
    </FormDialog>
  )
}
