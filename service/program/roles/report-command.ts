import { isRecognized } from '@signalbox/contract/closed-set.ts'
import { ALL_BUCKET_NAMES, type ReportStatus } from '@signalbox/contract/reports.ts'
import { Command } from 'commander'
import type { Database } from '../../runtime/db/database.ts'
import type { JobName } from '../../runtime/jobs/job.ts'
import { enqueueJob, hasPendingJob } from '../../runtime/jobs/job-store.ts'
import {
  addHoursToDay,
  formatIsoMinute,
  isCalendarDay,
  toDaySpan,
} from '../../runtime/util/time.ts'
import { sleep } from '../../runtime/util/wait.ts'
import { everyDestination } from '../../signals/delivery/credential-store.ts'
import { formatTarget } from '../../signals/delivery/destination-resource.ts'
import type { Destination } from '../../signals/delivery/destination-store.ts'
import type { SentValue } from '../../signals/delivery/sent-counts-store.ts'
import { explainOutcome } from '../../signals/reports/bucket-explanations.ts'
import { findReports, type StoredReport } from '../../signals/reports/reconciliation-store.ts'
import { firstDueAt, REPORT_DAYS_MAX } from '../../signals/reports/report-schedule.ts'
import { runOnStore } from './open-store.ts'
import { findTrackerArgument, parseTracker, type TrackerReference } from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'
import { formatTable, stripControlCharacters, type TableColumn } from './terminal-table.ts'

/** Shows the reconciliation reports of a day; with `refresh`, the workers make them first. */
export async function runReport(context: RoleContext, request: ReportRequest): Promise<void> {
  const { now, printOutput } = context
  if (request.refresh && now() < toDaySpan(request.date).until) {
    throw new StartError(explainMissingReport(request.date, now()))
  }
  await runOnStore(context, 'report', async ({ database }) => {
    const destinations = await findDestinations(database, request)
    if (request.refresh) await refreshReports(database, request, destinations)
    const count = await printReports(context, request, { database, destinations })
    if (count === 0) printOutput(`${explainMissingReport(request.date, now())}\n`)
  })
}

async function findDestinations(
  database: Database,
  { tracker }: ReportRequest,
): Promise<Destination[]> {
  const trackerId = tracker && (await findTrackerArgument(database, tracker)).trackerId
  const all = await Array.fromAsync(everyDestination(database))
  return all.filter(destination => trackerId === null || destination.trackerId === trackerId)
}

const REFRESH_JOB: JobName = 'refresh-report'
const POLL_SECONDS = 0.1
/** One minute. */
const POLLS_MAX = 600

/** The workers make reports, since they know the platform and its credentials. */
async function refreshReports(
  database: Database,
  { date }: ReportRequest,
  destinations: readonly Destination[],
): Promise<void> {
  const trackerIds = [...new Set(destinations.map(({ trackerId }) => trackerId))]
  for (const trackerId of trackerIds) await enqueueJob(database, REFRESH_JOB, { trackerId, date })
  for (let polls = 0; polls < POLLS_MAX; polls += 1) {
    if (!(await hasPendingJob(database, REFRESH_JOB))) return
    await sleep(POLL_SECONDS)
  }
  throw new StartError(
    'No worker made the report within a minute: start "signalbox-server all" or "deliver" with ' +
      'SIGNALBOX_JOBS on; the report is made as soon as a worker runs.',
  )
}

interface ReportSource {
  database: Database
  destinations: readonly Destination[]
}

/** Returns the number of reports. */
async function printReports(
  { printOutput }: RoleContext,
  { date }: ReportRequest,
  { database, destinations }: ReportSource,
): Promise<number> {
  let count = 0
  for (const destination of destinations) {
    const reports = await findReports(database, destination.trackerId, date)
    const report = reports.find(({ destinationId }) => destinationId === destination.id)
    if (!report) continue
    printOutput(`${count > 0 ? '\n' : ''}${formatReportTable(report, destination)}`)
    if (report.trouble !== null) {
      const at = formatIsoMinute(report.triedAt)
      printOutput(`The refresh at ${at} UTC failed. ${report.trouble}\n`)
    }
    count += 1
  }
  return count
}

/** Why there is no report, and when there will be one. */
function explainMissingReport(day: string, now: Date): string {
  const dueAt = firstDueAt(day)
  const due = `${formatIsoMinute(dueAt)} UTC`
  if (now < toDaySpan(day).until) return `${day} is not over: its report is made at ${due}.`
  if (now < dueAt) return `The report of ${day} is made at ${due}; --refresh makes it now.`
  if (now < addHoursToDay(day, 24 * REPORT_DAYS_MAX)) {
    return (
      `There is no report of ${day}: a running worker makes it within the hour if events were ` +
      'sent in the last days; --refresh makes it now.'
    )
  }
  return `There is no report of ${day}, and the platform keeps counts for 7 days only.`
}

export interface ReportRequest {
  /** UTC day, YYYY-MM-DD. */
  date: string
  /** Null: all trackers of the store. */
  tracker: TrackerReference | null
  /** Get the counts of the platform now, and store the new report. */
  refresh: boolean
}

export function defineReportCommand(handle: (request: ReportRequest) => Promise<void>): Command {
  return new Command()
    .requiredOption('--date <day>', 'UTC day, YYYY-MM-DD', parseDay)
    .option('--tracker <id>', 'ID of a tracker or of its workspace; all by default', parseTracker)
    .option('--refresh', 'make the report now', false)
    .action(({ date, tracker = null, refresh }) => handle({ date, tracker, refresh }))
}

function parseDay(text: string): string {
  if (isCalendarDay(text)) return text
  throw new StartError(`--date takes a day such as 2026-11-20, not ${text}.`)
}

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
    ...formatCountSource(report),
    '',
    ...formatEventNames(report, isCompared),
    '',
    ...(isCompared ? formatBuckets(report) : formatUnavailable(report)),
    ...formatDetails(report),
  ]
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}

function formatEventNames({ eventCounts, ...totals }: StoredReport, isCompared: boolean): string[] {
  const hasNames = isCompared && totals.details?.countSource?.source !== 'request_results'
  const accepted = new Map(Object.entries(eventCounts.accepted))
  const platform = new Map(Object.entries(eventCounts.meta))
  const row = (name: string, ours: number, theirs: number) =>
    hasNames
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
    formatTotal(totals),
  ]
}

/** A platform that tells no names has a total only. */
function formatTotal({ acceptedCount, platformCount }: Omit<StoredReport, 'eventCounts'>): string {
  const ours = formatCount(acceptedCount)
  if (platformCount === null) return formatRow('Total', [ours, '-', '-'])
  const gap = formatSignedCount(acceptedCount - platformCount)
  return formatRow('Total', [ours, formatCount(platformCount), gap])
}

function formatBuckets({ buckets, unexplainedResidual }: StoredReport): string[] {
  const lines = [formatRow('EXPLAINED BY', ['COUNT', 'BASIS'])]
  for (const name of ALL_BUCKET_NAMES) {
    const bucket = buckets[name]
    if (!bucket) continue
    lines.push(formatRow(name, [formatSignedCount(bucket.count), bucket.basis]))
    lines.push(...wrapText('    ', bucket.explanation))
  }
  return [...lines, formatRow('Not explained', [formatSignedCount(unexplainedResidual ?? 0)])]
}

/** Why there are no counts. */
function formatUnavailable({ details }: StoredReport): string[] {
  const sentence = details?.unavailable?.sentence ?? ''
  const text = sentence.startsWith(NOT_COMPARED) ? sentence : `${NOT_COMPARED} ${sentence}`
  return wrapText('  ', text.trimEnd())
}

const NOT_COMPARED = 'The day was not compared.'
/** What the destination did not get, and the value of what it got. */
function formatDetails({ details }: StoredReport): string[] {
  if (!details) return []
  const { outcomes, values, sentNames } = details
  return [
    ...section('NOT ACCEPTED', 'DELIVERIES', outcomes.flatMap(formatOutcome)),
    ...section('VALUE ACCEPTED', 'AMOUNT', values.accepted.map(formatValue)),
    ...(values.reported ?? []).map(({ currency, amount }) =>
      formatRow(`Reported by the platform, ${currency}`, [amount]),
    ),
    ...(values.reported === null && values.noValues ? wrapText('  ', values.noValues) : []),
    ...sentNames.flatMap(({ eventName, platformName }) =>
      wrapText('  ', `${eventName} is sent and counted as ${platformName}.`),
    ),
  ]
}

function section(title: string, unit: string, rows: readonly string[]): string[] {
  return rows.length === 0 ? [] : ['', formatRow(title, [unit]), ...rows]
}

function formatOutcome({
  status,
  reason,
  count,
}: {
  status: string
  reason: string
  count: number
}) {
  const row = formatRow(status, [formatCount(count)])
  return [row, ...wrapText('    ', explainOutcome(reason))]
}

function formatValue({ eventName, currency, amount }: SentValue): string {
  return formatRow(`${eventName}, ${currency}`, [amount])
}

/** Of the platform, in its own words. */
function formatCountSource({ details }: StoredReport): string[] {
  const source = details?.countSource
  if (!source) return []
  return wrapText('  Platform     ', `${source.platform}: ${source.label}. ${source.meaning}`)
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
