import { Alert, Anchor, SimpleGrid, Stack, Text } from '@mantine/core'
import type { TrackerOverview } from '@signalbox/contract/session/overview.ts'
import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { firstEventCommand } from '../components/first-event-command.ts'
import { WorkspaceLink } from '../components/links.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { PeriodSelect } from '../components/period-select.tsx'
import { Time } from '../components/time.tsx'
import { overviewQuery } from '../issues/issue-queries.ts'
import { useTrackerParams, useTrackers } from '../layout/scope.ts'
import { DestinationSummaries } from '../overview/destination-summary.tsx'
import { HourTable } from '../overview/hour-table.tsx'
import { StageCard } from '../overview/stage-card.tsx'

const PERIODS = [
  { value: 24, label: 'Last 24 hours' },
  { value: 168, label: 'Last 7 days' },
  { value: 720, label: 'Last 30 days' },
]

/** What happened to the events of a tracker, from the refused ones to those that count. */
export function OverviewPage() {
  const { hours: chosen } = useSearch({ from: '/w/$workspace/tracker/' })
  const hours = PERIODS.find(({ value }) => String(value) === chosen)?.value ?? 24
  const params = useTrackerParams()
  const { tracker } = useTrackers()
  const { data, error, refetch } = useQuery(overviewQuery(params, hours))
  return (
    <Page
      title="Overview"
      description={tracker?.name}
      actions={<PeriodSelect name="hours" value={hours} periods={PERIODS} />}
    >
      {error && !data && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!error && !data && <PageSkeleton />}
      {data && <Stages workspace={params.workspace} overview={data} hours={hours} />}
    </Page>
  )
}

interface StagesProps {
  workspace: string
  overview: TrackerOverview
  hours: number
}

function Stages({ workspace, overview, hours }: StagesProps) {
  const { stages, counted_since: since, from } = overview
  const isEmpty = since === null && stages.every(({ count }) => !count)
  return (
    <Stack gap="md">
      <Notices workspace={workspace} overview={overview} />
      {isEmpty ? (
        <NoEvents workspace={workspace} />
      ) : (
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }} spacing="md">
          {stages.map(stage => (
            <StageCard key={stage.stage} workspace={workspace} stage={stage} />
          ))}
        </SimpleGrid>
      )}
      {!isEmpty && (
        <DestinationSummaries workspace={workspace} destinations={overview.destinations} />
      )}
      {since !== null && since > from && (
        <Text size="sm" c="dimmed">
          The first count is from <Time at={since} format="absolute" />.
        </Text>
      )}
      <HourTable stages={stages} hours={hours} />
    </Stack>
  )
}

/** What needs a person: open alerts and proposals that wait. */
function Notices({ workspace, overview }: Omit<StagesProps, 'hours'>) {
  const { alerts, pending_approvals: pending } = overview
  return (
    <>
      {pending > 0 && (
        <Alert color="yellow" variant="light" title={describePending(pending)}>
          <Anchor href={`/workspaces/${workspace}/approvals`}>Review and decide</Anchor>
        </Alert>
      )}
      {alerts.map(({ destination_id, kind, sentence, raised_at }) => (
        <Alert key={`${destination_id} ${kind}`} color="red" variant="light" title={sentence}>
          <Time at={raised_at} />.{' '}
          <AlertLink workspace={workspace} kind={destination_id === null ? kind : null} />
        </Alert>
      ))}
    </>
  )
}

/** Leads to the page about an alert. Null: it is about a destination. */
function AlertLink({ workspace, kind }: { workspace: string; kind: string | null }) {
  if (kind === 'audit_log_broken') {
    return <Anchor href={`/workspaces/${workspace}/audit`}>Open the audit log</Anchor>
  }
  const isPrivacy = kind === 'page_withdrawals_many'
  return (
    <WorkspaceLink
      workspace={workspace}
      path={isPrivacy ? 'privacy' : 'reports'}
      inherit
      underline="always"
    >
      {isPrivacy ? 'See the withdrawals' : 'Open reports'}
    </WorkspaceLink>
  )
}

const PENDING_MAX = 100

function describePending(count: number): string {
  if (count === 1) return 'A proposal of an agent waits for a decision'
  const shown = count >= PENDING_MAX ? `${PENDING_MAX} or more` : count
  return `${shown} proposals of agents wait for a decision`
}

function NoEvents({ workspace }: { workspace: string }) {
  return (
    <EmptyState title="No event yet" command={firstEventCommand()}>
      Send the first one with the secret of this tracker, or follow{' '}
      <WorkspaceLink workspace={workspace} path="start" inherit underline="always">
        the first steps
      </WorkspaceLink>
      .
    </EmptyState>
  )
}
