import { countAs } from '../platform-counts.ts'
import type { ServiceUnderTest } from '../service-under-test.ts'
import { platformTargetOf } from '../simulator-controls.ts'
import { TRADE_HOURS } from './month-calendar.ts'
import { readEnd } from './month-end.ts'
import { playJobs } from './month-jobs.ts'
import { type MonthPlan, weatherOf } from './month-plan.ts'
import type { MonthStage } from './month-stage.ts'
import type { Arrival, MonthStory, ToldShop } from './month-story.ts'
import { playTrade } from './month-trade.ts'

/** So few rows that a day takes several pages. */
const PAGE_ROWS = 5
const ARRIVALS_MAX = 10_000

/** Plays the month from its first moment to its last. */
export async function playMonth(service: ServiceUnderTest, plan: MonthPlan): Promise<MonthStory> {
  const small = await service.newTracker()
  const stage: MonthStage = {
    service,
    shops: [await toldShop(service, service.tracker), await toldShop(service, small)],
    events: [],
    others: [],
    pixelAt: new Map(),
    jobs: [],
    editions: [],
    alertMoves: [],
    bodies: new Map(),
    forgotten: new Set(),
  }
  await countAs(service, {
    page_rows: PAGE_ROWS,
    counts_as_text: plan.countsAsText,
    deduplicate_servers: !plan.countsCopies,
  })
  for (const day of plan.days) {
    const ofDay = plan.trades.filter(trade => trade.day === day)
    const scenes = [
      ...ofDay.map(trade => ({
        hour: TRADE_HOURS[trade.number] ?? 0,
        play: () => playTrade(stage, trade),
      })),
      ...day.jobHours.map(hour => ({ hour, play: () => playJobs(stage, day, hour) })),
    ]
    for (const { play } of scenes.sort((a, b) => a.hour - b.hour)) await play()
  }
  return { ...stage, plan, arrivals: await readArrivals(service, plan), ...(await readEnd(stage)) }
}

async function toldShop(
  service: ServiceUnderTest,
  tracker: ServiceUnderTest['tracker'],
): Promise<ToldShop> {
  const { datasetId } = await platformTargetOf(service, tracker)
  return { ...tracker, datasetId }
}

interface PrintedArrival {
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

/** Whether the sender heard of it is told by the weather of the hour at which it came. */
async function readArrivals(service: ServiceUnderTest, plan: MonthPlan): Promise<Arrival[]> {
  const skies = new Map(plan.trades.map(trade => [trade.at.toISOString(), weatherOf(trade).sky]))
  const { count, events } = await service.received(`limit=${ARRIVALS_MAX}`)
  if (count !== events.length) throw new Error(`only ${events.length} of ${count} were shown`)
  return (events as unknown as PrintedArrival[]).map(event => {
    const sky = skies.get(event.received_at)
    if (sky === undefined || sky === 'down') throw new Error(`arrived in no fit hour: ${sky}`)
    return {
      datasetId: event.dataset,
      eventId: event.event_id,
      eventName: event.event_name,
      at: new Date(event.received_at),
      eventTimeSeconds: event.event_time,
      isTest: event.test_event_code !== null,
      isCopy: event.deduplicated,
      isAnswered: sky === 'fine',
      actionSource: event.other_members.action_source,
      keys: Object.keys(event.user_data),
    }
  })
}
