import { Group, Stack, Text, Title } from '@mantine/core'
import type { EventFlow } from '@signalbox/contract/session/overview.ts'
import { type ReactNode, useId } from 'react'
import { formatCount, formatNumber } from '../components/format-count.ts'

interface TrendsProps {
  flow: EventFlow
  nameOf: (destinationId: string | null) => string
}

/** Below the picture: events by day, how long they took, and what changed. */
export function FlowTrends({ flow, nameOf }: TrendsProps) {
  return (
    <div className="flow-trends">
      <Panel title="Events by day">
        <DayBars flow={flow} />
      </Panel>
      <Panel title="From receipt to acceptance">
        <Delays flow={flow} nameOf={nameOf} />
      </Panel>
      <Panel title={`Changes on ${flow.changes_day}`}>
        <Changes flow={flow} nameOf={nameOf} />
      </Panel>
    </div>
  )
}

function Panel({ title, children }: { title: string; children: ReactNode }) {
  const id = useId()
  return (
    <Stack component="section" className="surface" p="md" gap="xs" aria-labelledby={id}>
      <Title order={2} size="h5" id={id}>
        {title}
      </Title>
      {children}
    </Stack>
  )
}

const HEIGHT = 96
const GAP = 0.2

/** Stored events of each day, with the part of their deliveries that failed. */
function DayBars({ flow: { days } }: Pick<TrendsProps, 'flow'>) {
  const highest = Math.max(1, ...days.map(({ events }) => events))
  const [first, last] = [days[0]?.day, days.at(-1)?.day]
  const total = days.reduce((sum, { events }) => sum + events, 0)
  const top = days.find(({ events }) => events === highest)
  return (
    <>
      <svg
        className="day-bars"
        viewBox={`0 0 ${days.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${formatCount(total, 'event')} from ${first} to ${last}`}
      >
        {days.map(({ day, events, failed, ...outcomes }, index) => {
          const height = events === 0 ? 1 : Math.max(2, (events / highest) * HEIGHT)
          const planned = failed + sumOutcomes(outcomes)
          const failedHeight = planned === 0 ? 0 : height * (failed / planned)
          const x = index + GAP / 2
          return (
            <g key={day}>
              <title>
                {`${day}: ${formatCount(events, 'event')}, ${formatNumber(failed)} failed`}
              </title>
              <rect x={x} y={HEIGHT - height} width={1 - GAP} height={height} />
              <rect
                className="day-failed"
                x={x}
                y={HEIGHT - failedHeight}
                width={1 - GAP}
                height={failedHeight}
              />
            </g>
          )
        })}
      </svg>
      <Group justify="space-between">
        <Text size="xs" c="dimmed">
          {first}
        </Text>
        <Text size="xs" c="dimmed">
          {last}
        </Text>
      </Group>
      {top && (
        <Text size="sm" c="dimmed">
          Most on {top.day}: {formatCount(highest, 'event')}. The red part of a bar failed.
        </Text>
      )}
    </>
  )
}

type Outcomes = Omit<EventFlow['days'][number], 'day' | 'events' | 'failed'>

function sumOutcomes({ accepted, waiting, held, skipped, test }: Outcomes): number {
  return accepted + waiting + held + skipped + test
}

function Delays({ flow: { delays }, nameOf }: TrendsProps) {
  if (delays.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No platform accepted an event of these days.
      </Text>
    )
  }
  return (
    <dl className="flow-delays">
      {delays.map(({ destination_id: id, p50_seconds: p50, p99_seconds: p99 }) => (
        <div key={id}>
          <dt>{nameOf(id)}</dt>
          <dd>
            Half within <strong>{formatSeconds(p50)}</strong>, 99 % within{' '}
            <strong>{formatSeconds(p99)}</strong>
          </dd>
        </div>
      ))}
    </dl>
  )
}

const MINUTE = 60
const HOUR = 3_600

function formatSeconds(seconds: number): string {
  if (seconds < 2 * MINUTE) return `${Math.round(seconds)} s`
  if (seconds < 2 * HOUR) return `${Math.round(seconds / MINUTE)} min`
  return `${Math.round(seconds / HOUR)} h`
}

const MEASURES = { stored: 'stored', accepted: 'accepted', failed: 'failed' } as const

function Changes({ flow: { changes }, nameOf }: TrendsProps) {
  if (changes.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        The same as on the day before.
      </Text>
    )
  }
  return (
    <ul className="flow-changes">
      {changes.map(({ destination_id: id, event_name: name, measure, before, after }) => (
        <li key={`${id} ${name} ${measure}`}>
          <span>
            {name} {MEASURES[measure]}
            {id !== null && <span className="quiet"> · {nameOf(id)}</span>}
          </span>
          <span className="nowrap">
            {formatNumber(before)} → <strong>{formatNumber(after)}</strong>
          </span>
        </li>
      ))}
    </ul>
  )
}
