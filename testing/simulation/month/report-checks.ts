import { isDeepStrictEqual } from 'node:util'
import { BUCKET_NAMES } from '@signalbox/contract/reports.ts'
import { formatReportTable } from '../../../service/program/roles/report-command.ts'
import { HOUR_MILLISECONDS } from '../../../service/runtime/util/time.ts'
import { findDestination } from '../../../service/signals/delivery/destination-store.ts'
import { findReports } from '../../../service/signals/reports/reconciliation-store.ts'
import type { TestService } from '../../fixtures/service.ts'
import { listMonthDates } from './calendar.ts'
import { computeExpectedDay, type ExpectedDay } from './expected-day.ts'
import type { MonthHistory, ReportEdition } from './history.ts'

/** Hours after the start of a day at which its report is due: the next morning and the third. */
const DUE_HOURS = [30, 78]

/** Differences between the month's reports and the simulated facts, one line each. */
export function findReportErrors(history: MonthHistory): string[] {
  return [
    ...findTimingErrors(history),
    ...history.editions.flatMap(edition => findEditionErrors(history, edition)),
    ...findChangedReports(history),
  ]
}

/** A report does not change after its last version, apart from the destination's current state. */
function findChangedReports({ reports, editions }: MonthHistory): string[] {
  const withoutDestination = ({ destination, ...report }: ReportEdition['report'] = {}) => report
  return reports.flatMap(({ datasetId, date, report }) => {
    const last = editions.findLast(
      edition => edition.datasetId === datasetId && edition.date === date,
    )
    const isSame = isDeepStrictEqual(withoutDestination(report), withoutDestination(last?.report))
    return isSame ? [] : [`${date}: has changed`]
  })
}

/** Each day and shop has two editions, each from the first possible job run after it is due. */
function findTimingErrors({ shops, jobs, editions }: MonthHistory): string[] {
  return listMonthDates().flatMap(date =>
    shops.flatMap(({ datasetId }) => {
      const made = editions.filter(
        edition => edition.datasetId === datasetId && edition.date === date,
      )
      const expected = expectedTimes(jobs, date)
      const actual = made.map(({ at, report }) => `${at.toISOString()} ${formatReadState(report)}`)
      return `${actual}` === `${expected}` ? [] : [`${date}: made ${actual}, not ${expected}`]
    }),
  )
}

function formatReadState({ status }: ReportEdition['report']): string {
  return status === 'unavailable' ? 'unread' : 'read'
}

/** Editions without platform counts are shown only until there is one with them. */
function expectedTimes(jobs: MonthHistory['jobs'], date: string): string[] {
  const times: string[] = []
  for (const hours of DUE_HOURS) {
    const due = jobs.filter(
      ({ at }) => at.getTime() >= Date.parse(date) + hours * HOUR_MILLISECONDS,
    )
    const read = due.findIndex(({ showsCounts }) => showsCounts)
    const unread = times.length > 0 ? [] : due.slice(0, read)
    times.push(...unread.map(({ at }) => `${at.toISOString()} unread`))
    times.push(`${due[read]?.at.toISOString()} read`)
  }
  return times
}

function findEditionErrors(
  history: MonthHistory,
  { datasetId, date, at, report }: ReportEdition,
): string[] {
  const truth = computeExpectedDay(history, { datasetId, date, asOf: at })
  const expected =
    report.status === 'unavailable' ? expectUnavailableDay(truth) : expectComparedDay(truth)
  const shown = readShownDay(report)
  return Object.keys({ ...expected, ...shown })
    .filter(name => expected[name] !== shown[name])
    .map(name => {
      const place = `${date} as of ${at.toISOString()} (dataset ${datasetId})`
      return `${place}: ${name} is ${shown[name]}, truly ${expected[name]}`
    })
}

/** A report as named figures, so that a difference fits one line. */
type Figures = Record<string, unknown>

function expectComparedDay({
  accepted,
  platform,
  buckets,
  foreignEventsOfOwnNames,
  status,
}: ExpectedDay): Figures {
  const isMeasured: Record<string, boolean> = {
    test_events: true,
    late_event_time: true,
    pending: buckets.pending === 0,
    other_senders: foreignEventsOfOwnNames === 0,
  }
  return {
    ...toCountFigures(accepted, platform),
    ...Object.fromEntries(BUCKET_NAMES.map(name => [name, buckets[name]])),
    measured: BUCKET_NAMES.filter(name => isMeasured[name]).join(),
    unexplained: '',
    residual: 0,
    status,
  }
}

/** Nothing is compared, but our own counts are shown. */
function expectUnavailableDay({ accepted }: ExpectedDay): Figures {
  return {
    ...toCountFigures(accepted, {}),
    ...Object.fromEntries(BUCKET_NAMES.map(name => [name, 0])),
    measured: BUCKET_NAMES.join(),
    unexplained: '',
    residual: total(accepted),
    status: 'unavailable',
  }
}

function readShownDay(report: ReportEdition['report']): Figures {
  const { accepted_count, meta_count, observed_gap, event_counts, buckets } = report
  return {
    ...toNamedFigures(event_counts.accepted, 'accepted'),
    ...toNamedFigures(event_counts.meta, 'platform'),
    accepted: accepted_count,
    platform: meta_count,
    gap: observed_gap,
    ...Object.fromEntries(BUCKET_NAMES.map(name => [name, buckets[name].count])),
    measured: BUCKET_NAMES.filter(name => buckets[name].basis === 'measured').join(),
    unexplained: BUCKET_NAMES.filter(name => !isExplained(name, buckets[name])).join(),
    residual: report.unexplained_residual,
    status: report.status,
  }
}

/** Each bucket has a sentence, which contains the count unless it describes two effects. */
function isExplained(
  name: (typeof BUCKET_NAMES)[number],
  { count, explanation }: { count: number; explanation: string },
): boolean {
  const namesNoCount = name === 'late_event_time' || name === 'other_senders' || count === 0
  return explanation.endsWith('.') && (namesNoCount || explanation.includes(`${Math.abs(count)} `))
}

function toCountFigures(
  accepted: ExpectedDay['accepted'],
  platform: ExpectedDay['platform'],
): Figures {
  return {
    ...toNamedFigures(accepted, 'accepted'),
    ...toNamedFigures(platform, 'platform'),
    accepted: total(accepted),
    platform: total(platform),
    gap: total(accepted) - total(platform),
  }
}

/** Our side also lists names without an accepted event. */
function toNamedFigures(counts: Record<string, number>, side: string): Figures {
  const named = Object.entries(counts).filter(([, count]) => count !== 0)
  return Object.fromEntries(named.map(([name, count]) => [`${side} ${name}`, count]))
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

const COLUMNS_MAX = 80

/** Differences between the terminal's table and the report with the most causes. */
export async function findTableErrors(
  { database }: TestService,
  { reports, shops }: MonthHistory,
): Promise<string[]> {
  const [fullestReport] = reports.toSorted((a, b) => countCauses(b) - countCauses(a))
  if (!fullestReport) return ['there is no report to show']
  const { report, date } = fullestReport
  const shop = shops.find(({ datasetId }) => datasetId === fullestReport.datasetId)
  const { trackerId = '', destinationId = '' } = shop ?? {}
  const destination = await findDestination(database, trackerId, destinationId)
  const [stored] = await findReports(database, trackerId, date)
  if (!stored || !destination) return [`${date}: nothing to show`]
  const text = formatReportTable(stored, destination)
  const lines = text.split('\n').map(line => line.trim().split(/ {2,}/).join(' | '))
  const expected = [
    `Reconciliation of ${date} (UTC)`,
    `Target | ${fullestReport.datasetId}`,
    `Total | ${report.accepted_count} | ${report.meta_count} | ` +
      formatSigned(report.observed_gap),
    ...BUCKET_NAMES.map(name => {
      const { count, basis } = report.buckets[name]
      return `${name} | ${formatSigned(count)} | ${basis}`
    }),
    'Not explained | 0',
  ]
  return [
    ...expected.filter(line => !lines.includes(line)).map(line => `not in the table: ${line}`),
    ...text.split('\n').filter(line => line.length > COLUMNS_MAX),
  ].map(fault => `${fault}\n${text}`)
}

function countCauses({ report }: MonthHistory['reports'][number]): number {
  return BUCKET_NAMES.filter(name => report.buckets[name].count !== 0).length
}

function formatSigned(count: number): string {
  return count > 0 ? `+${count}` : `${count}`
}
