import { SimpleGrid, Stack, Table, Text } from '@mantine/core'
import type { DeliveryDetails } from '@signalbox/contract/session/events.ts'
import { Copy } from '../components/copy.tsx'
import { Facts, Section } from '../components/facts.tsx'
import { ReplayButton } from '../components/replay.tsx'
import { StatusBadge } from '../components/status-badge.tsx'
import { Time } from '../components/time.tsx'

interface DeliverySectionProps {
  delivery: DeliveryDetails
  canManage: boolean
}

/** Times and attempts of one delivery; the page explains it above. */
export function DeliverySection({ delivery, canManage }: DeliverySectionProps) {
  const { platform_trace_id: trace, next_attempt_at, window_ends_at, replayed_at } = delivery
  const selection = canManage && delivery.can_replay ? { delivery_ids: [delivery.id] } : null
  const { status, status_reason: statusReason, destination_name: name } = delivery
  const isOpen = status.startsWith('failed') || next_attempt_at !== null
  const reason = status !== statusReason && <span className="code">{statusReason}</span>
  return (
    <Section
      title={name === null ? 'Delivery' : `Delivery to ${name}`}
      actions={<ReplayButton selection={selection} label="Replay" />}
    >
      <Stack gap="md">
        <Facts
          facts={[
            ['Status', <StatusBadge status={status} isTest={delivery.is_test} key="s" />],
            ['Reason', reason],
            ['Destination', <span className="code">{delivery.destination_id ?? 'none'}</span>],
            ['Attempts', delivery.attempt_count],
            ['Last change', delivery.updated_at && <Time at={delivery.updated_at} />],
            ['Next attempt', next_attempt_at && <Time at={next_attempt_at} isPlanned />],
            ['Replayed', replayed_at && <Time at={replayed_at} />],
            [
              'Platform accepts it until',
              isOpen && window_ends_at && <Time at={window_ends_at} isPlanned />,
            ],
            ['Trace ID', trace && <TraceId id={trace} />],
          ]}
        />
        {delivery.replay_advice && <Text size="sm">{delivery.replay_advice}</Text>}
        {delivery.attempts.length > 0 && <Attempts attempts={delivery.attempts} />}
        {delivery.attempt_count > 0 && <Request request={delivery.request} />}
      </Stack>
    </Section>
  )
}

/** What each destination got of the event and why not, before the details of each. */
export function DeliveryComparison({ deliveries }: { deliveries: readonly DeliveryDetails[] }) {
  return (
    <SimpleGrid component="ul" cols={{ base: 1, sm: 2, xl: 3 }} spacing="md" className="compared">
      {deliveries.map(({ id, destination_name: name, ...delivery }) => (
        <Stack key={id} component="li" gap="xs" align="flex-start">
          <Text fw={600} className="anywhere">
            {name ?? 'No destination'}
          </Text>
          <StatusBadge status={delivery.status} isTest={delivery.is_test} />
          <Text size="sm">{delivery.explanation}</Text>
        </Stack>
      ))}
    </SimpleGrid>
  )
}

function TraceId({ id }: { id: string }) {
  return (
    <>
      <span className="code">{id}</span> <Copy text={id} label="Copy" />
    </>
  )
}

/** A phone shows the time, the outcome and the answer. */
function Attempts({ attempts }: Pick<DeliveryDetails, 'attempts'>) {
  return (
    <Table verticalSpacing="xs" horizontalSpacing="xs" captionSide="top">
      <Table.Caption ta="left">Requests that carried the event, oldest first</Table.Caption>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Time</Table.Th>
          <Table.Th>Outcome</Table.Th>
          <Table.Th visibleFrom="sm">HTTP</Table.Th>
          <Table.Th visibleFrom="sm">Duration</Table.Th>
          <Table.Th visibleFrom="md">Events</Table.Th>
          <Table.Th visibleFrom="md">Trace ID</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {attempts.map(attempt => (
          <Table.Tr key={attempt.started_at}>
            <Table.Td>
              <Time at={attempt.started_at} format="absolute" />
            </Table.Td>
            <Table.Td>
              {attempt.outcome}
              {attempt.answer && <Answer answer={attempt.answer} />}
            </Table.Td>
            <Table.Td visibleFrom="sm">{attempt.http_status ?? 'none'}</Table.Td>
            <Table.Td visibleFrom="sm">{attempt.duration_milliseconds} ms</Table.Td>
            <Table.Td visibleFrom="md">{attempt.event_count}</Table.Td>
            <Table.Td visibleFrom="md" className="code">
              {attempt.trace_id}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

/** Built again when a person looks: a page of an event has it folded. */
function Request({ request: { body, sentence } }: Pick<DeliveryDetails, 'request'>) {
  if (body === null) {
    return (
      <Text size="sm" c="dimmed">
        {sentence}
      </Text>
    )
  }
  return (
    <details>
      <summary>Request to the platform, rebuilt</summary>
      <Text size="sm" c="dimmed" maw="46rem" my="xs">
        {sentence}
      </Text>
      <pre className="code answer">{body}</pre>
    </details>
  )
}

function Answer({ answer }: { answer: Record<string, unknown> }) {
  return (
    <details>
      <summary>Answer of the platform</summary>
      <pre className="code answer">{JSON.stringify(answer, null, 2)}</pre>
    </details>
  )
}
