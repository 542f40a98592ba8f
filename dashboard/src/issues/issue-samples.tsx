import { Text } from '@mantine/core'
import type { DeliveryIssue, IssueSamples } from '@signalbox/contract/session/issues.ts'
import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { formatMoney } from '../components/format-count.ts'
import { WorkspaceLink } from '../components/links.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { Time } from '../components/time.tsx'
import { useTrackerParams } from '../layout/scope.ts'
import { ValueAtStake } from './issue-frame.tsx'

type Sample = IssueSamples['samples'][number]

/** Three events of a delivery issue, and what the platform said about each. */
export function DeliverySamples({ issue: { id } }: { issue: DeliveryIssue }) {
  const params = useTrackerParams()
  const { data, error, refetch } = useQuery({
    queryKey: ['issue-samples', params, id],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/issues/:issue/samples', {
        params: { ...params, issue: id },
        signal,
      }),
  })
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <PageSkeleton />
  return (
    <>
      {data.at_stake && (
        <ValueAtStake values={data.at_stake.values} isLowerBound={data.at_stake.is_lower_bound} />
      )}
      {data.samples.length === 0 ? (
        <Text size="sm">The latest events have expired.</Text>
      ) : (
        <DataTable
          label="Latest events"
          columns={columnsFor(params.workspace)}
          rows={data.samples}
          rowKey={({ event_id, space }) => `${space} ${event_id}`}
        />
      )}
    </>
  )
}

function columnsFor(workspace: string): readonly Column<Sample>[] {
  return [
    {
      key: 'event',
      header: 'Event',
      wrap: 'free',
      cell: ({ event_id, space }) => (
        <WorkspaceLink
          className="code"
          workspace={workspace}
          path={`events/${encodeURIComponent(event_id)}`}
          search={space === 'publishable' ? { space } : {}}
        >
          {event_id}
        </WorkspaceLink>
      ),
    },
    { key: 'name', header: 'Name', from: 'sm', cell: ({ event_name }) => event_name },
    {
      key: 'time',
      header: 'Time of the event',
      from: 'md',
      wrap: 'whole',
      cell: ({ event_time }) => <Time at={event_time} format="absolute" />,
    },
    {
      key: 'value',
      header: 'Value',
      align: 'right',
      from: 'sm',
      wrap: 'whole',
      cell: ({ value }) => (value ? formatMoney(value) : '–'),
    },
    {
      key: 'message',
      header: 'What the platform said',
      cell: ({ message, status }) => message ?? status,
    },
  ]
}
