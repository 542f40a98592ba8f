import { Button, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { ConnectDialog } from '../destinations/connect-dialog.tsx'
import { DestinationCard } from '../destinations/destination-card.tsx'
import { destinationsQuery } from '../destinations/queries.ts'
import { useCanManage, useTrackerParams, useTrackers } from '../layout/scope.ts'

/** More are shown as a list, each with its details folded. */
const UNFOLDED_MAX = 2

/** Where the events of a tracker go, whether it works, and how to test it. */
export function DestinationsPage() {
  const params = useTrackerParams()
  const { tracker } = useTrackers()
  const canManage = useCanManage()
  const [isConnecting, setConnecting] = useState(false)
  const { data, error, refetch, dataUpdatedAt } = useQuery(destinationsQuery(params))
  const connect = canManage && data && (
    <Button onClick={() => setConnecting(true)}>Connect a destination</Button>
  )
  const hasAny = data !== undefined && data.destinations.length > 0
  return (
    <Page
      title="Destinations"
      description={`Where the events of ${tracker?.name ?? 'this tracker'} are sent.`}
      actions={hasAny && connect}
    >
      {error && !data && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <PageSkeleton />}
      {data && !hasAny && (
        <EmptyState title="No destination yet" action={connect}>
          Events are stored, but sent nowhere.{' '}
          {canManage
            ? 'Connect an advertising platform with its ID and an access token.'
            : 'Ask an owner or an administrator to connect an advertising platform.'}
        </EmptyState>
      )}
      <Stack gap="lg">
        {data?.destinations.map(status => (
          <DestinationCard
            key={status.destination.id}
            status={status}
            platform={data.platforms.find(({ type }) => type === status.destination.type)}
            isFolded={data.destinations.length > UNFOLDED_MAX}
            readAt={dataUpdatedAt}
            params={params}
          />
        ))}
      </Stack>
      {isConnecting && data && (
        <ConnectDialog
          params={params}
          platforms={data.platforms}
          onClose={() => setConnecting(false)}
        />
      )}
    </Page>
  )
}
