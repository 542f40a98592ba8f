import { Table } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Section } from '../components/facts.tsx'
import { ShowMore } from '../components/list-section.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { Time } from '../components/time.tsx'
import { receiptsQuery, type TrackerParams } from './privacy-api.ts'

/** The proof of each erasure, without a trace of the person. */
export function ReceiptList({ params }: { params: TrackerParams }) {
  const receipts = useInfiniteQuery(receiptsQuery(params))
  const rows = receipts.data?.pages.flatMap(page => page.receipts) ?? []
  if (receipts.error) {
    return <ErrorNotice error={receipts.error} onRetry={() => void receipts.refetch()} />
  }
  if (!receipts.data) return <PageSkeleton />
  if (rows.length === 0) {
    return (
      <EmptyState title="No receipts yet">
        Each erasure leaves a receipt here: its number, its times and how much was erased, but not
        of whom. Your server can erase people as well, with{' '}
        <span className="code">DELETE /api/v1/user-data</span>.
      </EmptyState>
    )
  }
  return (
    <Section
      title="Receipts"
      description="One for each digest, the newest first. A repeated erasure adds to its receipt."
    >
      <Table.ScrollContainer minWidth={640} tabIndex={0} type="native">
        <Table aria-label="Receipts">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Number</Table.Th>
              <Table.Th>First erased</Table.Th>
              <Table.Th>Last erased</Table.Th>
              <Table.Th ta="right">Requests</Table.Th>
              <Table.Th ta="right">Events</Table.Th>
              <Table.Th ta="right">Sessions</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(receipt => (
              <Table.Tr key={receipt.id}>
                <Table.Td className="code">{receipt.id}</Table.Td>
                <Table.Td>
                  <Time at={receipt.created_at} format="absolute" />
                </Table.Td>
                <Table.Td>
                  <Time at={receipt.completed_at} format="relative" />
                </Table.Td>
                <Table.Td ta="right">{receipt.requests}</Table.Td>
                <Table.Td ta="right">{receipt.events_updated}</Table.Td>
                <Table.Td ta="right">{receipt.sessions_updated}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <ShowMore list={receipts} label="Show older receipts" />
    </Section>
  )
}
