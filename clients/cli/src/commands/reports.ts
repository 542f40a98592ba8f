import type { EmqReport, ReconciliationReports } from '@signalbox/sdk'
import { isObject } from '../../../../service/runtime/util/is-object.ts'
import { createUsageError } from '../cli-error.ts'
import type { CommandContext, DefineGroup, Handler } from '../command-context.ts'
import { formatCsv } from '../output/csv.ts'
import { type Color, printable } from '../output/style.ts'
import { Table } from '../output/table.ts'
import { formatTime, yesterday } from '../output/times.ts'

export const defineReports: DefineGroup = (group, run) => {
  group
    .command('reconciliation')
    .description('your counts of a day beside those of the platform, and what explains the gap')
    .option('--date <day>', 'YYYY-MM-DD in UTC; yesterday by default', parseDay)
    .option('--csv', 'print CSV')
    .action(run(showReconciliation))
  group
    .command('emq')
    .description('event match quality: how well the platform matches your events to people')
    .option('--csv', 'print CSV')
    .action(run(showMatchQuality))
}

interface ReportOptions {
  date?: string
  csv?: boolean
}

const showReconciliation: Handler<ReportOptions> = async (context, { date, csv = false }) => {
  if (csv && context.isJson) throw createUsageError('Use either --csv or --json.')
  const client = await context.client()
  const { signal, now } = context.host
  const report = await client.reports.reconciliation({ date: date ?? yesterday(now()) }, { signal })
  if (context.isJson) await context.printJson(report)
  else if (csv) await context.print(reconciliationCsv(report))
  else await printReconciliation(context, report)
  return undefined
}

const STATUS_COLORS: Record<string, Color> = {
  matched: 'green',
  explained: 'green',
  unexplained: 'red',
  unavailable: 'red',
}

async function printReconciliation(
  context: CommandContext,
  { date, reports }: ReconciliationReports,
): Promise<void> {
  const { style } = context
  if (reports.length === 0) return context.note(`There is no report for ${date} yet.\n`)
  const columns = [
    { title: date },
    { title: 'Accepted', align: 'right' },
    { title: 'Platform', align: 'right' },
    { title: 'Gap', align: 'right' },
    { title: 'Unexplained', align: 'right' },
    { title: 'Status' },
  ] as const
  const rows = reports.map(report => [
    report.destination_id,
    String(report.accepted_count),
    ...[report.meta_count, report.observed_gap, report.unexplained_residual].map(count =>
      // Without a report of the platform they are no counts.
      report.status === 'unavailable' ? '-' : String(count),
    ),
    { text: String(report.status), color: STATUS_COLORS[report.status] ?? 'yellow' },
  ])
  await context.print(new Table(columns, { style, width: null }).format(rows))
  for (const report of reports) {
    for (const line of describeReport(report)) {
      await context.print(`  ${printable(`${report.destination_id}  ${line}`)}\n`)
    }
  }
}

/** A platform without a report has no count, which is not zero. */
/** What the platform counts, what explains the gap, what was not sent, and the values. */
function describeReport(report: ReconciliationReports['reports'][number]): string[] {
  const { count_source: source, unavailable, values } = report
  const buckets = Object.values(report.buckets ?? {}).filter(({ count }) => count !== 0)
  return [
    ...(source ? [`${source.platform}: ${source.label}. ${source.meaning}`] : []),
    ...(unavailable ? [`No count (${unavailable.cause}). ${unavailable.sentence}`] : []),
    ...buckets.map(({ count, basis, explanation }) => `${count} (${basis})  ${explanation}`),
    ...(report.requests?.refusals ?? []).map(({ reason, count }) => `${count} refused: ${reason}`),
    ...(report.outcomes ?? []).map(
      ({ count, status, explanation }) => `${count} ${status}  ${explanation}`,
    ),
    ...(report.sent_names ?? []).map(
      ({ event_name, platform_name }) => `${event_name} is sent and counted as ${platform_name}.`,
    ),
    ...(values?.accepted ?? []).map(
      ({ event_name, currency, amount }) => `${event_name}: ${amount} ${currency} accepted`,
    ),
    ...(values?.reported ?? []).map(({ currency, amount }) => `${amount} ${currency} reported`),
    ...(values && values.reported === null ? [values.explanation] : []),
  ]
}

function reconciliationCsv({ reports }: ReconciliationReports): string {
  const columns = [
    'report_date',
    'destination_id',
    'accepted_count',
    'meta_count',
    'observed_gap',
    'unexplained_residual',
    'status',
    'buckets',
    'count_source',
    'unavailable',
    'outcomes',
    'requests',
    'values',
  ] as const
  return formatCsv([columns, ...reports.map(report => columns.map(name => report[name]))])
}

const showMatchQuality: Handler<ReportOptions> = async (context, { csv = false }) => {
  if (csv && context.isJson) throw createUsageError('Use either --csv or --json.')
  const client = await context.client()
  const report = await client.reports.matchQuality({ signal: context.host.signal })
  if (context.isJson) await context.printJson(report)
  else if (csv) await context.print(matchQualityCsv(report))
  else await printMatchQuality(context, report)
  return undefined
}

async function printMatchQuality(context: CommandContext, { snapshots }: EmqReport): Promise<void> {
  const { style } = context
  if (snapshots.length === 0) return context.note('The platform has not been asked yet.\n')
  const columns = [
    { title: 'Measured (UTC)' },
    { title: 'Destination' },
    { title: 'Score', align: 'right' },
    { title: 'In a week', align: 'right' },
    { title: '' },
  ] as const
  const rows = snapshots.map(({ measured_at, destination_id, score, alerted, ...snapshot }) => {
    const change = snapshot.week_over_week_change
    const sign = typeof change === 'number' && change > 0 ? '+' : ''
    return [
      formatTime(measured_at),
      destination_id,
      `${score} of 10`,
      typeof change === 'number' ? `${sign}${change}` : '-',
      alerted ? { text: 'alert', color: 'red' as const } : '',
    ]
  })
  await context.print(new Table(columns, { style, width: null }).format(rows))
  for (const sentence of readAdvice(snapshots[0])) await context.print(`  ${sentence}\n`)
}

/** What the service advises beside the newest snapshot. */
function readAdvice(snapshot: EmqReport['snapshots'][number] | undefined): string[] {
  const own = snapshot?.platform_response?.signalbox
  const advice = isObject(own) && Array.isArray(own.advice) ? own.advice.filter(isObject) : []
  return advice.map(({ sentence }) => printable(String(sentence)))
}

function matchQualityCsv({ snapshots }: EmqReport): string {
  const columns = [
    'measured_at',
    'destination_id',
    'score',
    'week_over_week_change',
    'alerted',
  ] as const
  return formatCsv([columns, ...snapshots.map(snapshot => columns.map(name => snapshot[name]))])
}

function parseDay(text: string): string {
  const date = new Date(`${text}T00:00:00Z`)
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(date.getTime())
  if (isDay && date.toISOString().startsWith(text)) return text
  throw createUsageError('--date must be a day such as 2026-11-20.')
}
