import type { BUCKET_NAMES, ReportStatus } from '@signalbox/contract/reports.ts'
import { formatUtcDay } from '../../../service/runtime/util/time.ts'
import type { Arrival, MonthHistory, SubmittedEvent } from './history.ts'

/** The facts about one destination's day at one moment, as a report should state them. */
export interface ExpectedDay {
  /** Events by name; names without events are omitted. */
  accepted: Record<string, number>
  platform: Record<string, number>
  /** Each cause's share of `accepted` minus `platform`. */
  buckets: Record<(typeof BUCKET_NAMES)[number], number>
  /** Events that other senders sent under a name that the shop also uses. */
  foreignEventsOfOwnNames: number
  status: ReportStatus
}

export interface DayQuery {
  datasetId: string
  /** UTC day, YYYY-MM-DD. */
  date: string
  asOf: Date
}

/** The state of one event at a moment. */
interface EventOutcome {
  name: string
  /** It happened on the day that is queried. */
  isOfDay: boolean
  isTest: boolean
  /** The UTC day on which the sender received the acceptance. */
  acceptedOn: string | null
  /** Copies that the platform counts as server events. */
  counted: number
  /** The platform counts the Pixel's copy instead. */
  isMerged: boolean
  isWaiting: boolean
}

/** Computes a day from the simulated facts alone, without reading the service. */
export function computeExpectedDay(history: MonthHistory, query: DayQuery): ExpectedDay {
  const outcomes = computeOutcomes(history, query)
  const foreignEvents = history.foreignEvents.filter(
    ({ datasetId, at }) =>
      datasetId === query.datasetId && at <= query.asOf && formatUtcDay(at) === query.date,
  )
  const ofDay = outcomes.filter(({ isOfDay }) => isOfDay)
  const live = outcomes.filter(({ isTest }) => !isTest)
  const sentOn = (outcome: EventOutcome) => outcome.acceptedOn === query.date
  const accepted = live.filter(sentOn)
  const lateOn = accepted.filter(({ isOfDay }) => !isOfDay).length
  const lateOf = live.filter(
    outcome => outcome.isOfDay && outcome.acceptedOn !== null && !sentOn(outcome),
  )
  const pending = ofDay.filter(({ isWaiting, counted }) => isWaiting && counted > 0)
  const surplus = sum(ofDay, ({ counted, acceptedOn }) => counted - (acceptedOn === null ? 0 : 1))
  const day = {
    accepted: countByName(accepted, () => 1),
    platform: countByName(
      [...ofDay, ...foreignEvents.map(({ eventName: name, count }) => ({ name, counted: count }))],
      outcome => outcome.counted - ('isMerged' in outcome && outcome.isMerged ? 1 : 0),
    ),
    buckets: {
      test_events: 0 - ofDay.filter(({ isTest, acceptedOn }) => isTest && acceptedOn).length,
      pending: 0 - pending.length,
      late_event_time: lateOn - lateOf.length,
      unknown_outcome: pending.length - surplus,
      platform_deduplicated: ofDay.filter(({ isMerged }) => isMerged).length,
      other_senders: 0 - sum(foreignEvents, ({ count }) => count),
    },
  }
  const ownNames = new Set(outcomes.map(({ name }) => name))
  const ofOwnNames = foreignEvents.filter(({ eventName }) => ownNames.has(eventName))
  const isWaiting = ofDay.some(outcome => outcome.isWaiting)
  return {
    ...day,
    foreignEventsOfOwnNames: sum(ofOwnNames, ({ count }) => count),
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

function computeOutcomes(
  history: MonthHistory,
  { datasetId, date, asOf }: DayQuery,
): EventOutcome[] {
  return history.events
    .filter(event => event.datasetId === datasetId && event.submittedAt <= asOf)
    .map(event => {
      const copies = findArrivals(history, event).filter(({ at }) => at <= asOf)
      const [accepted] = copies.filter(({ isAnswered }) => isAnswered)
      const isTest = copies.some(arrival => arrival.isTest)
      const isLeft = event.endsAt !== null && event.endsAt <= asOf
      return {
        name: event.eventName,
        isOfDay: formatUtcDay(event.happensAt) === date,
        isTest,
        acceptedOn: accepted ? formatUtcDay(accepted.at) : null,
        counted: copies.filter(
          ({ isDuplicate: isCopy }) => history.plan.countsDuplicates || !isCopy,
        ).length,
        isMerged: !isTest && copies.length > 0 && isReportedByPixel(history, event, asOf),
        isWaiting: !accepted && !isLeft,
      }
    })
}

/** Well within the 48 hours in which the platform deduplicates. */
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
  history: MonthHistory,
  { datasetId, eventId }: Pick<SubmittedEvent, 'datasetId' | 'eventId'>,
): readonly Arrival[] {
  const known =
    arrivalsByEvent.get(history) ??
    Map.groupBy(history.arrivals, arrival => `${arrival.datasetId} ${arrival.eventId}`)
  arrivalsByEvent.set(history, known)
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
