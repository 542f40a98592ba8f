import { Text } from '@mantine/core'
import type { EventFlow } from '@signalbox/contract/session/overview.ts'
import { formatCount, formatNumber } from '../components/format-count.ts'
import { PageLink } from '../components/links.tsx'
import { bandFilters, type FlowRow, formatValues, listRows } from './flow-model.ts'
import { describeReasons } from './flow-table.tsx'

const PURCHASE = 'Purchase'

interface AnswerProps {
  workspace: string
  /** Of yesterday, by the day of the event. */
  flow: EventFlow
  destinations: readonly string[]
  nameOf: (destinationId: string | null) => string
}

/** Did yesterday's purchases reach each platform, and if not, why? */
export function PurchaseAnswer({ workspace, flow, destinations, nameOf }: AnswerProps) {
  const rows = listRows(flow, destinations).filter(({ name }) => name === PURCHASE)
  return (
    <section className="surface purchase-answer" aria-label="Purchases of yesterday">
      {rows.length === 0 && (
        <Text size="sm">No purchase of yesterday ({flow.from}, UTC) was received.</Text>
      )}
      {rows.map(row => (
        <Answer key={row.destinationId} row={row} nameOf={nameOf}>
          <PageLink
            to="/w/$workspace/events"
            params={{ workspace }}
            search={bandFilters(flow, { destinationId: row.destinationId, name: PURCHASE })}
            inherit
            underline="always"
          >
            {formatCount(row.stored, 'purchase')} of yesterday
          </PageLink>
        </Answer>
      ))}
      {flow.uncounted > 0 && (
        <Text size="sm" c="dimmed">
          {formatCount(flow.uncounted, 'event')} arrived since the last count and may be of
          yesterday.
        </Text>
      )}
    </section>
  )
}

interface RowAnswerProps {
  row: FlowRow
  nameOf: AnswerProps['nameOf']
  children: React.ReactNode
}

function Answer({ row, nameOf, children }: RowAnswerProps) {
  const { destinationId, stored, counts, reported, acceptedValues } = row
  const name = nameOf(destinationId)
  const isWhole = counts.accepted === stored
  const why = describeReasons(row)
  return (
    <div className="purchase-line" data-kind={isWhole ? 'accepted' : 'waiting'}>
      <Text>
        <strong>{name}</strong> accepted{' '}
        <strong>
          {isWhole ? 'all' : formatNumber(counts.accepted)} of {children}
        </strong>
        {acceptedValues.length > 0 && ` (${formatValues(acceptedValues)})`}.{' '}
        {why !== '' && `${why}. `}
        {counts.test > 0 && `${formatNumber(counts.test)} in test mode. `}
        {reported !== null && `It counted ${formatNumber(reported)}.`}
        {reported === null && counts.accepted > 0 && 'There is no report of the day.'}
      </Text>
    </div>
  )
}
