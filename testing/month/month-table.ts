import { BUCKET_NAMES } from '@signalbox/contract/reports.ts'
import { findDestination } from '../../service/delivery/destination-store.ts'
import { findReports } from '../../service/reports/reconciliation-store.ts'
import { formatReportTable } from '../../service/roles/report-table.ts'
import type { ServiceUnderTest } from '../service-under-test.ts'
import type { MonthStory } from './month-story.ts'

const COLUMNS_MAX = 80

/** What the table in the terminal says otherwise than the report with the most causes. */
export async function wrongTable(
  { database }: ServiceUnderTest,
  { reports, shops }: MonthStory,
): Promise<string[]> {
  const [richest] = reports.toSorted((a, b) => causesOf(b) - causesOf(a))
  if (!richest) return ['there is no report to show']
  const { report, date } = richest
  const shop = shops.find(({ datasetId }) => datasetId === richest.datasetId)
  const { trackerId = '', destinationId = '' } = shop ?? {}
  const destination = await findDestination(database, trackerId, destinationId)
  const [stored] = await findReports(database, trackerId, date)
  if (!stored || !destination) return [`${date}: nothing to show`]
  const text = formatReportTable(stored, destination)
  const lines = text.split('\n').map(line => line.trim().split(/ {2,}/).join(' | '))
  const expected = [
    `Reconciliation of ${date} (UTC)`,
    `Dataset | ${richest.datasetId}`,
    `Total | ${report.accepted_count} | ${report.meta_count} | ${signed(report.observed_gap)}`,
    ...BUCKET_NAMES.map(name => {
      const { count, basis } = report.buckets[name]
      return `${name} | ${signed(count)} | ${basis}`
    }),
    'Not explained | 0',
  ]
  return [
    ...expected.filter(line => !lines.includes(line)).map(line => `not in the table: ${line}`),
    ...text.split('\n').filter(line => line.length > COLUMNS_MAX),
  ].map(fault => `${fault}\n${text}`)
}

function causesOf({ report }: MonthStory['reports'][number]): number {
  return BUCKET_NAMES.filter(name => report.buckets[name].count !== 0).length
}

function signed(count: number): string {
  return count > 0 ? `+${count}` : `${count}`
}
