import { Text } from '@mantine/core'
import type { ReconciliationReport } from '@signalbox/contract/reports.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Section } from '../components/facts.tsx'
import { formatMoney, formatNumber } from '../components/format-count.ts'
import { isCompared } from './buckets.ts'

/** An event name at one destination; without a name, all events of it. */
interface NameRow {
  key: string
  name: string | null
  destination: string
  accepted: number
  /** Null where the platform tells none. */
  counted: number | null
  acceptedValues: readonly Money[]
  /** Null where the platform reports none: no platform tells them for each event name. */
  reportedValues: readonly Money[] | null
}

interface Money {
  currency: string
  amount: string
}

interface NameTableProps {
  /** Of one day, one for each destination. */
  reports: readonly ReconciliationReport[]
  nameOf: (report: ReconciliationReport) => string
}

const ROWS_MAX = 200

/** A row for each event name and destination: both counts, and the values by currency. */
export function NameTable({ reports, nameOf }: NameTableProps) {
  const rows = reports.flatMap(report => toNameRows(report, nameOf(report)))
  const [day = ''] = reports.map(report => report.report_date)
  const explanations = reports.flatMap(({ values }) => (values ? [values.explanation] : []))
  return (
    <Section
      title="By event and destination"
      description={[`${day} (UTC).`, ...new Set(explanations)].join(' ')}
    >
      <DataTable
        label="By event and destination"
        columns={COLUMNS}
        rows={rows.slice(0, ROWS_MAX)}
        rowKey={({ key }) => key}
        groupOf={({ destination }) => destination}
        rowClass={({ name }) => (name === null ? 'sum-row' : '')}
      />
      {rows.length > ROWS_MAX && (
        <Text size="sm" mt="xs">
          {formatNumber(rows.length - ROWS_MAX)} further rows are in the CSV.
        </Text>
      )}
    </Section>
  )
}

const NOT_TOLD = <span className="quiet">Not told</span>

function formatTold(count: number | null) {
  return count === null ? NOT_TOLD : formatNumber(count)
}

const COLUMNS: readonly Column<NameRow>[] = [
  { key: 'event', header: 'Event', wrap: 'free', cell: row => <EventName row={row} /> },
  {
    key: 'accepted',
    header: 'Accepted',
    align: 'right',
    cell: ({ accepted }) => formatNumber(accepted),
  },
  {
    key: 'counted',
    header: 'Counted',
    align: 'right',
    cell: ({ counted }) => formatTold(counted),
  },
  {
    key: 'gap',
    header: 'Gap',
    align: 'right',
    from: 'sm',
    cell: ({ accepted, counted }) => formatTold(counted === null ? null : accepted - counted),
  },
  {
    key: 'value',
    header: 'Value accepted',
    align: 'right',
    wrap: 'whole',
    from: 'sm',
    cell: ({ acceptedValues }) => <Values values={acceptedValues} none="No value" />,
  },
  {
    key: 'reported',
    header: 'Value counted',
    align: 'right',
    from: 'sm',
    cell: ({ reportedValues }) =>
      reportedValues ? (
        <Values values={reportedValues} none="None" />
      ) : (
        <span className="quiet">Not told by the platform</span>
      ),
  },
]

/** On a phone both values stand below the name. */
function EventName({ row: { name, acceptedValues, reportedValues } }: { row: NameRow }) {
  const accepted = acceptedValues.map(formatMoney).join(' and ')
  const counted = reportedValues?.map(formatMoney).join(' and ') ?? 'not told by the platform'
  return (
    <>
      {name ?? 'All events'}
      <Text component="span" display="block" size="xs" fw={400} c="dimmed" hiddenFrom="sm">
        {accepted || 'No value'}; counted: {counted || 'none'}
      </Text>
    </>
  )
}

function Values({ values, none }: { values: readonly Money[]; none: string }) {
  if (values.length === 0) return <span className="quiet">{none}</span>
  return values.map(value => (
    <div key={value.currency} className="nowrap">
      {formatMoney(value)}
    </div>
  ))
}

/** The names with the most events first, then their sum. */
function toNameRows(report: ReconciliationReport, destination: string): NameRow[] {
  const { event_counts: counts, destination_id: id, values } = report
  const tellsNames = isCompared(report) && report.count_source?.source !== 'request_results'
  const names = [...new Set([...Object.keys(counts.accepted), ...Object.keys(counts.meta)])]
  const rows = names.map((name): NameRow => {
    const own = values?.accepted.filter(({ event_name }) => event_name === name) ?? []
    return {
      key: `${id} ${name}`,
      name,
      destination,
      accepted: counts.accepted[name] ?? 0,
      counted: tellsNames ? (counts.meta[name] ?? 0) : null,
      acceptedValues: own,
      reportedValues: null,
    }
  })
  const largest = (row: NameRow) => Math.max(row.accepted, row.counted ?? 0)
  rows.sort((a, b) => largest(b) - largest(a) || (a.key < b.key ? -1 : 1))
  rows.push({
    key: id,
    name: null,
    destination,
    accepted: report.accepted_count,
    counted: isCompared(report) ? report.meta_count : null,
    acceptedValues: sumByCurrency(values?.accepted ?? []),
    reportedValues: values?.reported ?? null,
  })
  return rows
}

/** Exact, as the amounts are: decimal text, with as many digits as the longest. */
function sumByCurrency(values: readonly Money[]): Money[] {
  const byCurrency = Map.groupBy(values, ({ currency }) => currency)
  return [...byCurrency].map(([currency, own]) => {
    const digits = Math.max(...own.map(({ amount }) => fractionOf(amount).length))
    const sum = own.reduce((total, { amount }) => {
      const [whole = '0'] = amount.split('.')
      return total + BigInt(whole + fractionOf(amount).padEnd(digits, '0'))
    }, 0n)
    const text = String(sum).padStart(digits + 1, '0')
    const at = text.length - digits
    return { currency, amount: `${text.slice(0, at)}.${text.slice(at)}` }
  })
}

function fractionOf(amount: string): string {
  return amount.split('.')[1] ?? ''
}
