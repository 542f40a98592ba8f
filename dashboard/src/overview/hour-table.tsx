import { Table } from '@mantine/core'
import type { StageSummary } from '@signalbox/contract/session/overview.ts'
import type { TimeZone } from '../components/input-time.ts'
import { formatAbsolute, useTimeZone } from '../components/time.tsx'
import { STAGE_TEXTS } from './stage-texts.ts'

/** Beyond two days a row is a day. */
const HOURLY_MAX = 48

interface HourTableProps {
  stages: readonly StageSummary[]
  hours: number
}

/** The counts of all stages by hour or by UTC day, newest first. */
export function HourTable({ stages, hours }: HourTableProps) {
  const [zone] = useTimeZone()
  const isDaily = hours > HOURLY_MAX
  const columns = stages.filter(({ from, stage }) => from !== null && stage !== 'platform_counted')
  const rows = new Map<string, Map<string, number>>()
  for (const { stage, hours: counted } of columns) {
    for (const { hour, count } of counted) {
      const key = isDaily ? hour.slice(0, 10) : hour
      const row = rows.get(key) ?? new Map<string, number>()
      row.set(stage, (row.get(stage) ?? 0) + count)
      rows.set(key, row)
    }
  }
  if (rows.size === 0) return null
  return (
    <details className="surface details">
      <summary>{isDaily ? 'Counts by day' : 'Counts by hour'}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, scrollable region */}
      <section className="scroll-x" tabIndex={0} aria-label="Counts over time">
        <Table horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{isDaily ? 'UTC day' : 'Hour from'}</Table.Th>
              {columns.map(({ stage }) => (
                <Table.Th key={stage} ta="right">
                  {STAGE_TEXTS[stage].title}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {[...rows]
              .sort(([a], [b]) => (a < b ? 1 : -1))
              .map(([key, counts]) => (
                <Table.Tr key={key}>
                  <Table.Th scope="row" fw={400} style={{ whiteSpace: 'nowrap' }}>
                    {isDaily ? key : formatHour(key, zone)}
                  </Table.Th>
                  {columns.map(({ stage }) => (
                    <Table.Td key={stage} ta="right">
                      {counts.get(stage) ?? 0}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
          </Table.Tbody>
        </Table>
      </section>
    </details>
  )
}

/** Without seconds. */
function formatHour(hour: string, zone: TimeZone): string {
  return formatAbsolute(new Date(hour), zone).replace(/:\d{2} /, ' ')
}
