import { isDeepStrictEqual } from 'node:util'
import { BUCKET_NAMES } from '@signalbox/contract/reports.ts'
import { monthDates } from './month-end.ts'
import type { Edition, MonthStory } from './month-story.ts'
import { type TrueDay, trueDay } from './month-truth.ts'

/** After so many hours of a day its report is due: on the next morning, and on the third. */
const DUE_HOURS = [30, 78]

/** Where the reports of the month differ from what truly happened, a line each. */
export function wrongReports(story: MonthStory): string[] {
  return [
    ...wrongTimes(story),
    ...story.editions.flatMap(edition => wrongEdition(story, edition)),
    ...changedReports(story),
  ]
}

/** A report stays as it was last made; of the destination it shows what is now. */
function changedReports({ reports, editions }: MonthStory): string[] {
  const told = ({ destination, ...report }: Edition['report'] = {}) => report
  return reports.flatMap(({ datasetId, date, report }) => {
    const last = editions.findLast(
      edition => edition.datasetId === datasetId && edition.date === date,
    )
    return isDeepStrictEqual(told(report), told(last?.report)) ? [] : [`${date}: has changed`]
  })
}

/** Of every day and shop two editions, each at the first call at which it was due and possible. */
function wrongTimes({ shops, jobs, editions }: MonthStory): string[] {
  return monthDates().flatMap(date =>
    shops.flatMap(({ datasetId }) => {
      const made = editions.filter(
        edition => edition.datasetId === datasetId && edition.date === date,
      )
      const expected = expectedTimes(jobs, date)
      const told = made.map(({ at, report }) => `${at.toISOString()} ${isRead(report)}`)
      return `${told}` === `${expected}` ? [] : [`${date}: made ${told}, not ${expected}`]
    }),
  )
}

function isRead({ status }: Edition['report']): string {
  return status === 'unavailable' ? 'unread' : 'read'
}

/** Unread editions are shown only until there is one that was read. */
function expectedTimes(jobs: MonthStory['jobs'], date: string): string[] {
  const times: string[] = []
  for (const hours of DUE_HOURS) {
    const due = jobs.filter(({ at }) => at.getTime() >= Date.parse(date) + hours * 3_600_000)
    const read = due.findIndex(({ showsCounts }) => showsCounts)
    const unread = times.length > 0 ? [] : due.slice(0, read)
    times.push(...unread.map(({ at }) => `${at.toISOString()} unread`))
    times.push(`${due[read]?.at.toISOString()} read`)
  }
  return times
}

function wrongEdition(story: MonthStory, { datasetId, date, at, report }: Edition): string[] {
  const truth = trueDay(story, { datasetId, date, asOf: at })
  const expected = report.status === 'unavailable' ? unreadDay(truth) : readDay(truth)
  const shown = shownDay(report)
  return Object.keys({ ...expected, ...shown })
    .filter(name => expected[name] !== shown[name])
    .map(name => {
      const place = `${date} as of ${at.toISOString()} (dataset ${datasetId})`
      return `${place}: ${name} is ${shown[name]}, truly ${expected[name]}`
    })
}

/** A report in figures with a name each, so that a difference can be told in a line. */
type Figures = Record<string, unknown>

function readDay({ accepted, platform, buckets, othersOfOurNames, status }: TrueDay): Figures {
  const isMeasured: Record<string, boolean> = {
    test_events: true,
    late_event_time: true,
    pending: buckets.pending === 0,
    other_senders: othersOfOurNames === 0,
  }
  return {
    ...countFigures(accepted, platform),
    ...Object.fromEntries(BUCKET_NAMES.map(name => [name, buckets[name]])),
    measured: BUCKET_NAMES.filter(name => isMeasured[name]).join(),
    wordless: '',
    residual: 0,
    status,
  }
}

/** Nothing is compared, and our side is told all the same. */
function unreadDay({ accepted }: TrueDay): Figures {
  return {
    ...countFigures(accepted, {}),
    ...Object.fromEntries(BUCKET_NAMES.map(name => [name, 0])),
    measured: BUCKET_NAMES.join(),
    wordless: '',
    residual: total(accepted),
    status: 'unavailable',
  }
}

function shownDay(report: Edition['report']): Figures {
  const { accepted_count, meta_count, observed_gap, event_counts, buckets } = report
  return {
    ...nameFigures(event_counts.accepted, 'accepted'),
    ...nameFigures(event_counts.meta, 'platform'),
    accepted: accepted_count,
    platform: meta_count,
    gap: observed_gap,
    ...Object.fromEntries(BUCKET_NAMES.map(name => [name, buckets[name].count])),
    measured: BUCKET_NAMES.filter(name => buckets[name].basis === 'measured').join(),
    wordless: BUCKET_NAMES.filter(name => !isExplained(name, buckets[name])).join(),
    residual: report.unexplained_residual,
    status: report.status,
  }
}

/** Each bucket has its sentence, and the sentence its number where it speaks of one alone. */
function isExplained(
  name: (typeof BUCKET_NAMES)[number],
  { count, explanation }: { count: number; explanation: string },
): boolean {
  const speaksOfMore = name === 'late_event_time' || name === 'other_senders' || count === 0
  return explanation.endsWith('.') && (speaksOfMore || explanation.includes(`${Math.abs(count)} `))
}

function countFigures(accepted: TrueDay['accepted'], platform: TrueDay['platform']): Figures {
  return {
    ...nameFigures(accepted, 'accepted'),
    ...nameFigures(platform, 'platform'),
    accepted: total(accepted),
    platform: total(platform),
    gap: total(accepted) - total(platform),
  }
}

/** Our side also lists names of which nothing was accepted. */
function nameFigures(counts: Record<string, number>, side: string): Figures {
  const named = Object.entries(counts).filter(([, count]) => count !== 0)
  return Object.fromEntries(named.map(([name, count]) => [`${side} ${name}`, count]))
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
