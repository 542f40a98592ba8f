import { Button, Checkbox, Group, Table, Text } from '@mantine/core'
import type { PageWithdrawal } from '@signalbox/contract/withdrawals.ts'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Section } from '../components/facts.tsx'
import { ShowMore } from '../components/list-section.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { Time } from '../components/time.tsx'
import { LiftDialog } from './lift-dialog.tsx'
import { type TrackerParams, withdrawalsQuery } from './privacy-api.ts'

interface WithdrawalListProps {
  params: TrackerParams
  canLift: boolean
}

/** Withdrawals of consent that pages sent, to lift those that visitors did not send. */
export function WithdrawalList({ params, canLift }: WithdrawalListProps) {
  const withdrawals = useInfiniteQuery(withdrawalsQuery(params))
  const [selected, setSelected] = useState<readonly string[]>([])
  const [isLifting, setLifting] = useState(false)
  const rows = withdrawals.data?.pages.flatMap(page => page.withdrawals) ?? []
  if (withdrawals.error) {
    return <ErrorNotice error={withdrawals.error} onRetry={() => void withdrawals.refetch()} />
  }
  if (!withdrawals.data) return <PageSkeleton />
  if (rows.length === 0) {
    return (
      <EmptyState title="No withdrawals from pages">
        When a visitor refuses in the banner of a page, the tag sends a withdrawal. It is listed
        here. A withdrawal of your server counts for good and is not listed.
      </EmptyState>
    )
  }
  const toggle = (id: string) =>
    setSelected(ids => (ids.includes(id) ? ids.filter(one => one !== id) : [...ids, id]))
  return (
    <Section
      title="Withdrawals from pages"
      description={
        'One for each visitor, the latest first. Anyone can copy the key of a page: ' +
        'lift what your visitors did not send, and what it stopped is sent.'
      }
    >
      <Table.ScrollContainer minWidth={canLift ? 760 : 720} tabIndex={0} type="native">
        <Table aria-label="Withdrawals from pages">
          <Table.Thead>
            <Table.Tr>
              {canLift && <Table.Th>Select</Table.Th>}
              <Table.Th>Visitor</Table.Th>
              <Table.Th>Withdrawn</Table.Th>
              <Table.Th>Page</Table.Th>
              <Table.Th>Reaches</Table.Th>
              <Table.Th>State</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(row => (
              <Table.Tr key={row.id}>
                {canLift && (
                  <Table.Td>
                    {row.lifted_at === null && (
                      <Checkbox
                        aria-label={`Select the withdrawal of ${row.visitor_id}`}
                        checked={selected.includes(row.id)}
                        onChange={() => toggle(row.id)}
                      />
                    )}
                  </Table.Td>
                )}
                <Table.Td className="code">{row.visitor_id}</Table.Td>
                <Table.Td>
                  <Time at={row.withdrawn_at} format="relative" />
                </Table.Td>
                <Table.Td>{row.origin ?? 'Unknown'}</Table.Td>
                <Table.Td>{describeReach(row)}</Table.Td>
                <Table.Td>
                  <WithdrawalState withdrawal={row} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Group>
        {canLift && (
          <Button
            size="compact-sm"
            disabled={selected.length === 0}
            onClick={() => setLifting(true)}
          >
            Lift {selected.length === 0 ? '' : `${selected.length} `}selected…
          </Button>
        )}
        <ShowMore list={withdrawals} label="Show earlier withdrawals" />
      </Group>
      {isLifting && (
        <LiftDialog
          params={params}
          ids={selected}
          onClose={isLifted => {
            setLifting(false)
            if (isLifted) setSelected([])
          }}
        />
      )}
    </Section>
  )
}

function describeReach({ platform, ...withdrawal }: PageWithdrawal): string {
  const events = describeEvents(withdrawal)
  return platform === null ? events : `${events}, to ${platform} only`
}

function describeEvents({
  reaches,
  identifiers,
}: Pick<PageWithdrawal, 'reaches' | 'identifiers'>): string {
  if (reaches === 'page_events') return 'Events of pages'
  if (identifiers === 0) return 'All events of the visitor'
  return `All events of the visitor and of ${identifiers} identifier${identifiers === 1 ? '' : 's'}`
}

function WithdrawalState({ withdrawal }: { withdrawal: PageWithdrawal }) {
  const { lifted_at, lift_reason } = withdrawal
  if (lifted_at === null) return 'In force'
  return (
    <>
      Lifted <Time at={lifted_at} format="relative" />
      <Text size="sm" c="dimmed">
        {lift_reason}
      </Text>
    </>
  )
}
