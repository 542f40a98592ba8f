import { Alert, Anchor, Button, Group, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { ErrorNotice } from '../components/error-notice.tsx'
import { useTrackerParams } from '../layout/scope.ts'
import { findEvents } from './event-queries.ts'

/**
 * An event ID, order, parent or trace ID that is typed or pasted: one event is opened, several are
 * listed, and for none the refusals are offered.
 */
export function EventSearch() {
  const params = useTrackerParams()
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const id = text.trim()
  const lookup = useMutation({
    mutationFn: (eventId: string) => findEvents(params, eventId),
    onSuccess: ({ events }) => {
      const [event, ...others] = events
      if (!event) return
      if (others.length > 0) {
        void navigate({
          to: '/w/$workspace/events',
          params: { workspace: params.workspace },
          search: { search: id },
        })
        return
      }
      void navigate({
        to: '/w/$workspace/events/$event',
        params: { workspace: params.workspace, event: event.id },
        search: event.space === 'publishable' ? { space: 'publishable' } : {},
      })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (id !== '') lookup.mutate(id)
  }
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          aria-label="Find an event by its ID"
          placeholder="Event ID, order, parent or trace ID"
          value={text}
          onChange={({ currentTarget }) => {
            setText(currentTarget.value)
            lookup.reset()
          }}
          autoComplete="off"
          spellCheck={false}
          maxLength={128}
          style={{ flex: '1 1 14rem', maxWidth: '32rem' }}
        />
        <Button type="submit" size="sm" loading={lookup.isPending}>
          Find
        </Button>
      </Group>
      <div aria-live="polite">
        {lookup.data?.events.length === 0 && (
          <UnknownEvent workspace={params.workspace} eventId={lookup.variables ?? id} />
        )}
        {lookup.error && <ErrorNotice error={lookup.error} />}
      </div>
    </form>
  )
}

/** An event that is not stored may have been refused. */
export function UnknownEvent({ workspace, eventId }: { workspace: string; eventId: string }) {
  const refusals = `/w/${workspace}/issues?event_id=${encodeURIComponent(eventId)}`
  return (
    <Alert variant="light" color="yellow" mt="sm" title="No stored event has this ID">
      The request may have been refused, or may never have arrived.{' '}
      <Anchor href={refusals} inherit underline="always">
        Look for it among the refusals
      </Anchor>
    </Alert>
  )
}
