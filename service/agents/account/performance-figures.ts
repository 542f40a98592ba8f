import type { Performance } from '@signalbox/contract/agents/account.ts'
import { OTHER_NAMES } from '../../signals/delivery/sent-counts-store.ts'
import type { BoundDestination } from './destination-signal-store.ts'
import type { EventFigure, ReportedDay } from './performance-store.ts'

type LedgerEvents = Performance['ledger']['events']

/**
 * Stored events, accepted events and revenue by currency, for each event name. Names that the
 * stored figures combine are combined in the accepted ones as well.
 */
export function buildEventFigures(
  figures: readonly EventFigure[],
  accepted: ReadonlyMap<string, number>,
): LedgerEvents {
  const stored = new Map<string, number>()
  const revenue = new Map<string, LedgerEvents[number]['revenue']>()
  for (const { eventName, currency, events, amount } of figures) {
    stored.set(eventName, (stored.get(eventName) ?? 0) + events)
    if (currency === null || amount === null) continue
    revenue.set(eventName, [...(revenue.get(eventName) ?? []), { currency, amount }])
  }
  const acceptedOfStored = new Map<string, number>()
  for (const [name, count] of accepted) {
    const key = stored.has(name) ? name : OTHER_NAMES
    acceptedOfStored.set(key, (acceptedOfStored.get(key) ?? 0) + count)
  }
  return combineCountsByName([stored, acceptedOfStored]).map(
    ({ name, counts: [stored = 0, accepted = 0] }) => ({
      event_name: name,
      stored,
      accepted,
      revenue: revenue.get(name) ?? [],
    }),
  )
}

type PlatformFigures = Pick<Performance['platform'], 'days_reported' | 'events'>

/**
 * The platform's counts of all days by name. It counts by dataset, from all senders: its
 * count of a day for two destinations with one dataset is one count, while each sent its own share.
 */
export function buildPlatformFigures(
  days: readonly ReportedDay[],
  destinations: readonly BoundDestination[],
): PlatformFigures {
  const reportingKeys = new Map(destinations.map(({ id, reportingKey }) => [id, reportingKey]))
  const ofDatasets = new Map<string, Map<string, number>>()
  const sent = new Map<string, number>()
  for (const { destinationId, day, platform, ours } of days) {
    const key = `${reportingKeys.get(destinationId)} ${day}`
    const ofDay = ofDatasets.get(key) ?? new Map<string, number>()
    ofDatasets.set(key, ofDay)
    for (const [name, count] of Object.entries(platform)) {
      ofDay.set(name, Math.max(count, ofDay.get(name) ?? 0))
    }
    for (const [name, count] of Object.entries(ours)) sent.set(name, (sent.get(name) ?? 0) + count)
  }
  const counted = new Map<string, number>()
  for (const ofDay of ofDatasets.values()) {
    for (const [name, count] of ofDay) counted.set(name, (counted.get(name) ?? 0) + count)
  }
  return {
    days_reported: new Set(days.map(({ day }) => day)).size,
    events: combineCountsByName([counted, sent]).map(
      ({ name, counts: [counted = 0, sent = 0] }) => ({
        event_name: name,
        counted,
        sent,
      }),
    ),
  }
}

/** Limit of distinct event names in a result; callers and the platform choose names. */
export const NAMES_MAX = 100

interface NameCounts {
  name: string
  /** One count per column. */
  counts: number[]
}

/**
 * Combines columns of counts by name into rows, largest first; earlier columns take precedence.
 * Names beyond the limit become one row at the end.
 */
function combineCountsByName(columns: readonly ReadonlyMap<string, number>[]): NameCounts[] {
  const names = new Set(columns.flatMap(column => [...column.keys()]))
  const hadOthers = names.delete(OTHER_NAMES)
  const rows = [...names]
    .map(name => ({ name, counts: columns.map(column => column.get(name) ?? 0) }))
    .sort(byCounts)
  const shown = rows.slice(0, NAMES_MAX)
  const rest = rows.slice(NAMES_MAX)
  if (rest.length === 0 && !hadOthers) return shown
  const counts = columns.map((column, index) =>
    rest.reduce((sum, row) => sum + (row.counts[index] ?? 0), column.get(OTHER_NAMES) ?? 0),
  )
  return [...shown, { name: OTHER_NAMES, counts }]
}

function byCounts(a: NameCounts, b: NameCounts): number {
  for (const [index, count] of a.counts.entries()) {
    const difference = (b.counts[index] ?? 0) - count
    if (difference !== 0) return difference
  }
  return a.name < b.name ? -1 : 1
}
