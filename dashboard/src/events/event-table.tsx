import { Group, Text } from '@mantine/core'
import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { EventSummary } from '@signalbox/contract/session/events.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { formatMoney, formatNumber } from '../components/format-count.ts'
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

/** Events, newest first. A narrow screen shows the name, the ID, the time and the status. */
export function EventTable({ workspace, events, added }: EventTableProps) {
  const [chosen] = useEventColumns()
  const columns: Column<EventSummary>[] = [
    {
      key: 'event',
      header: 'Event',
      wrap: 'free',
      cell: event => <EventName workspace={workspace} event={event} />,
    },
    {
      key: 'status',
      header: 'Status',
      wrap: 'whole',
      cell: event => <EventStatuses event={event} />,
    },
    ...chosen.map(toColumn),
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

function toColumn(key: EventColumn): Column<EventSummary> {
  const header = EVENT_COLUMNS[key]
  switch (key) {
    case 'order':
    case 'parent':
      return {
        key,
        header,
        wrap: 'whole',
        from: 'lg',
        cell: event => {
          const id = key === 'order' ? event.order_id : event.parent_event_id
          return id && <span className="code">{id}</span>
        },
      }
    case 'value':
      return {
        key,
        header,
        align: 'right',
        wrap: 'whole',
        from: 'sm',
        cell: ({ value_amount: amount, value_currency: currency }) =>
          amount !== null && formatMoney({ amount, currency }),
      }
    case 'space':
      return {
        key,
        header,
        wrap: 'whole',
        from: 'lg',
        cell: ({ space }) => (space === 'publishable' ? 'Page' : 'Back end'),
      }
    case 'happened':
    case 'received':
      return {
        key,
        header,
        wrap: 'whole',
        from: 'md',
        cell: event => (
          <Time at={key === 'received' ? event.created_at : event.event_time} format="absolute" />
        ),
      }
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
    <Group gap={4} className="statuses">
      {groupStatuses(event.deliveries).map(({ status, isTest, count }) => (
        <StatusBadge key={`${status} ${isTest}`} status={status} isTest={isTest}>
          {count > 1 && `${formatNumber(count)} `}
        </StatusBadge>
      ))}
    </Group>
  )
}

interface StatusGroup {
  status: DeliveryStatus
  isTest: boolean
  count: number
}

/** Equal statuses of several destinations once, with their number, so that a row stays a line. */
function groupStatuses(deliveries: EventSummary['deliveries']): StatusGroup[] {
  const groups = new Map<string, StatusGroup>()
  for (const { status, is_test: isTest } of deliveries) {
    const key = `${status} ${isTest}`
    const count = (groups.get(key)?.count ?? 0) + 1
    groups.set(key, { status, isTest, count })
  }
  return [...groups.values()].sort((a, b) => rankOf(a.status) - rankOf(b.status))
}

/** What needs a person first. */
function rankOf(status: DeliveryStatus): number {
  const [kind] = status.split(':')
  return kind === 'failed' ? 0 : kind === 'skipped' || kind === 'expired' ? 2 : 1
}
