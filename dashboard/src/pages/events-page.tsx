import { Button, Group, Stack, Switch, Text } from '@mantine/core'
import type { EventSummary } from '@signalbox/contract/session/events.ts'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { firstEventCommand } from '../components/first-event-command.ts'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { ReplayButton } from '../components/replay.tsx'
import { Time } from '../components/time.tsx'
import { EventFilterForm } from '../events/event-filter-form.tsx'
import type { EventFilters } from '../events/event-filters.ts'
import { EventListTools } from '../events/event-list-tools.tsx'
import { eventsQuery } from '../events/event-queries.ts'
import { EventSearch } from '../events/event-search.tsx'
import { EventTable } from '../events/event-table.tsx'
import { LiveEventList } from '../events/live-event-list.tsx'
import { useCanManage, useTrackerParams } from '../layout/scope.ts'

/** The events of a tracker: one by its ID, or a list by its filters. */
export function EventsPage() {
  const { live, ...filters } = useSearch({ from: '/w/$workspace/tracker/events' })
  return (
    <Page
      title="Events"
      description="Received events, newest first, and what happened to each of them."
      actions={<LiveSwitch isLive={live !== undefined} filters={filters} />}
    >
      <EventSearch />
      <div className="event-bar">
        <EventFilterForm key={JSON.stringify(filters)} filters={filters} />
        <EventListTools filters={filters} />
      </div>
      {filters.search && (
        <Text size="sm">
          Events with the ID, order, parent or trace ID{' '}
          <span className="code">{filters.search}</span>
        </Text>
      )}
      {live ? (
        <LiveEventList key={JSON.stringify(filters)} filters={filters} />
      ) : (
        <EventList filters={filters} />
      )}
    </Page>
  )
}

function LiveSwitch({ isLive, filters }: { isLive: boolean; filters: EventFilters }) {
  const { workspace } = useTrackerParams()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  return (
    <Switch
      label="Live"
      checked={isLive}
      onChange={({ currentTarget }) => {
        const live = currentTarget.checked ? ('on' as const) : undefined
        const search = { ...filters, live }
        // The list from before Live would lack what Live has shown.
        queryClient.removeQueries({ queryKey: ['events'] })
        void navigate({ to: '/w/$workspace/events', params: { workspace }, search })
      }}
    />
  )
}

/** A search that finds nothing goes on by itself for this many pages of ten thousand rows. */
const EMPTY_PAGES_MAX = 10

function EventList({ filters }: { filters: EventFilters }) {
  const params = useTrackerParams()
  const canManage = useCanManage()
  const list = useInfiniteQuery(eventsQuery(params, filters))
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = list
  const pages = data?.pages ?? []
  const events = pages.flatMap(page => page.events)
  const goesOn = events.length === 0 && hasNextPage && pages.length < EMPTY_PAGES_MAX
  useEffect(() => {
    if (goesOn && !isFetchingNextPage) void fetchNextPage()
  }, [goesOn, isFetchingNextPage, fetchNextPage])
  if (error && !data) return <ErrorNotice error={error} onRetry={() => void list.refetch()} />
  if (!data) return <PageSkeleton />
  const searchedUntil = pages.at(-1)?.searched_until ?? null
  const replay = canManage ? replayOf(filters, events) : null
  return (
    <Stack gap="md">
      <Group>
        <ReplayButton selection={replay?.selection ?? null} label={replay?.label ?? ''} />
      </Group>
      {events.length > 0 && <EventTable workspace={params.workspace} events={events} />}
      {events.length === 0 && !hasNextPage && <NoEvents filters={filters} />}
      <Group gap="md" aria-live="polite">
        {searchedUntil && (
          <Text size="sm" c="dimmed">
            Searched back to <Time at={searchedUntil} format="absolute" />.
          </Text>
        )}
        {hasNextPage && (
          <Button
            variant="default"
            loading={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
          >
            {searchedUntil ? 'Search older events' : 'Show more'}
          </Button>
        )}
      </Group>
      {error && <ErrorNotice error={error} onRetry={() => void fetchNextPage()} />}
    </Stack>
  )
}

const REPLAYED_EVENTS_MAX = 100

/**
 * A list of failures can be replayed: as a whole when a replay knows its filters, else the events
 * that it shows.
 */
function replayOf(filters: EventFilters, events: readonly EventSummary[]) {
  const { status = '', name, ...others } = filters
  if (!status.startsWith('failed') || events.length === 0) return null
  const statuses = status === 'failed' ? {} : { statuses: [status as 'failed:auth'] }
  if (Object.keys(others).length === 0) {
    const selection = { ...statuses, ...(name && { event_name: name }), limit: 10_000 }
    return { selection, label: 'Replay all of them' }
  }
  const ids = [...new Set(events.map(({ id }) => id))].slice(0, REPLAYED_EVENTS_MAX)
  const label = ids.length === 1 ? 'Replay this event' : `Replay the first ${ids.length}`
  return { selection: { ...statuses, event_ids: ids }, label }
}

function NoEvents({ filters }: { filters: EventFilters }) {
  if (Object.keys(filters).length > 0) {
    return <EmptyState title="No event matches">Remove a filter, or widen the time.</EmptyState>
  }
  return (
    <EmptyState title="No event yet" command={firstEventCommand()}>
      Send the first one with the secret of this tracker.
    </EmptyState>
  )
}
