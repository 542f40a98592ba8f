import { Button, Group } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { ErrorNotice } from '../components/error-notice.tsx'
import { destinationsQuery } from '../destinations/queries.ts'
import { useCanManage, useTrackerParams } from '../layout/scope.ts'

interface MakeReportProps {
  /** UTC day, YYYY-MM-DD. */
  day: string
  label: string
  /** Of one destination; of all, one after the other, when left out. */
  destinationId?: string
}

/** Makes the report of a day now, with what both sides know. */
export function MakeReport({ day, label, destinationId }: MakeReportProps) {
  const params = useTrackerParams()
  const client = useQueryClient()
  const canManage = useCanManage()
  const { data } = useQuery({ ...destinationsQuery(params), refetchInterval: false })
  const ids = destinationId
    ? [destinationId]
    : (data?.destinations ?? []).map(({ destination }) => destination.id)
  const making = useMutation({
    async mutationFn() {
      for (const destination_id of ids) {
        await call('POST /workspaces/:workspace/trackers/:tracker/reports/reconciliation', {
          params,
          body: { date: day, destination_id },
        })
      }
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['reconciliation', params.tracker] }),
  })
  if (!canManage) return null
  return (
    <Group gap="sm">
      <Button
        variant="default"
        size="xs"
        loading={making.isPending}
        disabled={ids.length === 0}
        onClick={() => making.mutate()}
      >
        {label}
      </Button>
      {making.error && <ErrorNotice error={making.error} />}
    </Group>
  )
}
