import { Badge, Box, List, Stack, Table, Text } from '@mantine/core'
import type { ReconciliationReport } from '@signalbox/contract/reports.ts'
import type { ReactNode } from 'react'
import { Section } from '../components/facts.tsx'
import { formatCount, formatNumber } from '../components/format-count.ts'
import { PageButton } from '../components/links.tsx'
import { Time } from '../components/time.tsx'
import { BUCKETS, type DayRow, isCompared, STATUS_LABELS, toDayRows } from './buckets.ts'
import { ChartFrame, CountsChart, GapChart } from './chart-frame.tsx'
import { DayDetails, formatOrDash } from './day-details.tsx'
import { MakeReport } from './make-report.tsx'
import type { ReportSearch } from './report-search.ts'

interface ReconciliationProps {
  /** Of one destination, the newest first; at least one. */
  reports: readonly ReconciliationReport[]
  search: ReportSearch
}

interface DaysProps extends ReconciliationProps {
  /** The events of the explained day at all destinations. */
  children: ReactNode
}

/** The gap of one day in sentences, then both counts and what explains the gap over all days. */
export function ReconciliationDays({ reports, search, children }: DaysProps) {
  const explained = reports.find(({ report_date }) => report_date === search.day) ?? reports[0]
  const rows = toDayRows(reports)
  return (
    <Stack gap="lg">
      {explained && (
        <Section
          title={`The gap of ${explained.report_date}`}
          actions={
            <MakeReport
              day={explained.report_date}
              destinationId={explained.destination_id}
              label="Compare again"
            />
          }
        >
          <Explanation report={explained} />
        </Section>
      )}
      {children}
      {explained && <DayDetails report={explained} />}
      {rows.length > 0 && (
        <Section title="Counts and gap">
          <Stack gap="xl">
            <ChartFrame label="Events accepted by the platform and counted by it, by day">
              <CountsChart rows={rows} />
            </ChartFrame>
            {rows.some(hasGap) ? (
              <>
                <ChartFrame label="What explains the gap, by day">
                  <GapChart rows={rows} />
                </ChartFrame>
                <details className="disclosure-plain">
                  <summary>What explains the gap, as a table</summary>
                  <BucketTable reports={reports} />
                </details>
              </>
            ) : (
              <Text size="sm">On each of these days both counts are equal.</Text>
            )}
          </Stack>
        </Section>
      )}
      <Section title="Days">
        <DayTable reports={reports} search={search} shownDay={explained?.report_date ?? ''} />
      </Section>
    </Stack>
  )
}

/** Parts may cancel each other out. */
function hasGap(row: DayRow): boolean {
  return row.unexplained !== 0 || BUCKETS.some(({ name }) => row[name] !== 0)
}

function Explanation({ report }: { report: ReconciliationReport }) {
  const parts = BUCKETS.flatMap(({ name, label }) => {
    const bucket = report.buckets[name]
    return bucket && bucket.count !== 0 ? [{ label, ...bucket }] : []
  })
  return (
    <Stack gap="xs" maw="52rem">
      <Text fw={650}>{summarize(report)}</Text>
      {report.unavailable && <Text size="sm">{report.unavailable.sentence}</Text>}
      {parts.length > 0 && (
        <List size="sm" spacing={4}>
          {parts.map(({ label, count, basis, explanation }) => (
            <List.Item key={label}>
              <strong>
                {label}: {formatNumber(count)}
              </strong>{' '}
              ({basis}). {explanation}
            </List.Item>
          ))}
        </List>
      )}
      {report.updated_at && (
        <Text size="sm" c="dimmed">
          Compared <Time at={report.updated_at} />.{' '}
          {isPreliminary(report)
            ? 'The day had not ended, or the platform was still counting it: the report is made ' +
              'again at 06:00 UTC of the next day.'
            : 'The report of a day is made on the next day and again two days later.'}
        </Text>
      )}
    </Stack>
  )
}

const FIRST_HOURS = 30

/** Made before the time of the first report of its day. */
function isPreliminary({ report_date: day, updated_at: at }: ReconciliationReport): boolean {
  const due = Date.parse(`${day}T00:00:00Z`) + FIRST_HOURS * 3_600_000
  return at !== null && Date.parse(at) < due
}

function summarize(report: ReconciliationReport): string {
  const { observed_gap: gap, unexplained_residual: residual, report_date: day } = report
  if (!isCompared(report)) {
    const accepted = formatCount(report.accepted_count, 'event')
    return `${day} was not compared. The platform accepted ${accepted} and has told no count.`
  }
  if (gap === 0 && residual === 0) return `On ${day} the platform counted what it accepted.`
  const difference =
    gap > 0
      ? `the platform counted ${formatCount(gap, 'event')} fewer than it accepted`
      : gap < 0
        ? `the platform counted ${formatCount(-gap, 'event')} more than it accepted from us`
        : 'both counts are equal'
  const rest =
    residual === 0 ? 'all are explained' : `${formatCount(Math.abs(residual), 'event')} unexplained`
  return `On ${day} ${difference}; ${rest}.`
}

interface DayTableProps extends ReconciliationProps {
  shownDay: string
}

/** A phone shows the day, its status and the gap; the explanation has the other counts. */
function DayTable({ reports, search, shownDay }: DayTableProps) {
  return (
    <Table.ScrollContainer minWidth={280} tabIndex={0} type="native">
      <Table aria-label="Days" verticalSpacing={6} fz="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Day (UTC)</Table.Th>
            <Table.Th visibleFrom="sm">Status</Table.Th>
            <Table.Th ta="right" visibleFrom="sm">
              Accepted
            </Table.Th>
            <Table.Th ta="right" visibleFrom="sm">
              Counted
            </Table.Th>
            <Table.Th ta="right">Gap</Table.Th>
            <Table.Th ta="right" visibleFrom="sm">
              Unexplained
            </Table.Th>
            <Table.Th aria-label="Explanation" />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {reports.map(report => (
            <DayCells
              key={report.id}
              report={report}
              search={search}
              isShown={report.report_date === shownDay}
            />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

const SO_FAR = { label: 'So far', color: 'gray' }

interface DayCellsProps {
  report: ReconciliationReport
  search: ReportSearch
  isShown: boolean
}

function DayCells({ report, search, isShown }: DayCellsProps) {
  const { label, color } = isPreliminary(report) ? SO_FAR : STATUS_LABELS[report.status]
  const count = (given: number) => formatOrDash(isCompared(report) ? given : null)
  const status = (
    <Badge variant="light" color={color} tt="none" fw={600} radius="sm">
      {label}
    </Badge>
  )
  return (
    <Table.Tr {...(isShown && { 'aria-current': 'true' })}>
      <Table.Td className="nowrap">
        {report.report_date}
        <Box hiddenFrom="sm">{status}</Box>
      </Table.Td>
      <Table.Td visibleFrom="sm">{status}</Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        {formatNumber(report.accepted_count)}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        {count(report.meta_count)}
      </Table.Td>
      <Table.Td ta="right" fw={650}>
        {count(report.observed_gap)}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        {count(report.unexplained_residual)}
      </Table.Td>
      <Table.Td ta="right">
        {isShown ? (
          'Explained above'
        ) : (
          <PageButton
            size="compact-sm"
            variant="default"
            aria-label={`Explain ${report.report_date}`}
            from="/w/$workspace/reports"
            to="."
            search={{ ...search, day: report.report_date }}
          >
            Explain
          </PageButton>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

function BucketTable({ reports }: { reports: readonly ReconciliationReport[] }) {
  return (
    <Table.ScrollContainer minWidth={760} tabIndex={0} type="native" mah="24rem">
      <Table aria-label="What explains the gap" verticalSpacing={6} fz="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Day (UTC)</Table.Th>
            {BUCKETS.map(({ name, label }) => (
              <Table.Th key={name} ta="right">
                {label}
              </Table.Th>
            ))}
            <Table.Th ta="right">Unexplained</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {reports.map(report => (
            <Table.Tr key={report.id}>
              <Table.Td className="nowrap">{report.report_date}</Table.Td>
              {BUCKETS.map(({ name }) => (
                <Table.Td key={name} ta="right">
                  {formatOrDash(isCompared(report) ? (report.buckets[name]?.count ?? 0) : null)}
                </Table.Td>
              ))}
              <Table.Td ta="right">
                {formatOrDash(isCompared(report) ? report.unexplained_residual : null)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
