import { Group, Stack, Text } from '@mantine/core'
import type { EventDetails } from '@signalbox/contract/session/events.ts'
import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { ApiError } from '../api/client.ts'
import { Copy } from '../components/copy.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { formatMoney } from '../components/format-count.ts'
import { PageLink } from '../components/links.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { StatusBadge } from '../components/status-badge.tsx'
import { Time } from '../components/time.tsx'
import { ConsentSection } from '../events/consent-section.tsx'
import { DeliveryComparison, DeliverySection } from '../events/delivery-section.tsx'
import { eventQuery } from '../events/event-queries.ts'
import { UnknownEvent } from '../events/event-search.tsx'
import { LineageSection } from '../events/lineage-section.tsx'
import { OrderSection } from '../events/order-section.tsx'
import { EventSection, IdentitySection, NotesSection } from '../events/received-section.tsx'
import { useCanManage, useTrackerParams } from '../layout/scope.ts'

/** One event: what happened to it first, then why. */
export function EventPage() {
  const { event: eventId } = useParams({ from: '/w/$workspace/tracker/events/$event' })
  const { space } = useSearch({ from: '/w/$workspace/tracker/events/$event' })
  const params = useTrackerParams()
  const { data, error, refetch } = useQuery(eventQuery(params, eventId, space))
  if (data) return <EventReport workspace={params.workspace} event={data} />
  if (!error) return <PageSkeleton />
  const isUnknown = error instanceof ApiError && error.status === 404
  return (
    <Page title="Event" description={<span className="code">{eventId}</span>}>
      {isUnknown ? (
        <UnknownEvent workspace={params.workspace} eventId={eventId} />
      ) : (
        <ErrorNotice error={error} onRetry={() => void refetch()} />
      )}
    </Page>
  )
}

function EventReport({ workspace, event }: { workspace: string; event: EventDetails }) {
  const canManage = useCanManage()
  const { deliveries } = event
  return (
    <Page
      title={event.event_name}
      description={<EventLine event={event} />}
      actions={
        <>
          <Copy text={event.id} label="Copy the ID" />
          <Copy text={curlCommand(event)} label="Copy as curl" />
        </>
      }
    >
      <Stack className="surface section" gap="sm">
        {deliveries.length === 1 && (
          <Group gap="xs">
            {deliveries.map(({ id, status, is_test }) => (
              <StatusBadge key={id} status={status} isTest={is_test} />
            ))}
          </Group>
        )}
        <Text size="lg" maw="46rem" aria-live="polite">
          {event.summary}
        </Text>
        {deliveries.length > 1 && <DeliveryComparison deliveries={deliveries} />}
        {event.is_in_both_spaces && <OtherSpace workspace={workspace} event={event} />}
      </Stack>
      {deliveries.map(delivery => (
        <DeliverySection key={delivery.id} delivery={delivery} canManage={canManage} />
      ))}
      <OrderSection workspace={workspace} event={event} />
      <ConsentSection event={event} />
      <NotesSection notes={event.notes} />
      <IdentitySection identity={event.identity} />
      <LineageSection workspace={workspace} event={event} />
      <EventSection event={event} />
    </Page>
  )
}

/** What people look for first; the section at the end has the rest. */
function EventLine({ event }: { event: EventDetails }) {
  const { id, order_id: order, value_amount: amount, value_currency: currency } = event
  return (
    <>
      <span className="code">{id}</span>
      {order !== null && order !== id && ` · order ${order}`}
      {amount !== null && ` · ${formatMoney({ amount, currency })}`} · received{' '}
      <Time at={event.created_at} />
    </>
  )
}

/** A page can send the ID of an order; both events are stored. */
function OtherSpace({ workspace, event }: { workspace: string; event: EventDetails }) {
  const isOfPage = event.space === 'publishable'
  return (
    <Text size="sm">
      {isOfPage ? 'A secret' : 'A publishable key'} sent an event with the same ID.{' '}
      <PageLink
        to="/w/$workspace/events/$event"
        params={{ workspace, event: event.id }}
        search={isOfPage ? {} : { space: 'publishable' }}
      >
        Open it
      </PageLink>
    </Text>
  )
}

/** The request that reads the event with the tracker's secret. */
function curlCommand({ id, space }: EventDetails): string {
  const query = space === 'publishable' ? '?space=publishable' : ''
  const url = `${location.origin}/api/v1/events/${encodeURIComponent(id)}${query}`
  return `curl -H "Authorization: Bearer $SECRET" '${url.replaceAll("'", '%27')}'`
}
