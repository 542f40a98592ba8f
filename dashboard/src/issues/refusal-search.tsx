import { Button, Group, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { WorkspaceLink } from '../components/links.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { useTrackerParams } from '../layout/scope.ts'
import { refusalsQuery } from './issue-queries.ts'
import { RefusalList } from './refusal-list.tsx'

/** Looks for an event ID among the refused requests; the ID is part of the address. */
export function RefusalSearch({ eventId }: { eventId: string | undefined }) {
  const navigate = useNavigate()
  const [text, setText] = useState(eventId ?? '')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const id = text.trim()
    const change = (before: object) => ({ ...before, event_id: id === '' ? undefined : id })
    void navigate({ to: '.', search: change } as never)
  }
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Find a refused event by its ID"
          placeholder="order-1001"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          maxLength={128}
          style={{ flex: '1 1 14rem', maxWidth: '32rem' }}
        />
        <Button type="submit" variant="default">
          Find
        </Button>
      </Group>
    </form>
  )
}

/** The refusals of one event ID. */
export function RefusalsOfEvent({ eventId }: { eventId: string }) {
  const params = useTrackerParams()
  const { data, error, refetch } = useQuery(refusalsQuery(params, { event_id: eventId }))
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <PageSkeleton />
  if (data.refusals.length > 0) return <RefusalList refusals={data.refusals} />
  return (
    <EmptyState title="No refused request is known with this ID">
      Refusals of the last 30 days are searched, and of each cause and hour the latest three IDs.
      Look at the causes below, or{' '}
      <WorkspaceLink
        workspace={params.workspace}
        path={`events/${encodeURIComponent(eventId)}`}
        inherit
        underline="always"
      >
        open the event
      </WorkspaceLink>{' '}
      if it arrived since. Otherwise the request did not reach this service: check the sender's log
      for its answer.
    </EmptyState>
  )
}
