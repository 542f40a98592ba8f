import { Alert, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { Countdown } from '../components/countdown.tsx'
import { PageLink } from '../components/links.tsx'
import { destinationsKey, type TrackerParams, testModesQuery } from '../destinations/queries.ts'
import { useTrackers, useWorkspace } from './scope.ts'

/** On every page while a destination is in test mode: forgotten test mode loses conversions. */
export function TestModeBanner() {
  const { id: workspace } = useWorkspace()
  const { tracker } = useTrackers()
  return tracker && <Banner params={{ workspace, tracker: tracker.id }} />
}

function Banner({ params }: { params: TrackerParams }) {
  const client = useQueryClient()
  const { data, dataUpdatedAt } = useQuery(testModesQuery(params))
  const { workspace, tracker } = params
  const refresh = useCallback(() => {
    void client.invalidateQueries({ queryKey: destinationsKey({ workspace, tracker }) })
  }, [client, workspace, tracker])
  return data?.test_modes.map(({ destination_id: id, target, seconds_left: seconds }) => (
    <Alert key={id} role="status" color="yellow" variant="light" mb="md" title="Test mode is on">
      <Text size="sm">
        The platform does not count new events for <span className="code">{target}</span>. Test mode
        turns off by itself in <Countdown seconds={seconds} since={dataUpdatedAt} onEnd={refresh} />
        .{' '}
        <PageLink to="/w/$workspace/destinations" params={{ workspace }} underline="always">
          Open the destination
        </PageLink>
      </Text>
    </Alert>
  ))
}
