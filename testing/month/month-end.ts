import { type Address, assertDocumented } from '../../contract/assert-documented.ts'
import type { Reply } from '../service-under-test.ts'
import { MONTH_DAYS, momentAt } from './month-calendar.ts'
import type { MonthStage } from './month-stage.ts'
import { dayOf, type KeptAlert, type MonthStory, type ToldShop } from './month-story.ts'

/** Every UTC day of the month. */
export function monthDates(): string[] {
  return Array.from({ length: MONTH_DAYS }, (_, number) => dayOf(momentAt({ number }, 0)))
}

/** What the interface shows, and the table of alerts holds, when the month is over. */
export async function readEnd(
  stage: MonthStage,
): Promise<Pick<MonthStory, 'reports' | 'snapshots' | 'alerts'>> {
  const reports: MonthStory['reports'][number][] = []
  const snapshots = new Map<string, unknown[]>()
  for (const shop of stage.shops) {
    const { datasetId } = shop
    for (const date of monthDates()) {
      reports.push({ datasetId, date, report: await readReport(stage, shop, date) })
    }
    const { body } = await read(stage, shop, '/reports/emq')
    snapshots.set(datasetId, body.snapshots)
  }
  return { reports, snapshots, alerts: await readAlerts(stage) }
}

/** The only report of a shop's day; undefined when there is none. */
export async function readReport(
  stage: Pick<MonthStage, 'service'>,
  shop: ToldShop,
  date: string,
): Promise<MonthStory['reports'][number]['report']> {
  const { body, text } = await read(stage, shop, '/reports/reconciliation', `?date=${date}`)
  const [report, ...more] = body.reports
  const isOurs = report === undefined || report.destination_id === shop.destinationId
  if (body.date !== date || more.length > 0 || !isOurs) throw new Error(text)
  return report
}

async function read(
  { service }: Pick<MonthStage, 'service'>,
  { trackerSecret: secret }: ToldShop,
  path: Address[0],
  query = '',
): Promise<Reply> {
  const reply = await service.request('GET', `/api/v1${path}${query}`, { secret })
  assertDocumented([path, 'get'], reply, 200)
  return reply
}

async function readAlerts({ service, shops }: MonthStage): Promise<KeptAlert[]> {
  const { rows } = await service.database.pool.query('select * from alerts order by raised_at')
  return rows.map(row => ({
    datasetId: shops.find(shop => shop.destinationId === row.destination_id)?.datasetId ?? '',
    kind: row.kind,
    sentence: row.sentence,
    raisedAt: row.raised_at,
    resolvedAt: row.resolved_at,
  }))
}
