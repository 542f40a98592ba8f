import { isRecognized } from '@signalbox/contract/closed-set.ts'
import { BUCKET_NAMES, type ReportStatus } from '@signalbox/contract/reports.ts'
import { formatIsoMinute } from '../../runtime/util/time.ts'
import { formatTarget } from '../../signals/delivery/destination-resource.ts'
import type { Destination } from '../../signals/delivery/destination-store.ts'
import type { StoredReport } from '../../signals/reports/reconciliation-store.ts'
import { formatTable, stripControlCharacters, type TableColumn } from './terminal-table.ts'

const LINE_WIDTH = 80
const NAME_WIDTH = 36
/** As wide as -2,147,483,647. */
const COUNT_COLUMN: TableColumn = { align: 'right', width: 14 }
const COLUMNS = [{ width: NAME_WIDTH }, COUNT_COLUMN, COUNT_COLUMN, COUNT_COLUMN]
const NAMES_SHOWN_MAX = 40

const STATUS_SENTENCES: Record<ReportStatus, string> = {
  matched: 'both sides count the same.',
  explained: 'they differ, and every difference has an explanation.',
  unexplained: 'a difference remains without an explanation; see "Not explained".',
  pending: 'some events of the day still wait to be sent; the report will be updated.',
  unavailable: 'the platform returned no counts, so nothing was compared.',
}

function describeStatus(status: StoredReport['status']): string {
  return isRecognized(status) ? `${status}: ${STATUS_SENTENCES[status]}` : status.unrecognized
}

/** One report as text for a terminal, at most 80 columns wide and without color. */
export function formatReportTable(report: StoredReport, destination: Destination): string {
  const { status } = report
  const isCompared = status !== 'unavailable'
  const lines = [
    `Reconciliation of ${report.reportDate} (UTC)`,
    `  Tracker      ${destination.trackerId}`,
    `  Destination  ${destination.id}`,
    `  Target       ${formatTarget(destination.config)}`,
    `  Made         ${formatIsoMinute(report.updatedAt)} UTC`,
    ...wrapText('  Status       ', describeStatus(status)),
    '',
    ...formatEventNames(report, isCompared),
    '',
    ...(isCompared ? formatBuckets(report) : formatUnavailable(report)),
  ]
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}

function formatEventNames({ eventCounts, ...totals }: StoredReport, isCompared: boolean): string[] {
  const accepted = new Map(Object.entries(eventCounts.accepted))
  const platform = new Map(Object.entries(eventCounts.meta))
  const row = (name: string, ours: number, theirs: number) =>
    isCompared
      ? formatRow(name, [formatCount(ours), formatCount(theirs), formatSignedCount(ours - theirs)])
      : formatRow(name, [formatCount(ours), '-', '-'])
  const rows = [...new Set([...accepted.keys(), ...platform.keys()])]
    .map(name => [name, accepted.get(name) ?? 0, platform.get(name) ?? 0] as const)
    .sort(([a, ...countsA], [b, ...countsB]) => {
      return Math.max(...countsB) - Math.max(...countsA) || (a < b ? -1 : 1)
    })
  const left = rows.length - NAMES_SHOWN_MAX
  return [
    formatRow('EVENT', ['ACCEPTED', 'PLATFORM', 'GAP']),
    ...rows.slice(0, NAMES_SHOWN_MAX).map(cells => row(...cells)),
    ...(left > 0 ? [`  (${left} more names)`] : []),
    row('Total', totals.acceptedCount, totals.platformCount),
  ]
}

function formatBuckets({ buckets, unexplainedResidual }: StoredReport): string[] {
  const lines = [formatRow('EXPLAINED BY', ['COUNT', 'BASIS'])]
  for (const name of BUCKET_NAMES) {
    const bucket = buckets[name]
    if (!bucket) continue
    lines.push(formatRow(name, [formatSignedCount(bucket.count), bucket.basis]))
    lines.push(...wrapText('    ', bucket.explanation))
  }
  return [...lines, formatRow('Not explained', [formatSignedCount(unexplainedResidual)])]
}

/** Every bucket has the same explanation: why there are no counts. */
function formatUnavailable({ buckets }: StoredReport): string[] {
  const [bucket] = Object.values(buckets)
  return wrapText('  ', bucket?.explanation ?? 'The day was not compared.')
}

function formatRow(name: string, cells: readonly string[]): string {
  const columns = COLUMNS.slice(0, cells.length + 1)
  return formatTable([[truncateName(name), ...cells]], { columns, indent: '  ', gap: '' }).trimEnd()
}

/** Names come from callers and from the platform. */
function truncateName(name: string): string {
  const plain = stripControlCharacters(name)
  return plain.length > NAME_WIDTH ? `${plain.slice(0, NAME_WIDTH - 3)}...` : plain
}

/** Breaks at spaces; further lines are indented to the text of the first. */
function wrapText(head: string, text: string): string[] {
  const lines = [head]
  for (const word of stripControlCharacters(text).split(/ +/)) {
    const line = lines.at(-1) ?? ''
    const isFirst = line.length === head.length
    const joined = isFirst ? `${line}${word}` : `${line} ${word}`
    if (isFirst || joined.length <= LINE_WIDTH) lines[lines.length - 1] = joined
    else lines.push(`${' '.repeat(head.length)}${word}`)
  }
  return lines
}

function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',')
}

function formatSignedCount(count: number): string {
  return count > 0 ? `+${formatCount(count)}` : formatCount(count)
}
