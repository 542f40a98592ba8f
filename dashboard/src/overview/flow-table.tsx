import { Text } from '@mantine/core'
import type { EventFlow } from '@signalbox/contract/session/overview.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { formatDecimal, formatMoney, formatNumber } from '../components/format-count.ts'
import { PageLink } from '../components/links.tsx'
import {
  bandFilters,
  type FlowRow,
  formatPart,
  OTHER_NAMES,
  OUTCOME_TITLES,
  OUTCOMES,
  type Outcome,
} from './flow-model.ts'
import { describeReason } from './reason-texts.ts'

interface FlowTableProps {
  workspace: string
  flow: EventFlow
  rows: readonly FlowRow[]
  nameOf: (destinationId: string | null) => string
}

/** The numbers of the picture, with values and reasons: each destination with its event names. */
export function FlowTable({ workspace, flow, rows, nameOf }: FlowTableProps) {
  const shown = OUTCOMES.filter(
    outcome => outcome === 'accepted' || rows.some(({ counts }) => counts[outcome] > 0),
  )
  const columns: Column<FlowRow>[] = [
    { key: 'event', header: 'Event', wrap: 'free', cell: row => <EventName row={row} /> },
    { key: 'stored', header: 'Stored', align: 'right', cell: row => formatNumber(row.stored) },
    ...shown.flatMap((outcome): Column<FlowRow>[] => [
      {
        key: outcome,
        header: OUTCOME_TITLES[outcome],
        align: 'right',
        wrap: 'whole',
        ...(outcome !== 'accepted' && { from: 'md' }),
        cell: row => <OutcomeCount workspace={workspace} flow={flow} row={row} outcome={outcome} />,
      },
      ...(outcome === 'accepted' ? [RATE] : []),
    ]),
    ...(flow.by === 'event' ? [COUNTED] : []),
    VALUE,
  ]
  return (
    <DataTable
      label="Numbers of the flow"
      columns={columns}
      rows={rows}
      rowKey={({ destinationId, name }) => `${destinationId} ${name}`}
      groupOf={({ destinationId }) => nameOf(destinationId)}
    />
  )
}

/** Why some were not accepted stands below the name: the widest column has the longest text. */
function EventName({ row }: { row: FlowRow }) {
  return (
    <>
      <Text component="span" fw={600} size="sm" display="block">
        {row.name}
      </Text>
      <Text component="span" size="xs" c="dimmed">
        {describeReasons(row)}
      </Text>
    </>
  )
}

const COUNTED: Column<FlowRow> = {
  key: 'counted',
  header: 'Counted',
  align: 'right',
  wrap: 'whole',
  from: 'md',
  cell: ({ reported }) =>
    reported === null ? <span className="quiet">No report</span> : formatNumber(reported),
}

const RATE: Column<FlowRow> = {
  key: 'rate',
  header: 'Rate',
  align: 'right',
  wrap: 'whole',
  from: 'sm',
  cell: ({ counts, stored }) => (
    <span className="quiet">{formatPart(counts.accepted, stored)}</span>
  ),
}

const VALUE: Column<FlowRow> = {
  key: 'value',
  header: 'Value accepted',
  align: 'right',
  wrap: 'whole',
  from: 'sm',
  cell: ({ acceptedValues, storedValues }) =>
    storedValues.map(stored => {
      const own = acceptedValues.find(({ currency }) => currency === stored.currency)
      const [accepted, all] = [formatDecimal(own?.amount ?? '0'), formatMoney(stored)]
      const isAll = accepted === formatDecimal(stored.amount)
      return <div key={stored.currency}>{isAll ? all : `${accepted} of ${all}`}</div>
    }),
}

interface OutcomeProps extends Pick<FlowTableProps, 'workspace' | 'flow'> {
  row: FlowRow
  outcome: Outcome
}

function OutcomeCount({ workspace, flow, row, outcome }: OutcomeProps) {
  const { destinationId, name, counts } = row
  return (
    <Count
      workspace={workspace}
      count={counts[outcome]}
      search={bandFilters(flow, { destinationId, name, outcome })}
      isExact={outcome !== 'none' && name !== OTHER_NAMES}
    />
  )
}

interface CountProps {
  workspace: string
  count: number
  search: object
  isExact: boolean
}

function Count({ workspace, count, search, isExact }: CountProps) {
  if (count === 0) return <span className="quiet">0</span>
  if (!isExact) return <>{formatNumber(count)}</>
  return (
    <PageLink to="/w/$workspace/events" params={{ workspace }} search={search} inherit>
      {formatNumber(count)}
    </PageLink>
  )
}

const REASONS_SHOWN = 3

/** For example "3 failed: Refused by the platform; 1 held back: No consent signal". */
export function describeReasons({ reasons, counts }: Pick<FlowRow, 'reasons' | 'counts'>): string {
  const sorted = reasons.toSorted((a, b) => b.count - a.count)
  const texts = sorted.slice(0, REASONS_SHOWN).map(({ outcome, reason, count }) => {
    const title = OUTCOME_TITLES[outcome].toLowerCase()
    return `${formatNumber(count)} ${title}: ${describeReason(reason)}`
  })
  const rest = sorted.slice(REASONS_SHOWN).reduce((sum, { count }) => sum + count, 0)
  if (rest > 0) texts.push(`${formatNumber(rest)} for other reasons`)
  if (counts.none > 0) texts.push(`${formatNumber(counts.none)} kept without a delivery`)
  return texts.join('; ')
}
