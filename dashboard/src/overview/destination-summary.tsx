import { Badge, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import type { DestinationOverview } from '@signalbox/contract/session/overview.ts'
import { useId } from 'react'
import { formatNumber } from '../components/format-count.ts'
import { WorkspaceLink } from '../components/links.tsx'
import { describeHealth } from '../destinations/destination-health.ts'
import { describeReason } from './stage-texts.ts'

interface SummariesProps {
  workspace: string
  destinations: readonly DestinationOverview[]
}

/** The same events by destination: each one has its own consent, selection and answers. */
export function DestinationSummaries({ workspace, destinations }: SummariesProps) {
  const [first] = destinations
  if (first === undefined) return null
  return (
    <Stack gap="sm">
      <div>
        <Title order={2} size="h4">
          By destination
        </Title>
        <Text size="sm" c="dimmed">
          Deliveries of live events in whole UTC days, since {first.from.slice(0, 10)}. Waiting is
          as of now.
        </Text>
      </div>
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
        {destinations.map(one => (
          <DestinationSummary
            key={one.status.destination.id}
            workspace={workspace}
            destination={one}
          />
        ))}
      </SimpleGrid>
    </Stack>
  )
}

interface SummaryProps {
  workspace: string
  destination: DestinationOverview
}

function DestinationSummary({ workspace, destination }: SummaryProps) {
  const { status, platform, received, accepted, skipped, failed, reported } = destination
  const { label, color, sentence } = describeHealth(status)
  const { waiting, is_lower_bound: isMinimum } = status.queue
  const headingId = useId()
  const counts = [
    ['Received', formatNumber(received)],
    ['Skipped', formatNumber(skipped.count)],
    ['Waiting', `${formatNumber(waiting)}${isMinimum ? '+' : ''}`],
    ['Failed', formatNumber(failed.count)],
    ['Accepted', formatNumber(accepted)],
    ['Reported', reported.count === null ? 'Nothing' : formatNumber(reported.count)],
  ]
  return (
    <Stack component="section" className="surface" p="md" gap="sm" aria-labelledby={headingId}>
      <Group justify="space-between" gap="sm">
        <Title order={3} size="h5" id={headingId} style={{ overflowWrap: 'anywhere' }}>
          {platform} {status.target}
        </Title>
        <Badge variant="light" color={color} tt="none" fw={600} radius="sm">
          {label}
        </Badge>
      </Group>
      {sentence && (
        <Text size="sm" c="dimmed">
          {sentence}
        </Text>
      )}
      <SimpleGrid cols={{ base: 2, xs: 3 }} spacing="sm">
        {counts.map(([name, count]) => (
          <div key={name}>
            <Text size="sm" c="dimmed">
              {name}
            </Text>
            <Text size="lg" fw={600}>
              {count}
            </Text>
          </div>
        ))}
      </SimpleGrid>
      <Reasons title="Skipped" reasons={skipped.reasons} />
      <Reasons title="Failed" reasons={failed.reasons} />
      {reported.explanation !== null && (
        <Text size="sm" c="dimmed">
          {reported.explanation}
        </Text>
      )}
      <Group gap="md" mt="auto">
        <WorkspaceLink workspace={workspace} path="destinations" size="sm">
          Open the destination
        </WorkspaceLink>
        <WorkspaceLink workspace={workspace} path="reports" size="sm">
          Show its reports
        </WorkspaceLink>
      </Group>
    </Stack>
  )
}

interface ReasonsProps {
  title: string
  reasons: DestinationOverview['skipped']['reasons']
}

function Reasons({ title, reasons }: ReasonsProps) {
  if (reasons.length === 0) return null
  return (
    <ul className="reasons" aria-label={`${title} by reason`}>
      {reasons.map(({ reason, count }) => (
        <li key={reason}>
          <span>
            {title}: {describeReason(reason)}
          </span>{' '}
          <span>{formatNumber(count)}</span>
        </li>
      ))}
    </ul>
  )
}
