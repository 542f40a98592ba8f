import { Alert, Badge, List, Stack, Table, Text } from '@mantine/core'
import type { MatchQualityReport } from '@signalbox/contract/session/reports.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { Section } from '../components/facts.tsx'
import { formatNumber } from '../components/format-count.ts'
import { Time } from '../components/time.tsx'
import { ChartFrame, ScoreChart } from './chart-frame.tsx'

type Quality = MatchQualityReport['destinations'][number]

interface MatchQualityProps {
  quality: Quality
  alertBelow: number
  /** UTC day, YYYY-MM-DD: the last one of the coverage. */
  until: string
}

/** The trend of the score, what to add, and which identifiers the events carry. */
export function MatchQuality({ quality, alertBelow, until }: MatchQualityProps) {
  const { trend, advice, coverage, unavailable } = quality
  return (
    <Stack gap="lg">
      {unavailable && (
        <Alert color="yellow" variant="light" title="The last query gave no score">
          {unavailable.sentence} Queried again <Time at={unavailable.next_read_at} isPlanned />.
        </Alert>
      )}
      {trend.length === 0 && (
        <EmptyState title="No score in these days">
          The platform is asked once a day, from 05:00 UTC on, for each destination with an accepted
          event in the last seven days. Coverage is counted here from the first accepted event on.
        </EmptyState>
      )}
      {advice.length > 0 && <Advice advice={advice} />}
      {trend.length > 0 && <Scores trend={trend} alertBelow={alertBelow} />}
      {coverage.length > 0 && <Coverage coverage={coverage} until={until} />}
    </Stack>
  )
}

function Advice({ advice }: Pick<Quality, 'advice'>) {
  return (
    <Section title="What to add">
      <List spacing="xs">
        {advice.map(({ event_name, key, kind, sentence, possible_gain_percent: gain }) => (
          <List.Item key={`${event_name} ${key} ${kind}`}>
            <Sentence text={sentence} />{' '}
            {gain !== null && (
              <Badge variant="light" tt="none" radius="sm">
                up to +{gain} %
              </Badge>
            )}
          </List.Item>
        ))}
      </List>
    </Section>
  )
}

/** A sentence in which the names of members stand between backticks. */
function Sentence({ text }: { text: string }) {
  const parts = text.split('`')
  return parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))
}

function Scores({ trend, alertBelow }: Pick<Quality, 'trend'> & { alertBelow: number }) {
  return (
    <Section title="Score">
      <ChartFrame label="Score by day, from 0 to 10">
        <ScoreChart trend={trend} alertBelow={alertBelow} />
      </ChartFrame>
      <Table.ScrollContainer minWidth={420} mah="22rem" mt="lg" tabIndex={0} type="native">
        <Table aria-label="Scores" fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Day (UTC)</Table.Th>
              <Table.Th ta="right">Score</Table.Th>
              <Table.Th ta="right">Within a week</Table.Th>
              <Table.Th>Alert</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {trend.toReversed().map(({ date, score, week_over_week_change: change, alerted }) => (
              <Table.Tr key={date}>
                <Table.Td className="nowrap">{date}</Table.Td>
                <Table.Td ta="right">{score.toFixed(1)}</Table.Td>
                <Table.Td ta="right">{change === null ? '–' : formatChange(change)}</Table.Td>
                <Table.Td>
                  {alerted && (
                    <Badge variant="light" color="red" tt="none" radius="sm">
                      {score < alertBelow ? `Below ${alertBelow}` : 'Fell'}
                    </Badge>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  )
}

function formatChange(change: number): string {
  return `${change > 0 ? '+' : ''}${change.toFixed(1)}`
}

interface CoverageProps extends Pick<Quality, 'coverage'> {
  until: string
}

function Coverage({ coverage, until }: CoverageProps) {
  const keys = [...new Set(coverage.flatMap(({ keys }) => Object.keys(keys)))]
  return (
    <Section title="Coverage">
      <Text size="sm" c="dimmed" mb="sm">
        How many percent of the events that the platform accepted carry each identifier, in the
        seven days up to {until} (UTC).
      </Text>
      <Table.ScrollContainer minWidth={640} tabIndex={0} type="native">
        <Table aria-label="Coverage" fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Event</Table.Th>
              <Table.Th ta="right">Events</Table.Th>
              {keys.map(key => (
                <Table.Th key={key} ta="right" className="code">
                  {key}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {coverage.map(({ event_name, events, keys: percents }) => (
              <Table.Tr key={event_name}>
                <Table.Td>{event_name}</Table.Td>
                <Table.Td ta="right">{formatNumber(events)}</Table.Td>
                {keys.map(key => (
                  <Table.Td key={key} ta="right">
                    {percents[key] ?? 0}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  )
}
