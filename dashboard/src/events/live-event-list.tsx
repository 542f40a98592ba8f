import { Alert, Badge, Button, Group, Stack, Text } from '@mantine/core'
import { useRef, useState } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { useTrackerParams } from '../layout/scope.ts'
import type { EventFilters } from './event-filters.ts'
import { EventTable } from './event-table.tsx'
import { type LiveConnection, useLiveEvents } from './use-live-events.ts'

/**
 * The newest events, as they arrive. They wait while the person has scrolled down, works in the
 * list with the keyboard, or has paused it, so that nothing moves under the eyes.
 */
export function LiveEventList({ filters }: { filters: EventFilters }) {
  const params = useTrackerParams()
  const list = useRef<HTMLDivElement>(null)
  const [isPaused, setPaused] = useState(false)
  const isHeld = () => isPaused || isReading(list.current)
  const { rows, connection, show } = useLiveEvents({ params, filters, isHeld })
  const { shown, waiting, added, hasLeftOut } = rows
  const pause = () => {
    if (isPaused) show()
    setPaused(!isPaused)
  }
  const showAll = () => {
    show()
    window.scrollTo({ top: 0 })
  }
  return (
    <Stack gap="md">
      <Group gap="sm">
        <ConnectionBadge connection={connection} isPaused={isPaused} />
        <Button variant="default" size="compact-sm" onClick={pause}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      </Group>
      {hasLeftOut && (
        <Alert variant="light" color="yellow" title="Some events are not shown">
          More events arrived at once than Live shows. Switch it off for the whole list.
        </Alert>
      )}
      <div className="live-bar" aria-live="polite">
        {waiting.length > 0 && (
          <Button size="compact-md" onClick={showAll}>
            {waiting.length === 1 ? 'Show 1 new event' : `Show ${waiting.length} new events`}
          </Button>
        )}
      </div>
      <div ref={list}>
        {shown.length > 0 && (
          <EventTable workspace={params.workspace} events={shown} added={added} />
        )}
      </div>
      {shown.length === 0 && connection === 'live' && (
        <EmptyState title="Waiting for events">
          New events appear here as they arrive
          {Object.keys(filters).length > 0 && ', if they match the filters'}.
        </EmptyState>
      )}
    </Stack>
  )
}

const CONNECTIONS: Record<LiveConnection, { text: string; color: string }> = {
  connecting: { text: 'Connecting', color: 'gray' },
  live: { text: 'Live', color: 'brand' },
  reconnecting: { text: 'Reconnecting', color: 'yellow' },
}

function ConnectionBadge({
  connection,
  isPaused,
}: {
  connection: LiveConnection
  isPaused: boolean
}) {
  const { text, color } = CONNECTIONS[connection]
  const isShownPaused = isPaused && connection === 'live'
  return (
    <Group gap="xs" role="status">
      <Badge variant="light" color={isShownPaused ? 'gray' : color} tt="none" size="lg" radius="sm">
        {isShownPaused ? 'Paused' : text}
      </Badge>
      {connection === 'reconnecting' && (
        <Text size="sm" c="dimmed">
          Events that arrive in the meantime follow.
        </Text>
      )}
    </Group>
  )
}

function isReading(list: HTMLElement | null): boolean {
  if (!list) return false
  const headerEnd = document.querySelector('header')?.getBoundingClientRect().bottom ?? 0
  const hasScrolled = list.getBoundingClientRect().top < headerEnd
  return hasScrolled || list.contains(document.activeElement)
}
