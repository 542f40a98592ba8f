import { Button, Group, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, fieldErrorOf } from '../api/client.ts'
import { ErrorNotice } from '../components/error-notice.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { formatCount } from '../components/format-count.ts'
import { nameOf } from './destination-health.ts'
import { type DestinationProps, destinationsKey } from './queries.ts'

interface Change {
  name?: string | null
  paused?: boolean
}

function useChange({ params, status }: DestinationProps, onDone: () => void) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (body: Change) =>
      call('PATCH /workspaces/:workspace/trackers/:tracker/destinations/:destination', {
        params: { ...params, destination: status.destination.id },
        body,
      }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: destinationsKey(params) })
      onDone()
    },
  })
}

/** Pauses and disconnects after a question, resumes at once, and renames. */
export function ChangeActions(props: DestinationProps) {
  const [open, setOpen] = useState<'pause' | 'rename' | 'disconnect' | null>(null)
  const close = () => setOpen(null)
  const resume = useChange(props, close)
  const name = nameOf(props)
  return (
    <Group gap="sm">
      {resume.error && <ErrorNotice error={resume.error} />}
      {props.status.paused_at === null ? (
        <Button variant="default" aria-label={`Pause ${name}`} onClick={() => setOpen('pause')}>
          Pause
        </Button>
      ) : (
        <Button
          aria-label={`Resume ${name}`}
          loading={resume.isPending}
          onClick={() => resume.mutate({ paused: false })}
        >
          Resume
        </Button>
      )}
      <Button variant="default" aria-label={`Rename ${name}`} onClick={() => setOpen('rename')}>
        Rename
      </Button>
      <Button
        variant="default"
        aria-label={`Disconnect ${name}`}
        onClick={() => setOpen('disconnect')}
      >
        Disconnect
      </Button>
      {open === 'disconnect' && <DisconnectDialog {...props} onClose={close} />}
      {open === 'pause' && <PauseDialog {...props} onClose={close} />}
      {open === 'rename' && <RenameDialog {...props} onClose={close} />}
    </Group>
  )
}

type DialogProps = DestinationProps & { onClose: () => void }

function PauseDialog({ onClose, ...props }: DialogProps) {
  const pause = useChange(props, onClose)
  const { waiting, is_lower_bound: isLowerBound } = props.status.queue
  const count = `${isLowerBound ? 'At least ' : ''}${formatCount(waiting, 'event')}`
  return (
    <FormDialog
      title={`Pause ${nameOf(props)}?`}
      submitLabel="Pause"
      isPending={pause.isPending}
      error={pause.error}
      onSubmit={() => pause.mutate({ paused: true })}
      onClose={onClose}
    >
      <Text size="sm">
        New events are accepted and wait until a person resumes it; nothing else does. Requests that
        are being sent now are finished.{waiting > 0 && ` ${count} already waiting.`}
      </Text>
      <Text size="sm">
        Platforms refuse events that are too old, most of them after 7 days. What waits longer
        expires.
      </Text>
    </FormDialog>
  )
}

function DisconnectDialog({ onClose, ...props }: DialogProps) {
  const client = useQueryClient()
  const { params, status } = props
  const disconnect = useMutation({
    mutationFn: () =>
      call('DELETE /workspaces/:workspace/trackers/:tracker/destinations/:destination', {
        params: { ...params, destination: status.destination.id },
      }),
    onSuccess: async () => {
      onClose()
      await client.invalidateQueries({ queryKey: destinationsKey(params) })
    },
  })
  const { waiting } = status.queue
  return (
    <FormDialog
      isFinal
      title={`Disconnect ${nameOf(props)}?`}
      submitLabel="Disconnect"
      isPending={disconnect.isPending}
      error={disconnect.error}
      onSubmit={() => disconnect.mutate()}
      onClose={onClose}
    >
      <Text size="sm">
        It gets no new events, and this cannot be undone.
        {waiting > 0 && ` What waits for it is not sent: ${formatCount(waiting, 'event')}.`} Past
        events and reports stay. To stop for a while, pause it instead.
      </Text>
      <Text size="sm">
        The sealed token stays for erasures. Revoke it at the platform if nothing else uses it.
      </Text>
    </FormDialog>
  )
}

function RenameDialog({ onClose, ...props }: DialogProps) {
  const [name, setName] = useState(props.status.name ?? '')
  const rename = useChange(props, onClose)
  const nameError = fieldErrorOf(rename.error, 'name')
  const { platform, status } = props
  return (
    <FormDialog
      title="Rename the destination"
      submitLabel="Rename"
      isPending={rename.isPending}
      error={nameError ? null : rename.error}
      onSubmit={() => rename.mutate({ name: name.trim() === '' ? null : name })}
      onClose={onClose}
    >
      <TextInput
        data-autofocus
        label="Name"
        description={`Empty: ${platform?.label ?? status.destination.type} ${status.target}.`}
        maxLength={100}
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
        error={nameError}
      />
    </FormDialog>
  )
}
