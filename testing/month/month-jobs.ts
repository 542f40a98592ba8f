import { makeDueReports } from '../../service/reports/make-reports.ts'
import { takeDueSnapshots } from '../../service/reports/take-snapshots.ts'
import { scriptFaults } from '../simulator-controls.ts'
import { type MonthDay, momentAt } from './month-calendar.ts'
import { readReport } from './month-end.ts'
import { goTo, type MonthStage } from './month-stage.ts'
import { dayOf } from './month-story.ts'

/** Until then the platform shows nothing on the day of refusals. */
const DENIED_HOURS = { quality: 8, counts: 20 }
const DENIED = { status: 400, code: 100, message: '(#100) Permission Denied' }
/** How far back a report may be that is made now. */
const REPORT_DAYS_BACK = 6
const REPEATS_MAX = 10
const HOUR_SECONDS = 3_600

/** Calls the jobs as the scheduler does, and reads the reports that were made. */
export async function playJobs(stage: MonthStage, day: MonthDay, hour: number): Promise<void> {
  const { service, jobs, alertMoves } = stage
  const at = momentAt(day, hour)
  goTo(stage, at)
  const showsCounts = !day.isDenied || hour >= DENIED_HOURS.counts
  const showsQuality = !day.isDenied || hour >= DENIED_HOURS.quality
  jobs.push({ at, showsCounts, showsQuality })
  await scriptFaults(service.simulatorUrl, [
    ...(showsCounts ? [] : [{ edge: 'stats', respond: DENIED }]),
    ...(showsQuality ? [] : [{ edge: 'dataset_quality', respond: DENIED }]),
  ])
  const context = { ...service.delivery, onAlert: alertMoves.push.bind(alertMoves) }
  const reports = await untilDone(() => makeDueReports(context, { now: at }))
  await untilDone(() => takeDueSnapshots(context, { now: at }))
  await scriptFaults(service.simulatorUrl, [])
  if (reports > 0) await readEditions(stage, at)
}

/** Returns how many runs did something. */
async function untilDone(run: () => Promise<{ more: boolean }>): Promise<number> {
  let done = 0
  for (let repeat = 0; repeat < REPEATS_MAX; repeat += 1) {
    const { more, ...counts } = await run()
    if (Object.values(counts).some(count => Number(count) > 0)) done += 1
    if (!more) return done
  }
  throw new Error('a job never came to its end')
}

async function readEditions(stage: MonthStage, at: Date): Promise<void> {
  for (let back = REPORT_DAYS_BACK; back > 0; back -= 1) {
    const date = dayOf(new Date(at.getTime() - back * 24 * HOUR_SECONDS * 1_000))
    for (const shop of stage.shops) {
      const report = await readReport(stage, shop, date)
      if (report?.updated_at !== at.toISOString()) continue
      stage.editions.push({ datasetId: shop.datasetId, date, at, report })
    }
  }
}
