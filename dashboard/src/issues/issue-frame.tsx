import { Badge, Button, Group, Stack, Text, Title } from '@mantine/core'
import type { IssueStateName } from '@signalbox/contract/session/issues.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { call } from '../api/client.ts'
import { ErrorNotice } from '../components/error-notice.tsx'
import { formatCount, formatMoney, formatNumber } from '../components/format-count.ts'
import { Time } from '../components/time.tsx'
import { useCanManage, useTrackerParams } from '../layout/scope.ts'

/** What refusals and failed deliveries have in common. */
export interface Issue {
  id: string
  state: IssueStateName
  reopened: boolean
  first_seen_at: string
  last_seen_at: string
  days: readonly { date: string; count: number }[]
}

interface IssueFrameProps {
  issue: Issue
  title: string
  code: string | null
  /** How often, in words. */
  summary: string
  /** Buttons before those of every issue. */
  actions?: ReactNode
  children: ReactNode
}

/** One issue: what it is, how it goes on, and what a person decides about it. */
export function IssueFrame({ issue, title, code, summary, actions, children }: IssueFrameProps) {
  return (
    <Stack component="article" className="surface issue" p="md" gap="sm" aria-label={title}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <div>
          <Group gap="xs">
            <Title order={3} size="h5">
              {title}
            </Title>
            {issue.reopened && (
              <Badge variant="light" color="yellow" tt="none" radius="sm">
                Happened again
              </Badge>
            )}
          </Group>
          {code && <Text className="code">{code}</Text>}
        </div>
        <Group gap="xs">
          {actions}
          <IssueActions issue={issue} title={title} />
        </Group>
      </Group>
      {children}
      <div className="issue-foot">
        <Text size="sm" c="dimmed">
          {summary} First seen <Time at={issue.first_seen_at} format="relative" />, last seen{' '}
          <Time at={issue.last_seen_at} format="relative" />.
        </Text>
        <Trend days={issue.days} />
      </div>
    </Stack>
  )
}

const NEXT: Record<IssueStateName, readonly { state: IssueStateName; label: string }[]> = {
  open: [
    { state: 'resolved', label: 'Resolve' },
    { state: 'muted', label: 'Mute' },
  ],
  muted: [{ state: 'open', label: 'Unmute' }],
  resolved: [{ state: 'open', label: 'Open again' }],
}

function IssueActions({ issue: { id, state }, title }: Pick<IssueFrameProps, 'issue' | 'title'>) {
  const params = useTrackerParams()
  const client = useQueryClient()
  const canManage = useCanManage()
  const changing = useMutation({
    mutationFn: (next: IssueStateName) =>
      call('PUT /workspaces/:workspace/trackers/:tracker/issues/:issue', {
        params: { ...params, issue: id },
        body: { state: next },
      }),
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ['issues', params] }),
        client.invalidateQueries({ queryKey: ['refusals', params] }),
      ]),
  })
  if (!canManage) return null
  return (
    <>
      {NEXT[state].map(({ state: next, label }) => (
        <Button
          key={next}
          variant="default"
          size="compact-sm"
          loading={changing.isPending && changing.variables === next}
          aria-label={`${label}: ${title}`}
          onClick={() => changing.mutate(next)}
        >
          {label}
        </Button>
      ))}
      {changing.error && <ErrorNotice error={changing.error} />}
    </>
  )
}

const BARS_MIN = 7
const BAR_WIDTH = 6
const HEIGHT = 28
const DAY_MILLISECONDS = 86_400_000

/** Small bars, one for each day up to the last one. */
function Trend({ days }: Pick<Issue, 'days'>) {
  const [first] = days
  const last = days.at(-1)
  if (!first || !last) return null
  const end = Date.parse(last.date)
  const length = Math.max(BARS_MIN, (end - Date.parse(first.date)) / DAY_MILLISECONDS + 1)
  const counts = Array.from({ length }, (_, index) => {
    const date = new Date(end - (length - 1 - index) * DAY_MILLISECONDS).toISOString()
    return days.find(day => day.date === date.slice(0, 10))?.count ?? 0
  })
  const most = Math.max(...counts)
  const label = days.map(({ date, count }) => `${date}: ${formatNumber(count)}`).join(', ')
  return (
    <svg
      className="issue-trend"
      role="img"
      aria-label={`By day (UTC): ${label}`}
      width={length * BAR_WIDTH}
      height={HEIGHT}
    >
      <title>{label}</title>
      {counts.map((count, index) => {
        const height = count === 0 ? 1 : Math.max(2, (count / most) * HEIGHT)
        const place = { x: index * BAR_WIDTH, y: HEIGHT - height }
        return <rect key={index} {...place} width={BAR_WIDTH - 2} height={height} />
      })}
    </svg>
  )
}

interface StakeProps {
  values: readonly { currency: string; amount: string; events: number }[]
  isLowerBound?: boolean
}

/** The value of events that did not arrive, by currency. */
export function ValueAtStake({ values, isLowerBound = false }: StakeProps) {
  if (values.length === 0) return null
  const sums = values.map(formatMoney).join(' and ')
  const events = values.reduce((sum, { events }) => sum + events, 0)
  return (
    <Text size="sm">
      <strong>
        {isLowerBound ? 'At least ' : ''}
        {sums}
      </strong>{' '}
      at stake, in {formatCount(events, 'event')}.
    </Text>
  )
}

interface IssueGroupsProps<Each extends Issue> {
  issues: readonly Each[]
  render: (issue: Each) => ReactNode
}

/** Open issues, then folded those that people muted or resolved. */
export function IssueGroups<Each extends Issue>({ issues, render }: IssueGroupsProps<Each>) {
  const ofState = (state: IssueStateName) => issues.filter(issue => issue.state === state)
  const folded = (['resolved', 'muted'] as const).filter(state => ofState(state).length > 0)
  return (
    <Stack gap="md">
      {ofState('open').map(render)}
      {ofState('open').length === 0 && <Text size="sm">None is open.</Text>}
      {folded.map(state => (
        <details key={state} className="disclosure-plain">
          <summary>
            {state === 'muted' ? 'Muted' : 'Resolved'} ({ofState(state).length})
          </summary>
          <Stack gap="md" mt="sm">
            {ofState(state).map(render)}
          </Stack>
        </details>
      ))}
    </Stack>
  )
}
