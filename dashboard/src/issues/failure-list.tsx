import { Group, Stack, Text, Title } from '@mantine/core'
import type { DeliveryIssue } from '@signalbox/contract/session/issues.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { formatNumber } from '../components/format-count.ts'
import { WorkspaceLink } from '../components/links.tsx'
import { ReplayButton } from '../components/replay.tsx'
import { Time } from '../components/time.tsx'
import { useCanManage } from '../layout/scope.ts'
import { describeCode, describeIssue } from './issue-texts.ts'

interface FailureListProps {
  workspace: string
  issues: readonly DeliveryIssue[]
}

/** Deliveries that went wrong, by cause, the latest first. */
export function FailureList({ workspace, issues }: FailureListProps) {
  const canManage = useCanManage()
  if (issues.length === 0) {
    return (
      <EmptyState title="No delivery went wrong">
        The platform accepted everything that was sent in this time.
      </EmptyState>
    )
  }
  const hasSeveralDestinations = new Set(issues.map(issue => issue.destination_id)).size > 1
  return (
    <Stack gap="md">
      {issues.map(issue => (
        <Failure
          key={[issue.destination_id, issue.class, issue.code, issue.subcode, issue.reason].join()}
          workspace={workspace}
          issue={issue}
          canReplay={canManage && issue.failed > 0 && issue.class !== 'local'}
          isDestinationShown={hasSeveralDestinations}
        />
      ))}
    </Stack>
  )
}

interface FailureProps {
  workspace: string
  issue: DeliveryIssue
  canReplay: boolean
  isDestinationShown: boolean
}

function Failure({ workspace, issue, canReplay, isDestinationShown }: FailureProps) {
  const { title, advice } = describeIssue(issue)
  const code = describeCode(issue)
  const { destination_id, attempts, failed, first_seen_at, last_seen_at, events } = issue
  return (
    <Stack component="article" className="surface" p="md" gap="xs">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div>
          <Title order={3} size="h5">
            {title}
          </Title>
          {code && <Text className="code">{code}</Text>}
        </div>
        {canReplay && <ReplayButton selection={replaySelection(issue)} label="Replay" />}
      </Group>
      <Text maw="46rem">{advice}</Text>
      <Text size="sm" c="dimmed">
        {countText(attempts, failed)} First seen <Time at={first_seen_at} format="relative" />, last
        seen <Time at={last_seen_at} format="relative" />.
      </Text>
      {isDestinationShown && (
        <Text size="sm">
          Destination <span className="code">{destination_id}</span>
        </Text>
      )}
      <Group gap="md">
        <Text size="sm" fw={600}>
          Latest events
        </Text>
        {events.map(({ id, space }) => (
          <WorkspaceLink
            key={`${space} ${id}`}
            className="code"
            workspace={workspace}
            path={`events/${encodeURIComponent(id)}`}
            search={space === 'publishable' ? { space } : {}}
          >
            {id}
          </WorkspaceLink>
        ))}
      </Group>
    </Stack>
  )
}

function countText(attempts: number, failed: number): string {
  const answers = attempts === 1 ? 'Once' : `${formatNumber(attempts)} times`
  if (failed === 0) return `${answers}, no delivery failed for good.`
  const deliveries = `${formatNumber(failed)} ${failed === 1 ? 'delivery' : 'deliveries'}`
  return `${answers}, ${deliveries} failed for good.`
}

const REPLAY_LIMIT = 10_000

/** The failed deliveries with this cause as their last error. */
function replaySelection({ destination_id, class: name, code, subcode }: DeliveryIssue) {
  return { destination_id, cause: { class: name, code, subcode }, limit: REPLAY_LIMIT }
}
