import { Anchor, Group, Stack, Text, Title } from '@mantine/core'
import { REFUSAL_RULES } from '@signalbox/contract/refusal-rules.ts'
import type { RefusalSummary } from '@signalbox/contract/session/issues.ts'
import { Copy } from '../components/copy.tsx'
import { formatNumber } from '../components/format-count.ts'
import { Time } from '../components/time.tsx'

/** Why events were refused, with what to change and the way to the log. */
export function RefusalList({ refusals }: { refusals: readonly RefusalSummary[] }) {
  return (
    <Stack gap="md">
      {refusals.map(refusal => (
        <Refusal
          key={[refusal.status, refusal.field, refusal.rule, refusal.first_seen_at].join()}
          refusal={refusal}
        />
      ))}
    </Stack>
  )
}

function Refusal({ refusal }: { refusal: RefusalSummary }) {
  const { status, field, rule, errors, first_seen_at, last_seen_at, last_request_id } = refusal
  const { title, advice } = REFUSAL_RULES[rule]
  return (
    <Stack component="article" className="surface" p="md" gap="xs">
      <div>
        <Title order={3} size="h5">
          {title}
        </Title>
        <Text className="code">
          {field === null ? `Status ${status}` : `Status ${status}, ${field}`}
        </Text>
      </div>
      <Text maw="46rem">
        {advice}{' '}
        <Anchor href={`/docs/refusals#${rule}`} inherit underline="always">
          Read more
        </Anchor>
      </Text>
      <Text size="sm" c="dimmed">
        {errors === 1 ? 'Once' : `${formatNumber(errors)} times`}. First seen{' '}
        <Time at={first_seen_at} format="relative" />, last seen{' '}
        <Time at={last_seen_at} format="relative" />.
      </Text>
      <Group gap="sm">
        <Text size="sm">
          Last Request-Id <span className="code">{last_request_id}</span>
        </Text>
        <Copy text={last_request_id} label="Copy" />
      </Group>
    </Stack>
  )
}
