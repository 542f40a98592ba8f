import type {
  EventFlow,
  FlowBand,
  FlowOutcome,
  FlowValue,
} from '@signalbox/contract/session/overview.ts'
import { formatMoney } from '../components/format-count.ts'
import type { EventFilters } from '../events/event-filters.ts'

/** Where a stored event can be; `none` has no delivery to the destination. */
export type Outcome = FlowOutcome | 'none'

export const OUTCOME_TITLES: Record<Outcome, string> = {
  accepted: 'Accepted',
  waiting: 'Waiting',
  failed: 'Failed',
  held: 'Held back',
  skipped: 'Skipped',
  test: 'Test mode',
  none: 'No delivery',
}
export const OUTCOMES = Object.keys(OUTCOME_TITLES) as Outcome[]

/** What is shown of a flow: one destination or all, by destination or by event name. */
export interface FlowChoice {
  /** Null: all of them. */
  destination: string | null
  group: 'destination' | 'name'
}

/** Events of one name for one destination. */
export interface FlowRow {
  /** Null: there was no destination. */
  destinationId: string | null
  name: string
  stored: number
  counts: Record<Outcome, number>
  storedValues: readonly FlowValue[]
  acceptedValues: readonly FlowValue[]
  reasons: { outcome: Outcome; reason: string; count: number }[]
  /** What the platform reported of this name; null without a report. */
  reported: number | null
}

/** The rows of a flow, those with the most events first. */
export function listRows(flow: EventFlow, destinations: readonly string[]): FlowRow[] {
  const ids: (string | null)[] = [...destinations]
  if (flow.bands.some(band => band.destination_id === null) || ids.length === 0) ids.push(null)
  return ids.flatMap(destinationId =>
    flow.stored.flatMap(stored => toRow(flow, destinationId, stored) ?? []),
  )
}

function toRow(
  flow: EventFlow,
  destinationId: string | null,
  stored: EventFlow['stored'][number],
): FlowRow | null {
  const bands = flow.bands.filter(
    band => band.destination_id === destinationId && band.event_name === stored.event_name,
  )
  // Without a destination, only what was received then.
  if (destinationId === null && bands.length === 0 && flow.bands.length > 0) return null
  const counts = Object.fromEntries(OUTCOMES.map(outcome => [outcome, 0]))
  for (const band of bands) counts[band.outcome] = band.count
  const planned = sumOf(bands)
  const total = destinationId === null && flow.bands.length > 0 ? planned : stored.count
  counts.none = Math.max(0, total - planned)
  const report = flow.counted.find(each => each.destination_id === destinationId)
  const ofName = report?.event_names.find(each => each.event_name === stored.event_name)
  return {
    destinationId,
    name: stored.event_name,
    stored: planned + counts.none,
    counts: counts as Record<Outcome, number>,
    storedValues: stored.values,
    acceptedValues: bands.find(({ outcome }) => outcome === 'accepted')?.values ?? [],
    reasons: bands.flatMap(({ outcome, reasons }) => reasons.map(each => ({ ...each, outcome }))),
    reported: report && report.days > 0 ? (ofName?.count ?? 0) : null,
  }
}

export function sumOf(rows: readonly { count: number }[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0)
}

/** The filters of the list of events that show exactly one band. */
export function bandFilters(
  { by, from, to }: Pick<EventFlow, 'by' | 'from' | 'to'>,
  band: { destinationId?: string | null; name?: string; outcome?: Outcome },
): EventFilters {
  const start = `${from}T00:00:00.000Z`
  const end = new Date(Date.parse(`${to}T00:00:00.000Z`) + 86_400_000).toISOString()
  const { destinationId, name, outcome } = band
  return {
    ...(by === 'event' ? { event_from: start, event_to: end } : { from: start, to: end }),
    ...(destinationId && { destination: destinationId }),
    ...(name && name !== OTHER_NAMES && { name }),
    ...(outcome && OUTCOME_FILTERS[outcome]),
  }
}

export const OTHER_NAMES = '(other names)'

const OUTCOME_FILTERS: Record<Outcome, EventFilters> = {
  accepted: { status: 'accepted', test: 'no' },
  waiting: { status: 'waiting', test: 'no' },
  failed: { status: 'failed', test: 'no' },
  held: { status: 'held_back', test: 'no' },
  skipped: { status: 'skipped', test: 'no' },
  test: { test: 'yes' },
  none: {},
}

/** For example "1,234.50 EUR and 10.00 USD"; empty without a value. */
export function formatValues(values: readonly FlowValue[]): string {
  return values.map(formatMoney).join(' and ')
}

/** For example "97.4 %"; null without events. */
export function formatPart(count: number, total: number): string | null {
  if (total === 0) return null
  const part = (count / total) * 100
  // Not "100 %" while some are missing, and not "0 %" while some are there.
  const shown = count === total || count === 0 ? part : Math.min(99.9, Math.max(0.1, part))
  return `${Number(shown.toFixed(1))} %`
}

export type { FlowBand }
