import { Progress as Bar, Button, Stack, Text } from '@mantine/core'
import type { CountedLoss } from '@signalbox/cli/src/import/import-tally.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Facts, Section } from '../components/facts.tsx'
import { formatNumber } from '../components/format-count.ts'
import type { Progress, RefusedRow } from './run-import.ts'

interface ImportProgressProps {
  progress: Progress
  /** Lines of the file, for the bar. */
  lineCount: number
  fileName: string
}

const ROWS_SHOWN = 100

/** How far an import is, and what was refused or dropped, by row. */
export function ImportProgress({ progress, lineCount, fileName }: ImportProgressProps) {
  const { isDryRun, isDone, rows, refused, refusedRows, dropped } = progress
  const percent = isDone ? 100 : Math.min(99, (100 * rows) / Math.max(1, lineCount))
  const shown = refusedRows.slice(0, ROWS_SHOWN)
  return (
    <Section
      title={isDryRun ? 'Check' : 'Import'}
      description={isDryRun ? 'Nothing is stored.' : 'A second import of the file doubles nothing.'}
    >
      <Stack gap="md">
        <Bar value={percent} aria-label="Rows read" size="lg" radius="sm" />
        <Text role="status">
          {isDone ? 'Done' : 'Running'}: {formatNumber(rows)} rows
        </Text>
        <Facts
          facts={[
            [isDryRun ? 'Would be stored' : 'Stored', progress.stored],
            ['Stored before', isDryRun ? null : progress.duplicates],
            ['Of these too old for the platform', isDryRun && progress.pastWindow],
            ['Of these kept back by consent', isDryRun && progress.withheld],
            ['Refused', refused],
            ['Blank', progress.blank],
          ]}
        />
        {shown.length > 0 && (
          <>
            <DataTable
              label="Refused rows"
              columns={REFUSED}
              rows={shown}
              rowKey={({ line, reason }) => `${line} ${reason}`}
            />
            {refused > shown.length && (
              <Text size="sm">{formatNumber(refused - shown.length)} more were refused.</Text>
            )}
            <div>
              <Button
                component="a"
                variant="default"
                href={toCsvAddress(refusedRows)}
                download={`${fileName}.refused.csv`}
              >
                Download refused rows
              </Button>
            </div>
          </>
        )}
        {dropped.length > 0 && (
          <DataTable
            label="Dropped members"
            columns={DROPPED}
            rows={dropped.slice(0, ROWS_SHOWN)}
            rowKey={({ code, field, reason }) => `${code} ${field} ${reason}`}
          />
        )}
      </Stack>
    </Section>
  )
}

const REFUSED: readonly Column<RefusedRow>[] = [
  { key: 'line', header: 'Line', cell: ({ line }) => formatNumber(line) },
  { key: 'reason', header: 'Why it was refused', cell: ({ reason }) => reason },
]

const DROPPED: readonly Column<CountedLoss>[] = [
  {
    key: 'field',
    header: 'Dropped',
    wrap: 'free',
    cell: ({ field }) => <span className="code">{field}</span>,
  },
  { key: 'count', header: 'Rows', align: 'right', cell: ({ count }) => formatNumber(count) },
  { key: 'line', header: 'First line', align: 'right', cell: ({ line }) => formatNumber(line) },
  { key: 'reason', header: 'Why', from: 'sm', cell: ({ reason }) => reason },
]

/** A file without the values of the rows: they are in the file that was chosen. */
function toCsvAddress(rows: readonly RefusedRow[]): string {
  const lines = rows.map(({ line, reason }) => `${line},"${reason.replaceAll('"', '""')}"`)
  const text = ['line,reason', ...lines].join('\r\n')
  return `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`
}
