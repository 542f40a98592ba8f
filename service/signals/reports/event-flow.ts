import { FLOW_DAYS_MAX } from '@signalbox/contract/session/overview.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { JobContext } from '../../runtime/jobs/job.ts'
import { NIL_UUID } from '../../runtime/util/ids.ts'
import {
  HOUR_MILLISECONDS,
  monotonicSeconds,
  subtractDays,
  toDaySpan,
} from '../../runtime/util/time.ts'
import { pauseBetweenBatches } from '../../runtime/util/wait.ts'
import {
  addAmounts,
  COUNTED_EVENTS_MIN,
  type CountedDay,
  countFlow,
  type FlowCounts,
  type FlowEvents,
  findCountedDays,
  findTrackersToCount,
  listTrackerIds,
  type ReceiptDay,
  readCountedDays,
  readReceiptDays,
  writeCountedDay,
} from './event-flow-store.ts'

/** Events that one page counts by itself: about 200 ms. */
const EVENTS_OF_PAGE_MAX = 50_000

/** A page shows the week before its range too, and a clock may be ahead into the next day. */
const EARLIER_DAYS = 8

/** A commit takes less; an event that is later is in the remainder until the next count. */
const COMMIT_MILLISECONDS = 60_000

export interface Flow extends FlowCounts {
  /** Events of the range of receipt that no count has reached yet. */
  uncounted: number
}

/**
 * What happened to the events that were received on some UTC days, both included. Days with few
 * events are counted now; of the others the count of the job is read, and what came after it is
 * counted now, up to a limit.
 */
export async function readFlow(
  database: Pick<Database, 'pool'>,
  range: { trackerId: string; from: string; until: string },
): Promise<Flow> {
  const { trackerId } = range
  const [days, counted] = await Promise.all([
    readReceiptDays(database, range),
    readCountedDays(database, range),
  ])
  const documents = new Map(counted.map(each => [each.day, each]))
  const flow: Flow = { total: 0, events: [], deliveries: [], delays: [], uncounted: 0 }
  let readNow = 0
  for (const part of joinParts(days.toReversed(), documents)) {
    if (readNow + part.events > EVENTS_OF_PAGE_MAX) continue
    readNow += part.events
    append(flow, await countFlow(database, { trackerId, ...part }))
  }
  for (const { day } of days) {
    const document = documents.get(day)
    if (document) append(flow, document.flow)
  }
  const received = days.reduce((sum, { events }) => sum + events, 0)
  const known = flow.events.reduce((sum, { count }) => sum + count, 0)
  return { ...flow, uncounted: Math.max(0, received - known) }
}

interface Part {
  from: Date
  until: Date
  /** How many events are expected in it. */
  events: number
}

/** What is in no document, newest first. Days without one that follow each other are one part. */
function joinParts(
  days: readonly ReceiptDay[],
  documents: ReadonlyMap<string, CountedDay>,
): Part[] {
  const parts: Part[] = []
  for (const { day, events } of days) {
    const document = documents.get(day)
    const span = toDaySpan(day)
    const from = document ? document.countedUntil : span.from
    const missing = events - (document?.events ?? 0)
    if (document && (missing <= 0 || from >= span.until)) continue
    const last = parts.at(-1)
    const isNext = last && !document && last.events + missing <= EVENTS_OF_PAGE_MAX
    if (isNext && last.from.getTime() === span.until.getTime()) {
      last.from = from
      last.events += missing
    } else {
      parts.push({ from, until: span.until, events: missing })
    }
  }
  return parts
}

function append(flow: FlowCounts, more: FlowCounts): void {
  flow.total += more.total
  flow.events.push(...more.events)
  flow.deliveries.push(...more.deliveries)
  flow.delays.push(...more.delays)
}

const TRACKERS_PER_PAGE = 1_000
/** Runs in the first minutes of an hour look at all days, the others at the last two. */
const WHOLE_LOOK_MINUTES = 5

/**
 * Counts the days of receipt again of which enough has changed. It reads every event of such a day
 * an hour at a time, and writes one row: 176 bytes of WAL with a document of 1 KB
 * (docs/decisions/0058-event-flow.md). A tracker to which nothing has happened costs its part of a
 * statement for a thousand trackers. Safe to repeat and to interrupt.
 */
export async function countFlowDays(
  database: Pick<Database, 'pool'>,
  { now, signal }: JobContext,
): Promise<void> {
  const isWholeLook = now.getUTCMinutes() < WHOLE_LOOK_MINUTES
  const days = {
    from: subtractDays(now, isWholeLook ? FLOW_DAYS_MAX + EARLIER_DAYS : 1),
    until: subtractDays(now, 0),
  }
  let after = NIL_UUID
  while (!signal.aborted) {
    const trackerIds = await listTrackerIds(database, after, TRACKERS_PER_PAGE)
    for (const trackerId of await findTrackersToCount(database, { trackerIds, ...days })) {
      if (signal.aborted) return
      await countDaysOfTracker(database, { trackerId, ...days }, { now, signal })
    }
    after = trackerIds.at(-1) ?? ''
    if (trackerIds.length < TRACKERS_PER_PAGE) return
  }
}

async function countDaysOfTracker(
  database: Pick<Database, 'pool'>,
  range: { trackerId: string; from: string; until: string },
  { now, signal }: JobContext,
): Promise<void> {
  const days = await readReceiptDays(database, range)
  const counted = await findCountedDays(database, range)
  const documents = new Map(counted.map(each => [each.day, each]))
  for (const day of days.toReversed()) {
    if (signal.aborted) return
    if (!isDue(day, documents.get(day.day), now)) continue
    await countDay(database, range.trackerId, { day, now, signal })
  }
}

/** The part of a day that has to change before it is counted again. */
const CHANGED_PART = 0.02
/** A count takes at most this part of the time. */
const BUSY_PART = 0.05

/** Whether a day is counted again: when enough has changed, or what waited may have been sent. */
export function isDue(
  { events, accepted }: Omit<ReceiptDay, 'day'>,
  counted: CountedDay | undefined,
  now: Date,
): boolean {
  if (events < COUNTED_EVENTS_MIN) return false
  if (!counted) return true
  const age = now.getTime() - counted.countedAt.getTime()
  if (age < counted.milliseconds / BUSY_PART) return false
  const changes = Math.abs(events - counted.events) + Math.abs(accepted - counted.accepted)
  if (changes >= Math.max(COUNTED_EVENTS_MIN, counted.events * CHANGED_PART)) return true
  const manyWait = counted.waiting >= counted.events * CHANGED_PART
  const hours = manyWait ? 1 : 6
  return (changes > 0 || counted.waiting > 0) && age >= hours * HOUR_MILLISECONDS
}

interface DayToCount extends JobContext {
  day: ReceiptDay
}

async function countDay(
  database: Pick<Database, 'pool'>,
  trackerId: string,
  { day: { day, accepted }, now, signal }: DayToCount,
): Promise<void> {
  const { from, until } = toDaySpan(day)
  const countedUntil = new Date(Math.min(until.getTime(), now.getTime() - COMMIT_MILLISECONDS))
  const startedAt = monotonicSeconds()
  const flow: FlowCounts = { total: 0, events: [], deliveries: [], delays: [] }
  for (let hour = from.getTime(); hour < countedUntil.getTime(); hour += HOUR_MILLISECONDS) {
    if (signal.aborted) return
    const end = new Date(Math.min(hour + HOUR_MILLISECONDS, countedUntil.getTime()))
    append(flow, await countFlow(database, { trackerId, from: new Date(hour), until: end }))
    await pauseBetweenBatches()
  }
  const events = flow.events.reduce((sum, { count }) => sum + count, 0)
  const waiting = flow.deliveries.filter(({ status, isTest }) => !isTest && WAITING.has(status))
  await writeCountedDay(database, trackerId, {
    day,
    countedUntil,
    countedAt: now,
    events,
    accepted,
    waiting: waiting.reduce((sum, { count }) => sum + count, 0),
    milliseconds: Math.round((monotonicSeconds() - startedAt) * 1_000),
    flow: compact(flow),
  })
}

const WAITING = new Set(['queued', 'sent', 'retrying'])

/** The hours of a day as one: rows with the same key are added. */
function compact({ total, events, deliveries, delays }: FlowCounts): FlowCounts {
  return {
    total,
    events: addUp(events, ({ eventOn, name, currency }) => [eventOn, name, currency]),
    deliveries: addUp(deliveries, each => [
      ...[each.eventOn, each.name, each.currency, each.destinationId],
      ...[each.status, each.reason, each.isTest],
    ]),
    delays: addUp(
      delays.map(delay => ({ ...delay, amount: null })),
      ({ eventOn, destinationId, bucket }) => [eventOn, destinationId, bucket],
    ).map(({ amount: _, ...delay }) => delay),
  }
}

type Summed = Pick<FlowEvents, 'count' | 'amount'>

/** Adds up the counts and amounts of rows with the same key. */
export function addUp<Row extends Summed>(
  rows: readonly Row[],
  keyOf: (row: Row) => readonly unknown[],
): Row[] {
  const sums = new Map<string, Row>()
  for (const row of rows) {
    const key = JSON.stringify(keyOf(row))
    const known = sums.get(key)
    if (known) {
      known.count += row.count
      known.amount = addAmounts(known.amount, row.amount)
    } else {
      sums.set(key, { ...row })
    }
  }
  return [...sums.values()]
}
