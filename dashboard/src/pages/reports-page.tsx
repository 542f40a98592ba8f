import { Box, Button, Tabs } from '@mantine/core'
import type { ReconciliationReport } from '@signalbox/contract/reports.ts'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { useTrackerParams } from '../layout/scope.ts'
import { isCompared } from '../reports/buckets.ts'
import { DestinationSummary } from '../reports/day-details.tsx'
import { MakeReport } from '../reports/make-report.tsx'
import { MatchQuality } from '../reports/match-quality-report.tsx'
import { NameTable } from '../reports/name-table.tsx'
import { RangeFilter } from '../reports/range-filter.tsx'
import { ReconciliationDays } from '../reports/reconciliation-report.tsx'
import {
  csvPath,
  formatDestination,
  matchQualityQuery,
  reconciliationQuery,
} from '../reports/report-api.ts'
import type { ReportSearch } from '../reports/report-search.ts'

/** What the platform counted, and how well it can match events to people. */
export function ReportsPage() {
  const search = useSearch({ from: '/w/$workspace/tracker/reports' })
  const navigate = useNavigate({ from: '/w/$workspace/reports' })
  const params = useTrackerParams()
  return (
    <Page
      title="Reports"
      description="What each platform counted of your events, and how well it matches people."
      actions={
        <Button component="a" href={csvPath(params, search)} download variant="default">
          Download CSV
        </Button>
      }
    >
      <Tabs
        value={search.report}
        onChange={report =>
          void navigate({ search: { ...search, report: report as ReportSearch['report'] } })
        }
        keepMounted={false}
      >
        <Tabs.List mb="lg">
          <Tabs.Tab value="reconciliation">Reconciliation</Tabs.Tab>
          <Tabs.Tab value="match-quality">Match quality</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="reconciliation">
          <ReconciliationPanel search={search} />
        </Tabs.Panel>
        <Tabs.Panel value="match-quality">
          <MatchQualityPanel search={search} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}

function ReconciliationPanel({ search }: { search: ReportSearch }) {
  const { data, error, refetch } = useQuery(reconciliationQuery(useTrackerParams(), search))
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <PageSkeleton />
  const { reports, from, to } = data
  const byId = new Map(reports.map(({ destination }) => [destination.id, destination]))
  const newest = [...byId.keys()]
    .flatMap(id => findShown(reports, id))
    .sort((a, b) => Number(isCompared(b)) - Number(isCompared(a)))
  const nameOf = ({ destination, count_source: source }: ReconciliationReport) =>
    formatDestination({ ...destination, type: source?.platform ?? destination.type })
  const destinations = newest.map(each => ({ id: each.destination_id, label: nameOf(each) }))
  const chosen = search.destination ?? destinations[0]?.id ?? ''
  const shown = reports.filter(({ destination_id: id }) => id === chosen)
  const hasToday = reports.some(({ report_date: day }) => day === today())
  const explained = shown.find(({ report_date: day }) => day === search.day) ?? shown[0]
  const ofDay = newest.flatMap(({ destination_id: id }) =>
    reports.filter(
      each => each.destination_id === id && each.report_date === explained?.report_date,
    ),
  )
  return (
    <>
      <RangeFilter
        key={`${from} ${to}`}
        search={search}
        destinations={destinations}
        chosen={chosen}
        range={{ from, to }}
      >
        <MakeReport
          day={today()}
          label={hasToday ? "Update today's report" : "Make today's report"}
        />
      </RangeFilter>
      <div style={{ height: 'var(--space-6)' }} />
      {newest.length > 1 && (
        <Box mb="lg">
          <DestinationSummary reports={newest} search={search} chosen={chosen} nameOf={nameOf} />
        </Box>
      )}
      {shown.length > 0 ? (
        <ReconciliationDays reports={shown} search={search}>
          <NameTable reports={ofDay} nameOf={nameOf} />
        </ReconciliationDays>
      ) : (
        <EmptyState
          title="No reports in these days"
          action={<MakeReport day={previousDay()} label="Make yesterday's report" />}
        >
          The report of a day is made on the next day at 06:00 UTC, for each destination that sent
          events recently. Who manages deliveries can make one now, with what is known.
        </EmptyState>
      )}
    </>
  )
}

/** The newest report with a count of a destination; without any, its newest one. */
function findShown(
  reports: readonly ReconciliationReport[],
  destinationId: string,
): ReconciliationReport[] {
  const own = reports.filter(({ destination_id: id }) => id === destinationId)
  const shown = own.find(isCompared) ?? own[0]
  return shown ? [shown] : []
}

function MatchQualityPanel({ search }: { search: ReportSearch }) {
  const { data, error, refetch } = useQuery(matchQualityQuery(useTrackerParams(), search))
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <PageSkeleton />
  const { from, to, alert_below: alertBelow } = data
  const destinations = data.destinations.map(({ destination }) => ({
    id: destination.id,
    label: formatDestination(destination),
  }))
  const measured = data.destinations.find(
    ({ coverage, trend }) => coverage.length > 0 || trend.length > 0,
  )
  const chosen = search.destination ?? measured?.destination.id ?? destinations[0]?.id ?? ''
  const quality = data.destinations.find(({ destination }) => destination.id === chosen)
  return (
    <>
      <RangeFilter
        key={`${from} ${to}`}
        search={search}
        destinations={destinations}
        chosen={chosen}
        range={{ from, to }}
      />
      <div style={{ height: 'var(--space-6)' }} />
      {quality ? (
        <MatchQuality quality={quality} alertBelow={alertBelow} until={to} />
      ) : (
        <EmptyState title="No destination yet">
          Match quality is measured for each destination. Connect one first.
        </EmptyState>
      )}
    </>
  )
}

const DAY_MILLISECONDS = 86_400_000

function today(): string {
  return new Date().toISOString().slice(0, 10)
}

function previousDay(): string {
  return new Date(Date.now() - DAY_MILLISECONDS).toISOString().slice(0, 10)
}
