import { Text } from '@mantine/core'
import type { ReconciliationReport } from '@signalbox/contract/reports.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Section } from '../components/facts.tsx'
import { formatNumber } from '../components/format-count.ts'
import { isCompared } from './buckets.ts'
import { formatOrDash } from './day-details.tsx'

/** An event name at one destination; without a name, all events of it. */
interface NameRow {
  key: string
  name: string | null
  destination: string
  accepted: number
  /** Null where the platform tells none. */
  counted: number | null
  acceptedValues: readonly string[]
  /** Null where the platform reports none. */
  reportedValues: readonly string[] | null
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

const COLUMNS: readonly Column<NameRow>[] = [
  { key: 'event', header: 'Event', cell: ({ name }) => name ?? 'All events', wrap: 'free' },
  { key: 'destination', header: 'Destination', cell: row => row.destination, from: 'sm' },
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
    cell: ({ counted }) => formatOrDash(counted),
  },
  {
    key: 'gap',
    header: 'Gap',
    align: 'right',
    from: 'sm',
    cell: ({ accepted, counted }) => formatOrDash(counted === null ? null : accepted - counted),
  },
  {
    key: 'value',
    header: 'Value accepted',
    align: 'right',
    wrap: 'whole',
    cell: ({ acceptedValues }) => <Lines texts={acceptedValues} />,
  },
  {
    key: 'reported',
    header: 'Value reported',
    align: 'right',
    wrap: 'whole',
    from: 'md',
    cell: ({ name, reportedValues }) => {
      if (reportedValues) return <Lines texts={reportedValues} />
      return name === null ? <span className="quiet">None reported</span> : '–'
    },
  },
]

function Lines({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return '–'
  return texts.map(text => <div key={text}>{text}</div>)
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
      acceptedValues: own.map(formatValue),
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
    acceptedValues: [],
    reportedValues: values?.reported?.map(formatValue) ?? null,
  })
  return rows
}

/** Amounts are exact decimal text, shown as they are. */
function formatValue({ amount, currency }: { amount: string; currency: string }): string {
  return `${amount} ${currency}`
}
