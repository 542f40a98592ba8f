import { Button, Group, Stack, Text, Title } from '@mantine/core'
import type { RefusalSummary } from '@signalbox/contract/session/issues.ts'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { formatNumber } from '../components/format-count.ts'
import { WorkspaceLink } from '../components/links.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { PeriodSelect } from '../components/period-select.tsx'
import { FailureList } from '../issues/failure-list.tsx'
import { issuesQuery, refusalsQuery } from '../issues/issue-queries.ts'
import { RefusalList } from '../issues/refusal-list.tsx'
import { RefusalSearch, RefusalsOfEvent } from '../issues/refusal-search.tsx'
import { useCanManage, useTrackerParams } from '../layout/scope.ts'

/** In a chunk of its own: few people open it. */
const ThresholdDialog = lazy(async () => ({
  default: (await import('../issues/threshold-dialog.tsx')).ThresholdDialog,
}))

const PERIODS = [
  { value: 1, label: 'Today' },
  { value: 7, label: 'Last 7 days' },
  { value: 30, label: 'Last 30 days' },
]
const DAYS_DEFAULT = 7

/** What went wrong, by cause: refused events, and deliveries that failed. */
export function IssuesPage() {
  const search = useSearch({ from: '/w/$workspace/tracker/issues' })
  const { event_id: eventId } = search
  const days = PERIODS.find(({ value }) => String(value) === search.days)?.value ?? DAYS_DEFAULT
  const params = useTrackerParams()
  const refusals = useQuery(refusalsQuery(params, { days }))
  const issues = useQuery(issuesQuery(params, days))
  const canManage = useCanManage()
  const [isAlerting, setAlerting] = useState(false)
  return (
    <Page
      title="Issues"
      description="What went wrong, by cause, and what to do about it."
      actions={
        <>
          {canManage && (
            <Button variant="default" onClick={() => setAlerting(true)}>
              When to alert
            </Button>
          )}
          <PeriodSelect name="days" value={days} periods={PERIODS} />
        </>
      }
    >
      {isAlerting && (
        <Suspense>
          <ThresholdDialog workspace={params.workspace} onClose={() => setAlerting(false)} />
        </Suspense>
      )}
      <RefusalSearch key={eventId ?? ''} eventId={eventId} />
      {eventId && (
        <Part title={`Refusals of ${eventId}`} actions={<ClearSearch />}>
          <RefusalsOfEvent eventId={eventId} />
        </Part>
      )}
      <Part title="Refused events">
        <Loaded query={refusals}>{data => <Refusals refusals={data.refusals} />}</Loaded>
      </Part>
      <Part title="Failed deliveries">
        <Loaded query={issues}>{data => <FailureList issues={data.issues} />}</Loaded>
      </Part>
      {issues.data !== undefined && issues.data.page_only_withdrawals > 0 && (
        <Part title="Withdrawals from pages">
          <PageOnlyWithdrawals
            workspace={params.workspace}
            visitors={issues.data.page_only_withdrawals}
          />
        </Part>
      )}
    </Page>
  )
}

/** Withdrawals under visitor IDs that others may guess, which therefore reach little. */
function PageOnlyWithdrawals({ workspace, visitors }: { workspace: string; visitors: number }) {
  return (
    <Stack component="article" className="surface" p="md" gap="xs">
      <Title order={3} size="h5">
        The visitor ID is not a random UUID
      </Title>
      <Text maw="46rem">
        {visitors === 1 ? 'One visitor' : `${formatNumber(visitors)} visitors`} withdrew on a page
        under an ID that others may guess. Only events of pages are withheld; those of your server
        are sent. Let the tag make the visitor ID, or send the withdrawal from your server too.
      </Text>
      <WorkspaceLink workspace={workspace} path="privacy" underline="always">
        See the withdrawals from pages
      </WorkspaceLink>
    </Stack>
  )
}

interface PartProps {
  title: string
  actions?: ReactNode
  children: ReactNode
}

function Part({ title, actions, children }: PartProps) {
  return (
    <Stack component="section" gap="sm" aria-label={title}>
      <Group justify="space-between" gap="sm">
        <Title order={2} size="h4" style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Title>
        {actions}
      </Group>
      {children}
    </Stack>
  )
}

interface LoadedProps<Data> {
  query: { data: Data | undefined; error: Error | null; refetch: () => unknown }
  children: (data: Data) => ReactNode
}

function Loaded<Data>({ query: { data, error, refetch }, children }: LoadedProps<Data>) {
  if (data !== undefined) return children(data)
  if (error) return <ErrorNotice error={error} onRetry={() => void refetch()} />
  return <PageSkeleton />
}

function ClearSearch() {
  const navigate = useNavigate()
  const clear = () => {
    const change = (before: object) => ({ ...before, event_id: undefined })
    void navigate({ to: '.', search: change } as never)
  }
  return (
    <Button variant="subtle" size="compact-sm" onClick={clear}>
      Clear the search
    </Button>
  )
}

function Refusals({ refusals }: { refusals: readonly RefusalSummary[] }) {
  if (refusals.length > 0) return <RefusalList refusals={refusals} />
  return (
    <EmptyState title="No event was refused">
      No event that came with a key of this tracker was refused in this time. Requests with an
      unknown key belong to no tracker: they are in the log of the service only.
    </EmptyState>
  )
}
