import { Alert, Anchor, Stack, Text } from '@mantine/core'
import type { EventFlow, TrackerOverview } from '@signalbox/contract/session/overview.ts'
import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { firstEventCommand } from '../components/first-event-command.ts'
import { formatCount } from '../components/format-count.ts'
import { WorkspaceLink } from '../components/links.tsx'
import { Page } from '../components/page.tsx'
import { PageSkeleton } from '../components/page-skeleton.tsx'
import { Time } from '../components/time.tsx'
import { describeHealth } from '../destinations/destination-health.ts'
import { flowQuery, overviewQuery } from '../issues/issue-queries.ts'
import { useTrackerParams, useTrackers } from '../layout/scope.ts'
import {
  FlowControls,
  type FlowRange,
  type FlowSearch,
  readRange,
  yesterdayRange,
} from '../overview/flow-controls.tsx'
import { type FlowChoice, listRows } from '../overview/flow-model.ts'
import { FlowPicture } from '../overview/flow-picture.tsx'
import { FlowTable } from '../overview/flow-table.tsx'
import { FlowTrends } from '../overview/flow-trends.tsx'
import { PurchaseAnswer } from '../overview/purchase-answer.tsx'

/** What happened to the events of a tracker, from the refused ones to those that count. */
export function OverviewPage() {
  const params = useTrackerParams()
  const { tracker } = useTrackers()
  const overview = useQuery(overviewQuery(params))
  const { data, error } = overview
  return (
    <Page title="Overview" description={tracker?.name}>
      {error && !data && <ErrorNotice error={error} onRetry={() => void overview.refetch()} />}
      {!error && !data && <PageSkeleton />}
      {data && <Content workspace={params.workspace} overview={data} />}
    </Page>
  )
}

interface ContentProps {
  workspace: string
  overview: TrackerOverview
}

function Content({ workspace, overview }: ContentProps) {
  return (
    <Stack gap="md">
      <Notices workspace={workspace} overview={overview} />
      {overview.has_events ? (
        <Flow workspace={workspace} overview={overview} />
      ) : (
        <NoEvents workspace={workspace} />
      )}
    </Stack>
  )
}

function Flow({ workspace, overview }: ContentProps) {
  const search = useSearch({ from: '/w/$workspace/tracker/' }) as FlowSearch
  const params = useTrackerParams()
  const range = readRange(search)
  const flow = useQuery(flowQuery(params, range))
  const yesterday = useQuery(flowQuery(params, yesterdayRange()))
  const destinations = overview.destinations.map(({ status, platform }) => ({
    value: status.destination.id,
    label: `${platform} ${status.target}`,
  }))
  const ids = destinations.map(({ value }) => value)
  const nameOf = (id: string | null) =>
    id === null ? 'No destination' : (destinations.find(each => each.value === id)?.label ?? id)
  const chosen = ids.find(id => id === search.destination) ?? null
  const choice = {
    destination: chosen,
    group: search.group === 'destination' ? 'destination' : 'name',
  } as const
  return (
    <>
      {yesterday.data && (
        <PurchaseAnswer
          workspace={workspace}
          flow={yesterday.data}
          destinations={ids}
          nameOf={nameOf}
        />
      )}
      <FlowControls search={search} range={range} destinations={destinations} />
      {flow.error && !flow.data && (
        <ErrorNotice error={flow.error} onRetry={() => void flow.refetch()} />
      )}
      {!flow.error && !flow.data && <PageSkeleton />}
      {flow.data && (
        <FlowSections
          workspace={workspace}
          flow={flow.data}
          overview={overview}
          choice={choice}
          range={range}
          nameOf={nameOf}
          ids={ids}
        />
      )}
    </>
  )
}

interface SectionsProps extends ContentProps {
  flow: EventFlow
  choice: FlowChoice
  range: FlowRange
  ids: readonly string[]
  nameOf: (destinationId: string | null) => string
}

function FlowSections({ workspace, flow, overview, choice, ids, nameOf }: SectionsProps) {
  const rows = listRows(flow, choice.destination === null ? ids : [choice.destination]).filter(
    row => choice.destination === null || row.destinationId === choice.destination,
  )
  const isNothing = flow.stored.length === 0 && flow.refused.requests === 0
  return (
    <>
      <section className="surface section" aria-label="Flow">
        <Text size="sm" c="dimmed" mb="sm">
          {describeDays(flow, rows.length > 0 && choice.destination === null && ids.length > 1)}
        </Text>
        {isNothing ? (
          <Text>No event of these days.</Text>
        ) : (
          <>
            <FlowPicture
              workspace={workspace}
              flow={flow}
              rows={rows}
              choice={choice}
              nameOf={nameOf}
            />
            <FlowTable workspace={workspace} flow={flow} rows={rows} nameOf={nameOf} />
          </>
        )}
        {flow.uncounted > 0 && (
          <Text size="sm" mt="sm">
            Not in these numbers: {formatCount(flow.uncounted, 'event')} that arrived since the last
            count. Large days are counted again every few minutes.
          </Text>
        )}
        <DestinationNotes overview={overview} flow={flow} />
      </section>
      <FlowTrends flow={flow} nameOf={nameOf} />
    </>
  )
}

/** Which day the numbers are about, in words. */
function describeDays({ by, from, to }: EventFlow, areSeveral: boolean): string {
  const days = from === to ? `on ${from}` : `from ${from} to ${to}`
  const sentence =
    by === 'event'
      ? `Events that happened ${days} (UTC), whenever they arrived. Refused requests have no ` +
        'such day: they arrived on these days.'
      : `Events that arrived ${days} (UTC), whenever they happened. Platforms count by the day ` +
        'of the event, so their counts are shown by that day only.'
  return areSeveral ? `${sentence} Each event goes to each destination.` : sentence
}

/** Destinations with something to say: their health, and why there is no report. */
function DestinationNotes({ overview, flow }: Pick<SectionsProps, 'overview' | 'flow'>) {
  const notes = overview.destinations.flatMap(({ status, platform }) => {
    const { id } = status.destination
    const { label, sentence } = describeHealth(status)
    const { explanation } = flow.counted.find(each => each.destination_id === id) ?? {}
    const texts = [sentence && `${label}: ${sentence}`, flow.by === 'event' ? explanation : null]
    const text = texts.filter(Boolean).join(' ')
    return text === '' ? [] : [{ id, name: `${platform} ${status.target}`, text }]
  })
  if (notes.length === 0) return null
  return (
    <Stack gap={4} mt="sm">
      {notes.map(({ id, name, text }) => (
        <Text key={id} size="sm" c="dimmed" className="anywhere">
          {name}. {text}
        </Text>
      ))}
    </Stack>
  )
}

/** What needs a person: open alerts and proposals that wait. */
function Notices({ workspace, overview }: ContentProps) {
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
