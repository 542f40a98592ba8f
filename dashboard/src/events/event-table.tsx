import { Group, Table, Text } from '@mantine/core'
import type { EventSummary } from '@signalbox/contract/session/events.ts'
import { PageLink } from '../components/links.tsx'
import { StatusBadge } from '../components/status-badge.tsx'
import { Time } from '../components/time.tsx'
import { EVENT_COLUMNS, type EventColumn, useEventColumns } from './event-list-tools.tsx'
import { eventKey } from './live-rows.ts'

interface EventTableProps {
  workspace: string
  events: readonly EventSummary[]
  /** Keys of rows that were just added. */
  added?: ReadonlySet<string>
}

/** Events, newest first. A phone shows the name, the ID, the time and the status. */
export function EventTable({ workspace, events, added }: EventTableProps) {
  const [columns] = useEventColumns()
  return (
    <div className="surface">
      <Table verticalSpacing={6} horizontalSpacing="md" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Event</Table.Th>
            <Table.Th>Status</Table.Th>
            {columns.map(column => (
              <Table.Th
                key={column}
                visibleFrom={column === 'received' || column === 'value' ? 'sm' : 'md'}
                {...(column === 'value' && { ta: 'right' })}
              >
                {EVENT_COLUMNS[column]}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {events.map(event => (
            <EventRow
              key={`${event.space} ${event.id} ${event.created_at}`}
              workspace={workspace}
              event={event}
              columns={columns}
              isAdded={added?.has(eventKey(event)) ?? false}
            />
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}

interface EventRowProps {
  workspace: string
  event: EventSummary
  columns: readonly EventColumn[]
  isAdded: boolean
}

function EventRow({ workspace, event, columns, isAdded }: EventRowProps) {
  return (
    <Table.Tr className={isAdded ? 'row-added' : ''}>
      <Table.Td>
        <PageLink
          to="/w/$workspace/events/$event"
          params={{ workspace, event: event.id }}
          search={event.space === 'publishable' ? { space: 'publishable' } : {}}
          fw={600}
        >
          {event.event_name}
        </PageLink>
        <Text className="code" c="dimmed">
          {event.id}
        </Text>
        <Text size="sm" c="dimmed" hiddenFrom="sm">
          <Time at={event.created_at} format="relative" />
        </Text>
      </Table.Td>
      <Table.Td>
        <EventStatuses event={event} />
      </Table.Td>
      {columns.map(column => (
        <EventCell key={column} column={column} event={event} />
      ))}
    </Table.Tr>
  )
}

function EventCell({ column, event }: { column: EventColumn; event: EventSummary }) {
  switch (column) {
    case 'order':
    case 'parent':
      return (
        <Table.Td visibleFrom="md" className="code">
          {column === 'order' ? event.order_id : event.parent_event_id}
        </Table.Td>
      )
    case 'value':
      return (
        <Table.Td visibleFrom="sm" ta="right" className="nowrap">
          {event.value_amount !== null && `${event.value_amount} ${event.value_currency ?? ''}`}
        </Table.Td>
      )
    case 'space':
      return (
        <Table.Td visibleFrom="md">{event.space === 'publishable' ? 'Page' : 'Back end'}</Table.Td>
      )
    case 'happened':
    case 'received':
      return (
        <Table.Td visibleFrom={column === 'received' ? 'sm' : 'md'} className="nowrap">
          <Time
            at={column === 'received' ? event.created_at : event.event_time}
            format="absolute"
          />
        </Table.Td>
      )
  }
}

function EventStatuses({ event }: { event: EventSummary }) {
  if (event.deliveries.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        ledger only
      </Text>
    )
  }
  return (
    <Group gap={4}>
      {event.deliveries.map(({ delivery_id, status, is_test }) => (
        <StatusBadge key={delivery_id} status={status} isTest={is_test} />
      ))}
    </Group>
  )
}
