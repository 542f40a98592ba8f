import { storedText } from '@signalbox/contract/closed-set.ts'
import {
  type EventFlow,
  FLOW_DAYS_MAX,
  FLOW_OUTCOMES,
  type FlowBand,
  type FlowCounted,
  type FlowDay,
  type FlowOutcome,
  FlowQuery,
  type FlowValue,
} from '@signalbox/contract/session/overview.ts'
import type { Database } from '../runtime/db/database.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import { Validator } from '../runtime/http/validator.ts'
import { formatUtcDay, isCalendarDay, subtractDays, toDaySpan } from '../runtime/util/time.ts'
import { type Destination, listDestinations } from '../signals/delivery/destination-store.ts'
import { countRefusalsByHour } from '../signals/refusals/refusal-list-store.ts'
import { addUp, type Flow, readFlow } from '../signals/reports/event-flow.ts'
import {
  DELAY_STEP,
  type FlowDelays,
  type FlowDeliveries,
  type FlowEvents,
} from '../signals/reports/event-flow-store.ts'
import { findReportsOfRange, type StoredReport } from '../signals/reports/reconciliation-store.ts'

const DAYS_DEFAULT = 7
/** Days before the range, for the rate over time and the changes. */
const EARLIER_DAYS = 7
const NAMES_MAX = 50
/** The name of all further event names. */
export const OTHER_NAMES = '(other names)'
const CHANGES_MAX = 6
const REPORTS_MAX = 5_000
const REASONS_MAX = 20

interface FlowRange {
  by: 'event' | 'receipt'
  from: string
  to: string
}

const describeInvalidDay = (field: string) =>
  `The ${field} field must be a calendar day, such as 2026-11-20.`
const parseDay = (text: string) => (text === '' || isCalendarDay(text) ? text : null)

const flowValidator = new Validator(FlowQuery, {
  members: {
    from: { error: describeInvalidDay('from'), parse: parseDay },
    to: { error: describeInvalidDay('to'), parse: parseDay },
    by: { error: 'The by field must be event or receipt.' },
  },
})

/** Throws a 422 refusal for days that are none, in the wrong order, or too long ago. */
export function readFlowRange(query: unknown, now: Date): FlowRange {
  const { by = 'event', ...given } = flowValidator.validate(query)
  const to = given.to || formatUtcDay(now)
  const from = given.from || subtractDays(toDaySpan(to).from, DAYS_DEFAULT - 1)
  if (from > to) {
    throw Refusal.ofFields({ from: ['The from field must not be after the to field.'] })
  }
  if (from < subtractDays(now, FLOW_DAYS_MAX - 1)) {
    const sentence = `The from field must be one of the last ${FLOW_DAYS_MAX} days.`
    throw Refusal.ofFields({ from: [sentence] })
  }
  return { by, from, to }
}

interface FlowRequest extends FlowRange {
  trackerId: string
  now: Date
}

/** What happened to the events of some days, as bands that add up. */
export async function readEventFlow(
  database: Database,
  { trackerId, by, from, to, now }: FlowRequest,
): Promise<EventFlow> {
  const first = subtractDays(toDaySpan(from).from, EARLIER_DAYS)
  const today = formatUtcDay(now)
  // A clock may be five minutes ahead; an import tells of events long after their day.
  const received =
    by === 'receipt'
      ? { from: first, until: to }
      : { from: subtractDays(toDaySpan(first).from, 1), until: today }
  const [flow, refused, reports, destinations] = await Promise.all([
    readFlow(database, { trackerId, ...received }),
    countRefusalsByHour(database, { trackerId, from: toDaySpan(from).from }),
    findReportsOfRange(database, { trackerId, from, to, after: null, limit: REPORTS_MAX }),
    listDestinations(database, trackerId),
  ])
  const dayOf = (row: FlowEvents | FlowDelays) => (by === 'event' ? row.eventOn : row.receivedOn)
  const isIn = (row: FlowEvents | FlowDelays) => dayOf(row) >= from && dayOf(row) <= to
  const named = renameRest(flow, isIn)
  const events = named.events.filter(isIn)
  const until = toDaySpan(to).until
  const refusedIn = refused.filter(({ hour }) => hour < until)
  const yesterday = subtractDays(now, 1)
  const changesDay = to < yesterday ? to : yesterday
  return {
    by,
    from,
    to,
    counted_at: now.toISOString(),
    refused: {
      requests: sumOf(refusedIn),
      reasons: listReasons(
        refusedIn.map(({ reason, count }) => ({ reason: storedText(reason), count })),
      ),
    },
    stored: toNames(events),
    uncounted: flow.uncounted,
    bands: toBands(named.deliveries.filter(isIn)),
    counted: destinations.flatMap(destination => toCounted(destination, reports)),
    delays: toDelays(flow.delays.filter(isIn)),
    days: toDays(named, dayOf, { from: first, to }),
    changes_day: changesDay,
    changes: findChanges(named, dayOf, changesDay),
  }
}

type DayOf = (row: FlowEvents | FlowDelays) => string

/** The most frequent names of the range keep theirs. */
function renameRest(flow: Flow, isIn: (row: FlowEvents) => boolean): Flow {
  const counts = addUp(flow.events.filter(isIn), ({ name }) => [name])
  const kept = new Set(
    counts
      .toSorted((a, b) => b.count - a.count)
      .slice(0, NAMES_MAX)
      .map(({ name }) => name),
  )
  if (counts.length <= NAMES_MAX) return flow
  const rename = <Row extends FlowEvents>(row: Row): Row =>
    kept.has(row.name) ? row : { ...row, name: OTHER_NAMES }
  return { ...flow, events: flow.events.map(rename), deliveries: flow.deliveries.map(rename) }
}

function outcomeOf({ status, isTest }: FlowDeliveries): FlowOutcome {
  if (isTest) return 'test'
  if (status === 'accepted') return 'accepted'
  if (status === 'queued' || status === 'sent' || status === 'retrying') return 'waiting'
  if (status === 'skipped:not_selected' || status === 'skipped:duplicate') return 'skipped'
  return status === 'expired' || status.startsWith('skipped:') ? 'held' : 'failed'
}

function toNames(events: readonly FlowEvents[]): EventFlow['stored'] {
  return [...Map.groupBy(events, ({ name }) => name)]
    .map(([event_name, rows]) => ({ event_name, count: sumOf(rows), values: toValues(rows) }))
    .sort((a, b) => b.count - a.count || a.event_name.localeCompare(b.event_name))
}

function toBands(deliveries: readonly FlowDeliveries[]): FlowBand[] {
  const groups = Map.groupBy(deliveries, row =>
    JSON.stringify([row.destinationId, row.name, outcomeOf(row)]),
  )
  return [...groups.values()]
    .map(rows => {
      const [row] = rows as [FlowDeliveries]
      const outcome = outcomeOf(row)
      return {
        destination_id: row.destinationId,
        event_name: row.name,
        outcome,
        count: sumOf(rows),
        values: toValues(rows),
        reasons: outcome === 'accepted' || outcome === 'test' ? [] : listReasons(rows),
      }
    })
    .sort((a, b) => b.count - a.count || a.event_name.localeCompare(b.event_name))
}

function toValues(rows: readonly FlowEvents[]): FlowValue[] {
  return addUp(
    rows.filter(({ currency, amount }) => currency !== null && amount !== null),
    ({ currency }) => [currency],
  )
    .map(({ currency, amount }) => ({ currency: currency as string, amount: amount as string }))
    .sort((a, b) => a.currency.localeCompare(b.currency))
}

/** What the platform of a destination reported, under our names where only one is mapped to it. */
function toCounted(destination: Destination, reports: readonly StoredReport[]): FlowCounted[] {
  const own = reports.filter(({ destinationId }) => destinationId === destination.id)
  const compared = own.filter(({ platformCount }) => platformCount !== null)
  const ownNames = new Map(
    Object.entries(destination.routing.event_names ?? {}).map(([name, other]) => [other, name]),
  )
  const names = new Map<string, number>()
  for (const { eventCounts } of compared) {
    for (const [platformName, count] of Object.entries(eventCounts.meta)) {
      const name = ownNames.get(platformName) ?? platformName
      names.set(name, (names.get(name) ?? 0) + count)
    }
  }
  return [
    {
      destination_id: destination.id,
      days: compared.length,
      total: compared.reduce((sum, { platformCount }) => sum + (platformCount ?? 0), 0),
      event_names: [...names].map(([event_name, count]) => ({ event_name, count })),
      explanation: own[0]?.details?.unavailable?.sentence ?? null,
    },
  ]
}

function toDelays(rows: readonly FlowDelays[]): EventFlow['delays'] {
  return [...Map.groupBy(rows, ({ destinationId }) => destinationId)].map(([id, own]) => {
    const sorted = own.toSorted((a, b) => a.bucket - b.bucket)
    const count = sumOf(sorted)
    const percentile = (part: number) => {
      let seen = 0
      const found = sorted.find(each => {
        seen += each.count
        return seen >= part * count
      })
      return Math.round(DELAY_STEP ** (found?.bucket ?? 0) * 10) / 10
    }
    const [p50_seconds, p99_seconds] = [percentile(0.5), percentile(0.99)]
    return { destination_id: id, count, p50_seconds, p99_seconds }
  })
}

function toDays(
  { events, deliveries }: Flow,
  dayOf: DayOf,
  { from, to }: { from: string; to: string },
): FlowDay[] {
  const days: FlowDay[] = []
  const empty = Object.fromEntries(FLOW_OUTCOMES.map(outcome => [outcome, 0]))
  for (let day = from; day <= to; day = formatUtcDay(toDaySpan(day).until)) {
    days.push({ day, events: 0, ...(empty as Record<FlowOutcome, number>) })
  }
  const byDay = new Map(days.map(each => [each.day, each]))
  for (const row of events) {
    const found = byDay.get(dayOf(row))
    if (found) found.events += row.count
  }
  for (const row of deliveries) {
    const found = byDay.get(dayOf(row))
    if (found) found[outcomeOf(row)] += row.count
  }
  return days
}

type Change = EventFlow['changes'][number]

/** The largest differences between a day and the one before it. */
function findChanges({ events, deliveries }: Flow, dayOf: DayOf, day: string): Change[] {
  const before = subtractDays(toDaySpan(day).from, 1)
  const changes = new Map<string, Change>()
  const add = (row: FlowEvents, change: Pick<Change, 'destination_id' | 'measure'>) => {
    const of = dayOf(row)
    if (of !== day && of !== before) return
    const key = JSON.stringify([row.name, change])
    const found = changes.get(key) ?? { ...change, event_name: row.name, before: 0, after: 0 }
    found[of === day ? 'after' : 'before'] += row.count
    changes.set(key, found)
  }
  for (const row of events) add(row, { destination_id: null, measure: 'stored' })
  for (const row of deliveries) {
    const outcome = outcomeOf(row)
    if (outcome !== 'accepted' && outcome !== 'failed') continue
    add(row, { destination_id: row.destinationId, measure: outcome })
  }
  const sizeOf = ({ after, before: earlier }: Change) => Math.abs(after - earlier)
  return [...changes.values()]
    .filter(change => sizeOf(change) > 0)
    .sort((a, b) => sizeOf(b) - sizeOf(a) || a.event_name.localeCompare(b.event_name))
    .slice(0, CHANGES_MAX)
}

function sumOf(counts: readonly { count: number }[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}

/** The most frequent reasons first. */
function listReasons(counts: readonly { reason: string; count: number }[]): FlowBand['reasons'] {
  return [...Map.groupBy(counts, ({ reason }) => reason)]
    .map(([reason, rows]) => ({ reason, count: sumOf(rows) }))
    .sort((a, b) => b.count - a.count || a.reason.localeCompare(b.reason))
    .slice(0, REASONS_MAX)
}
