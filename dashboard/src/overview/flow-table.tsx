import { Table, Text } from '@mantine/core'
import type { EventFlow } from '@signalbox/contract/session/overview.ts'
import { formatNumber } from '../components/format-count.ts'
import { PageLink } from '../components/links.tsx'
import {
  bandFilters,
  type FlowRow,
  formatPart,
  formatValues,
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

/** The numbers of the picture, with values and reasons: a row for each destination and name. */
export function FlowTable({ workspace, flow, rows, nameOf }: FlowTableProps) {
  const shown = OUTCOMES.filter(
    outcome => outcome === 'accepted' || rows.some(({ counts }) => counts[outcome] > 0),
  )
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, scrollable region
    <section className="scroll-x" tabIndex={0} aria-label="Numbers of the flow">
      <Table horizontalSpacing="sm" verticalSpacing={6} className="flow-table">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Event</Table.Th>
            <Table.Th ta="right">Stored</Table.Th>
            {shown.map(outcome => (
              <Table.Th key={outcome} ta="right">
                {OUTCOME_TITLES[outcome]}
              </Table.Th>
            ))}
            {flow.by === 'event' && <Table.Th ta="right">Counted</Table.Th>}
            <Table.Th ta="right">Value accepted</Table.Th>
            <Table.Th>Why not</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(row => (
            <Row
              key={`${row.destinationId} ${row.name}`}
              workspace={workspace}
              flow={flow}
              row={row}
              shown={shown}
              destination={nameOf(row.destinationId)}
            />
          ))}
        </Table.Tbody>
      </Table>
    </section>
  )
}

interface RowProps extends Pick<FlowTableProps, 'workspace' | 'flow'> {
  row: FlowRow
  shown: readonly Outcome[]
  destination: string
}

function Row({ workspace, flow, row, shown, destination }: RowProps) {
  const { name, destinationId, stored, counts, reported } = row
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={400}>
        <Text component="span" fw={600} size="sm" display="block">
          {name}
        </Text>
        <Text component="span" size="xs" c="dimmed" display="block" className="anywhere">
          {destination}
        </Text>
      </Table.Th>
      <Table.Td ta="right">{formatNumber(stored)}</Table.Td>
      {shown.map(outcome => (
        <Table.Td key={outcome} ta="right" className="nowrap">
          <Count
            workspace={workspace}
            count={counts[outcome]}
            search={bandFilters(flow, { destinationId, name, outcome })}
            isExact={outcome !== 'none' && name !== OTHER_NAMES}
          />
          {outcome === 'accepted' && (
            <Text component="span" size="xs" c="dimmed" display="block">
              {formatPart(counts.accepted, stored)}
            </Text>
          )}
        </Table.Td>
      ))}
      {flow.by === 'event' && (
        <Table.Td ta="right" className="nowrap">
          {reported === null ? <span className="quiet">No report</span> : formatNumber(reported)}
        </Table.Td>
      )}
      <Table.Td ta="right" className="nowrap">
        {formatValues(row.acceptedValues)}
        {row.storedValues.length > 0 && (
          <Text component="span" size="xs" c="dimmed" display="block">
            of {formatValues(row.storedValues)}
          </Text>
        )}
      </Table.Td>
      <Table.Td className="flow-reasons">{describeReasons(row)}</Table.Td>
    </Table.Tr>
  )
}

interface CountProps {
  workspace: string
  count: number
  search: object
  isExact: boolean
}

function Count({ workspace, count, search, isExact }: CountProps) {
  if (count === 0 || !isExact) return <>{formatNumber(count)}</>
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
