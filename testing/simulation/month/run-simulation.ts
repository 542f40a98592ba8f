import { type Address, assertDocumented } from '../../../contract/assert-documented.ts'
import { formatUtcDay, HOUR_SECONDS } from '../../../service/runtime/util/time.ts'
import { makeDueReports } from '../../../service/signals/reports/make-reports.ts'
import { takeDueSnapshots } from '../../../service/signals/reports/take-snapshots.ts'
import type { Reply, TestService } from '../../fixtures/service.ts'
import { configureCounting, findPlatformTarget, scriptFaults } from '../../fixtures/simulator.ts'
import { listMonthDates, type MonthDay, TRADING_HOURS, timeAt } from './calendar.ts'
import {
  type Arrival,
  advanceClockTo,
  type MonthHistory,
  type MonthSimulation,
  type SimulatedShop,
  type StoredAlert,
} from './history.ts'
import { type MonthPlan, platformStateOf } from './plan.ts'
import { simulateTradingHour } from './trading.ts'

/** Few rows, so that a day takes several pages. */
const PAGE_ROWS = 5
const ARRIVALS_MAX = 10_000

/** Runs the month from its first moment to its last. */
export async function simulateMonth(service: TestService, plan: MonthPlan): Promise<MonthHistory> {
  const small = await service.newTracker()
  const simulation: MonthSimulation = {
    service,
    shops: [await createShop(service, service.tracker), await createShop(service, small)],
    events: [],
    foreignEvents: [],
    pixelAt: new Map(),
    jobs: [],
    editions: [],
    alertChanges: [],
    bodies: new Map(),
    erasedCustomers: new Set(),
  }
  await configureCounting(service, {
    page_rows: PAGE_ROWS,
    counts_as_text: plan.countsAsText,
    deduplicate_servers: !plan.countsDuplicates,
  })
  for (const day of plan.days) {
    const ofDay = plan.tradingHours.filter(tradingHour => tradingHour.day === day)
    const activities = [
      ...ofDay.map(tradingHour => ({
        hour: TRADING_HOURS[tradingHour.number] ?? 0,
        run: () => simulateTradingHour(simulation, tradingHour),
      })),
      ...day.jobHours.map(hour => ({ hour, run: () => callJobs(simulation, day, hour) })),
    ]
    for (const { run } of activities.sort((a, b) => a.hour - b.hour)) await run()
  }
  return {
    ...simulation,
    plan,
    arrivals: await readArrivals(service, plan),
    ...(await readFinalState(simulation)),
  }
}

async function createShop(
  service: TestService,
  tracker: TestService['tracker'],
): Promise<SimulatedShop> {
  const { datasetId } = await findPlatformTarget(service, tracker)
  return { ...tracker, datasetId }
}

interface SimulatorArrival {
  dataset: string
  event_id: string
  event_name: string
  event_time: number
  user_data: Record<string, unknown>
  other_members: { action_source: string }
  test_event_code: string | null
  deduplicated: boolean
  received_at: string
}

/** The platform's state at the hour of arrival decides whether the sender received a response. */
async function readArrivals(service: TestService, plan: MonthPlan): Promise<Arrival[]> {
  const availabilityByTime = new Map(
    plan.tradingHours.map(tradingHour => [
      tradingHour.at.toISOString(),
      platformStateOf(tradingHour).availability,
    ]),
  )
  const { count, events } = await service.received(`limit=${ARRIVALS_MAX}`)
  if (count !== events.length) throw new Error(`only ${events.length} of ${count} were shown`)
  return (events as unknown as SimulatorArrival[]).map(event => {
    const availability = availabilityByTime.get(event.received_at)
    if (availability === undefined || availability === 'down')
      throw new Error(`arrived while the platform was ${availability}`)
    return {
      datasetId: event.dataset,
      eventId: event.event_id,
      eventName: event.event_name,
      at: new Date(event.received_at),
      eventTimeSeconds: event.event_time,
      isTest: event.test_event_code !== null,
      isDuplicate: event.deduplicated,
      isAnswered: availability === 'available',
      actionSource: event.other_members.action_source,
      keys: Object.keys(event.user_data),
    }
  })
}

/** Until these hours the platform denies access on the day of denied reporting. */
const DENIED_HOURS = { quality: 8, counts: 20 }
const PERMISSION_DENIED = { status: 400, code: 100, message: '(#100) Permission Denied' }
/** The age in days of the oldest report that can be made now. */
const REPORT_DAYS_BACK = 6
const REPEATS_MAX = 10

/** Runs the jobs as the scheduler does, and reads the reports they made. */
async function callJobs(simulation: MonthSimulation, day: MonthDay, hour: number): Promise<void> {
  const { service, jobs, alertChanges } = simulation
  const at = timeAt(day, hour)
  advanceClockTo(simulation, at)
  const showsCounts = !day.isReportingDenied || hour >= DENIED_HOURS.counts
  const showsQuality = !day.isReportingDenied || hour >= DENIED_HOURS.quality
  jobs.push({ at, showsCounts, showsQuality })
  await scriptFaults(service.simulatorUrl, [
    ...(showsCounts ? [] : [{ edge: 'stats', respond: PERMISSION_DENIED }]),
    ...(showsQuality ? [] : [{ edge: 'dataset_quality', respond: PERMISSION_DENIED }]),
  ])
  const context = { ...service.delivery, onAlert: alertChanges.push.bind(alertChanges) }
  const reports = await repeatUntilDone(() => makeDueReports(context, { now: at }))
  await repeatUntilDone(() => takeDueSnapshots(context, { now: at }))
  await scriptFaults(service.simulatorUrl, [])
  if (reports > 0) await readEditions(simulation, at)
}

/** Returns how many runs changed anything. */
async function repeatUntilDone(run: () => Promise<{ more: boolean }>): Promise<number> {
  let done = 0
  for (let repeat = 0; repeat < REPEATS_MAX; repeat += 1) {
    const { more, ...counts } = await run()
    if (Object.values(counts).some(count => Number(count) > 0)) done += 1
    if (!more) return done
  }
  throw new Error('a job never finished')
}

async function readEditions(simulation: MonthSimulation, at: Date): Promise<void> {
  for (let back = REPORT_DAYS_BACK; back > 0; back -= 1) {
    const date = formatUtcDay(new Date(at.getTime() - back * 24 * HOUR_SECONDS * 1_000))
    for (const shop of simulation.shops) {
      const report = await readReport(simulation, shop, date)
      if (report?.updated_at !== at.toISOString()) continue
      simulation.editions.push({ datasetId: shop.datasetId, date, at, report })
    }
  }
}

/** Reads the API and the alerts table when the month is over. */
async function readFinalState(
  simulation: MonthSimulation,
): Promise<Pick<MonthHistory, 'reports' | 'snapshots' | 'alerts'>> {
  const reports: MonthHistory['reports'][number][] = []
  const snapshots = new Map<string, unknown[]>()
  for (const shop of simulation.shops) {
    const { datasetId } = shop
    for (const date of listMonthDates()) {
      reports.push({ datasetId, date, report: await readReport(simulation, shop, date) })
    }
    const { body } = await requestDocumented(simulation, shop, '/reports/emq')
    snapshots.set(datasetId, body.snapshots)
  }
  return { reports, snapshots, alerts: await readAlerts(simulation) }
}

/** The only report of a shop's day; undefined when there is none. */
async function readReport(
  simulation: Pick<MonthSimulation, 'service'>,
  shop: SimulatedShop,
  date: string,
): Promise<MonthHistory['reports'][number]['report']> {
  const { body, text } = await requestDocumented(
    simulation,
    shop,
    '/reports/reconciliation',
    `?date=${date}`,
  )
  const [report, ...more] = body.reports
  const isOurs = report === undefined || report.destination_id === shop.destinationId
  if (body.date !== date || more.length > 0 || !isOurs) throw new Error(text)
  return report
}

async function requestDocumented(
  { service }: Pick<MonthSimulation, 'service'>,
  { trackerSecret: secret }: SimulatedShop,
  path: Address[0],
  query = '',
): Promise<Reply> {
  const reply = await service.request('GET', `/api/v1${path}${query}`, { secret })
  assertDocumented([path, 'get'], reply, 200)
  return reply
}

async function readAlerts({ service, shops }: MonthSimulation): Promise<StoredAlert[]> {
  const { rows } = await service.database.pool.query('select * from alerts order by raised_at')
  return rows.map(row => ({
    datasetId: shops.find(shop => shop.destinationId === row.destination_id)?.datasetId ?? '',
    kind: row.kind,
    sentence: row.sentence,
    raisedAt: row.raised_at,
    resolvedAt: row.resolved_at,
  }))
}
