import { Badge, Stack, Table, Text } from '@mantine/core'
import type { ReconciliationReport } from '@signalbox/contract/reports.ts'
import { Facts, Section } from '../components/facts.tsx'
import { formatCount, formatNumber } from '../components/format-count.ts'
import { PageButton } from '../components/links.tsx'
import { describeReason } from '../overview/reason-texts.ts'
import { isCompared, STATUS_LABELS } from './buckets.ts'
import type { ReportSearch } from './report-search.ts'

/** A day without a report of the platform has no number: it never counts as zero. */
export function formatOrDash(count: number | null): string {
  return count === null ? '–' : formatNumber(count)
}

interface SummaryProps {
  /** The newest report of each destination. */
  reports: readonly ReconciliationReport[]
  search: ReportSearch
  chosen: string
  nameOf: (report: ReconciliationReport) => string
}

/** What each platform counted, side by side: each in its own words. */
export function DestinationSummary({ reports, search, chosen, nameOf }: SummaryProps) {
  return (
    <Section title="Destinations" description="The newest compared day of each destination.">
      <Table.ScrollContainer minWidth={280} tabIndex={0} type="native">
        <Table aria-label="Destinations" verticalSpacing={6} fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Destination</Table.Th>
              <Table.Th ta="right" visibleFrom="sm">
                Accepted
              </Table.Th>
              <Table.Th visibleFrom="sm">What it counts</Table.Th>
              <Table.Th ta="right" visibleFrom="sm">
                Counted
              </Table.Th>
              <Table.Th ta="right">Gap</Table.Th>
              <Table.Th aria-label="Report" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {reports.map(report => (
              <SummaryRow
                key={report.destination_id}
                report={report}
                search={search}
                name={nameOf(report)}
                isChosen={report.destination_id === chosen}
              />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  )
}

interface SummaryRowProps extends Pick<SummaryProps, 'search'> {
  report: ReconciliationReport
  name: string
  isChosen: boolean
}

function SummaryRow({ report, search, name, isChosen }: SummaryRowProps) {
  const { label, color } = STATUS_LABELS[report.status]
  return (
    <Table.Tr {...(isChosen && { 'aria-current': 'true' })}>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        {name}
        <div>
          <Badge variant="light" color={color} tt="none" fw={600} radius="sm">
            {label}
          </Badge>{' '}
          <Text span size="xs" c="dimmed" className="nowrap">
            {report.report_date}
          </Text>
        </div>
      </Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        {formatNumber(report.accepted_count)}
      </Table.Td>
      <Table.Td visibleFrom="sm">{report.count_source?.label ?? 'Events'}</Table.Td>
      <Table.Td ta="right" visibleFrom="sm">
        {formatOrDash(isCompared(report) ? report.meta_count : null)}
      </Table.Td>
      <Table.Td ta="right" fw={650}>
        {formatOrDash(isCompared(report) ? report.observed_gap : null)}
      </Table.Td>
      <Table.Td ta="right">
        {isChosen ? (
          'Below'
        ) : (
          <PageButton
            size="compact-sm"
            variant="default"
            aria-label={`Show ${name}`}
            from="/w/$workspace/reports"
            to="."
            search={{ ...search, destination: report.destination_id }}
          >
            Show
          </PageButton>
        )}
      </Table.Td>
    </Table.Tr>
  )
}

/** The platform's words, what it refused later and what was not accepted. */
export function DayDetails({ report }: { report: ReconciliationReport }) {
  const { count_source: source, sent_names: names } = report
  return (
    <>
      {source && (
        <Section title={`${source.platform}: ${source.label}`}>
          <Stack gap="xs" maw="52rem">
            <Text size="sm">{source.meaning}</Text>
            {names.map(({ event_name, platform_name }) => (
              <Text key={`${event_name} ${platform_name}`} size="sm">
                <strong>{event_name}</strong> is sent and counted as{' '}
                <strong>{platform_name}</strong>.
              </Text>
            ))}
            <RequestFacts report={report} />
          </Stack>
        </Section>
      )}
      {report.outcomes.length > 0 && <OutcomeTable report={report} />}
    </>
  )
}

function RequestFacts({ report: { requests } }: { report: ReconciliationReport }) {
  if (!requests) return null
  const refusals = requests.refusals.map(({ reason, count }) => `${formatNumber(count)} ${reason}`)
  return (
    <Facts
      facts={[
        ['Requests taken', formatCount(requests.requests, 'request')],
        ['Their events', formatNumber(requests.events)],
        ['Processed', formatNumber(requests.processed_events)],
        ['No result yet', requests.processing_events],
        ['Result never told', requests.unknown_events],
        ['Of failed requests', requests.failed_events],
        ['Refused for', refusals.join(', ')],
      ]}
    />
  )
}

function OutcomeTable({
  report: { outcomes, report_date: day },
}: {
  report: ReconciliationReport
}) {
  return (
    <Section
      title="Not accepted"
      description={`Live events that this destination did not get on ${day}, and why.`}
    >
      <Table.ScrollContainer minWidth={280} tabIndex={0} type="native">
        <Table aria-label="Not accepted" verticalSpacing={6} fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Why</Table.Th>
              <Table.Th visibleFrom="sm">Status</Table.Th>
              <Table.Th ta="right">Events</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {outcomes.map(({ status, reason, count, explanation }) => (
              <Table.Tr key={`${status} ${reason}`}>
                <Table.Td>
                  {describeReason(reason)}
                  <Text size="xs" c="dimmed">
                    {explanation}
                  </Text>
                </Table.Td>
                <Table.Td visibleFrom="sm">{status}</Table.Td>
                <Table.Td ta="right">{formatNumber(count)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  )
}
