import { Group, Text } from '@mantine/core'
import type { EventSummary } from '@signalbox/contract/session/events.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { PageLink } from '../components/links.tsx'
import { StatusBadge } from '../components/status-badge.tsx'
import { Time } from '../components/time.tsx'
import { eventKey } from './live-rows.ts'

interface EventTableProps {
  workspace: string
  events: readonly EventSummary[]
  /** Keys of rows that were just added. */
  added?: ReadonlySet<string>
}

/** Events, newest first. A narrow screen shows the name, the ID, the time and the status. */
export function EventTable({ workspace, events, added }: EventTableProps) {
  const columns: Column<EventSummary>[] = [
    {
      key: 'event',
      header: 'Event',
      wrap: 'free',
      cell: event => <EventName workspace={workspace} event={event} />,
    },
    ...COLUMNS,
  ]
  return (
    <DataTable
      label="Events"
      columns={columns}
      rows={events}
      rowKey={event => `${event.space} ${event.id} ${event.created_at}`}
      rowClass={event => (added?.has(eventKey(event)) ? 'row-added' : '')}
    />
  )
}

const COLUMNS: readonly Column<EventSummary>[] = [
  {
    key: 'status',
    header: 'Status',
    wrap: 'whole',
    cell: event => <EventStatuses event={event} />,
  },
  {
    key: 'order',
    header: 'Order',
    wrap: 'whole',
    from: 'lg',
    cell: ({ order_id }) => order_id && <span className="code">{order_id}</span>,
  },
  {
    key: 'value',
    header: 'Value',
    align: 'right',
    wrap: 'whole',
    from: 'sm',
    cell: ({ value_amount: amount, value_currency: currency }) =>
      amount !== null && `${amount} ${currency ?? ''}`,
  },
  {
    key: 'received',
    header: 'Received',
    wrap: 'whole',
    from: 'md',
    cell: ({ created_at }) => <Time at={created_at} format="absolute" />,
  },
]

/** Name and ID in one line where there is room; the time has a column of its own then. */
function EventName({ workspace, event }: { workspace: string; event: EventSummary }) {
  return (
    <div className="event-name">
      <PageLink
        to="/w/$workspace/events/$event"
        params={{ workspace, event: event.id }}
        search={event.space === 'publishable' ? { space: 'publishable' } : {}}
        fw={600}
      >
        {event.event_name}
      </PageLink>
      <span className="code quiet">{event.id}</span>
      <Text span size="sm" c="dimmed" hiddenFrom="md">
        <Time at={event.created_at} format="relative" />
      </Text>
    </div>
  )
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
