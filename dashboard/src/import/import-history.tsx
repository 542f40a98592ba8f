import type { ImportView } from '@signalbox/contract/session/imports.ts'
import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Section } from '../components/facts.tsx'
import { formatNumber } from '../components/format-count.ts'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { Time } from '../components/time.tsx'
import { useTrackerParams } from '../layout/scope.ts'

/** The imports of the tracker, the latest first. */
export function ImportHistory() {
  const params = useTrackerParams()
  const { data, error, refetch } = useQuery({
    queryKey: ['imports', params],
    queryFn: ({ signal }) =>
      call('GET /workspaces/:workspace/trackers/:tracker/imports', { params, signal }),
  })
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <PageSkeleton />
  if (data.imports.length === 0) {
    return (
      <EmptyState title="No import yet">
        Files that are imported here are listed with the outcome of their rows.
      </EmptyState>
    )
  }
  return (
    <Section title="History">
      <DataTable label="Imports" columns={COLUMNS} rows={data.imports} rowKey={({ id }) => id} />
    </Section>
  )
}

const number = (key: 'stored' | 'duplicates' | 'refused', header: string): Column<ImportView> => ({
  key,
  header,
  align: 'right',
  cell: row => formatNumber(row[key]),
})

const COLUMNS: readonly Column<ImportView>[] = [
  { key: 'file', header: 'File', wrap: 'free', cell: ({ file_name }) => file_name },
  {
    key: 'started',
    header: 'Started',
    from: 'sm',
    wrap: 'whole',
    cell: ({ created_at }) => <Time at={created_at} format="absolute" />,
  },
  { ...number('stored', 'Stored') },
  { ...number('duplicates', 'Stored before'), from: 'md' },
  { ...number('refused', 'Refused') },
  {
    key: 'end',
    header: 'Ended',
    from: 'md',
    cell: ({ finished_at }) => (finished_at ? <Time at={finished_at} format="relative" /> : 'No'),
  },
]
