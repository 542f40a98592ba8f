import type { BUCKET_NAMES, ReportStatus } from '@signalbox/contract/reports.ts'
import { type Arrival, type MonthHistory, type SubmittedEvent, toUtcDay } from './history.ts'

/** What truly was at one moment of one destination's day, as a report should say it. */
export interface ExpectedDay {
  /** Events by name; a name without any is left out. */
  accepted: Record<string, number>
  platform: Record<string, number>
  /** Each cause's part of `accepted` less `platform`. */
  buckets: Record<(typeof BUCKET_NAMES)[number], number>
  /** Events of others under a name that the shop sends as well. */
  foreignEventsOfOwnNames: number
  status: ReportStatus
}

export interface DayQuery {
  datasetId: string
  /** UTC day, YYYY-MM-DD. */
  date: string
  asOf: Date
}

/** What became of one event until a moment. */
interface EventOutcome {
  name: string
  /** It happened on the day that is asked for. */
  isOfDay: boolean
  isTest: boolean
  /** The UTC day on which the sender heard that it was taken. */
  acceptedOn: string | null
  /** How many of it the platform counts as a server's. */
  counted: number
  /** Its Pixel's copy is the one that counts. */
  isMerged: boolean
  isWaiting: boolean
}

/** Works out a day from what happened, by nothing that the service says. */
export function computeExpectedDay(story: MonthHistory, asked: DayQuery): ExpectedDay {
  const fates = computeOutcomes(story, asked)
  const others = story.foreignEvents.filter(
    ({ datasetId, at }) =>
      datasetId === asked.datasetId && at <= asked.asOf && toUtcDay(at) === asked.date,
  )
  const ofDay = fates.filter(({ isOfDay }) => isOfDay)
  const live = fates.filter(({ isTest }) => !isTest)
  const sentOn = (fate: EventOutcome) => fate.acceptedOn === asked.date
  const accepted = live.filter(sentOn)
  const lateOn = accepted.filter(({ isOfDay }) => !isOfDay).length
  const lateOf = live.filter(fate => fate.isOfDay && fate.acceptedOn !== null && !sentOn(fate))
  const pending = ofDay.filter(({ isWaiting, counted }) => isWaiting && counted > 0)
  const surplus = sum(ofDay, ({ counted, acceptedOn }) => counted - (acceptedOn === null ? 0 : 1))
  const day = {
    accepted: countByName(accepted, () => 1),
    platform: countByName(
      [...ofDay, ...others.map(({ eventName: name, count }) => ({ name, counted: count }))],
      fate => fate.counted - ('isMerged' in fate && fate.isMerged ? 1 : 0),
    ),
    buckets: {
      test_events: 0 - ofDay.filter(({ isTest, acceptedOn }) => isTest && acceptedOn).length,
      pending: 0 - pending.length,
      late_event_time: lateOn - lateOf.length,
      unknown_outcome: pending.length - surplus,
      platform_deduplicated: ofDay.filter(({ isMerged }) => isMerged).length,
      other_senders: 0 - sum(others, ({ count }) => count),
    },
  }
  const ourNames = new Set(fates.map(({ name }) => name))
  const ofOurNames = others.filter(({ eventName }) => ourNames.has(eventName))
  const isWaiting = ofDay.some(fate => fate.isWaiting)
  return {
    ...day,
    foreignEventsOfOwnNames: sum(ofOurNames, ({ count }) => count),
    status: isWaiting ? 'pending' : expectStatus(day),
  }
}

function expectStatus({
  accepted,
  platform,
}: Pick<ExpectedDay, 'accepted' | 'platform'>): ReportStatus {
  const names = [...Object.keys(accepted), ...Object.keys(platform)]
  return names.every(name => accepted[name] === platform[name]) ? 'matched' : 'explained'
}

function computeOutcomes(story: MonthHistory, { datasetId, date, asOf }: DayQuery): EventOutcome[] {
  return story.events
    .filter(event => event.datasetId === datasetId && event.submittedAt <= asOf)
    .map(event => {
      const copies = findArrivals(story, event).filter(({ at }) => at <= asOf)
      const [accepted] = copies.filter(({ isAnswered }) => isAnswered)
      const isTest = copies.some(arrival => arrival.isTest)
      const isLeft = event.endsAt !== null && event.endsAt <= asOf
      return {
        name: event.eventName,
        isOfDay: toUtcDay(event.happensAt) === date,
        isTest,
        acceptedOn: accepted ? toUtcDay(accepted.at) : null,
        counted: copies.filter(({ isDuplicate: isCopy }) => story.plan.countsDuplicates || !isCopy)
          .length,
        isMerged: !isTest && copies.length > 0 && isReportedByPixel(story, event, asOf),
        isWaiting: !accepted && !isLeft,
      }
    })
}

/** Far within the 48 hours in which the platform finds the two to be one. */
function isReportedByPixel(
  { pixelAt }: MonthHistory,
  { eventId }: SubmittedEvent,
  asOf: Date,
): boolean {
  const at = pixelAt.get(eventId)
  return at !== undefined && at <= asOf
}

const arrivalsByEvent = new WeakMap<MonthHistory, Map<string, Arrival[]>>()

/** Every copy of an event that the platform kept, oldest first. */
export function findArrivals(
  story: MonthHistory,
  { datasetId, eventId }: Pick<SubmittedEvent, 'datasetId' | 'eventId'>,
): readonly Arrival[] {
  const known =
    arrivalsByEvent.get(story) ??
    Map.groupBy(story.arrivals, arrival => `${arrival.datasetId} ${arrival.eventId}`)
  arrivalsByEvent.set(story, known)
  return known.get(`${datasetId} ${eventId}`) ?? []
}

function countByName<Counted extends { name: string }>(
  counted: readonly Counted[],
  count: (item: Counted) => number,
): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const item of counted) counts[item.name] = (counts[item.name] ?? 0) + count(item)
  return Object.fromEntries(Object.entries(counts).filter(([, total]) => total !== 0))
}

function sum<Item>(items: readonly Item[], count: (item: Item) => number): number {
  return items.reduce((total, item) => total + count(item), 0)
}
