import type { Performance } from '@signalbox/contract/agents/account.ts'
import { filterValue, PerformanceInput } from '@signalbox/contract/agents/tool-inputs.ts'
import type { Database } from '../../runtime/db/database.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { subtractDays, toDaySpan } from '../../runtime/util/time.ts'
import { OTHER_NAMES } from '../../signals/delivery/sent-counts-store.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { type BoundDestination, findBoundDestinations } from './destination-signal-store.ts'
import { countDays, type Period, readPeriod } from './performance-period.ts'
import {
  countAcceptedByName,
  countReceivedByDay,
  type EventFigure,
  findReportedDays,
  type ReportedDay,
  sumConversions,
} from './performance-store.ts'
import { readSpendFigures } from './spend-figures.ts'

/** Limit of events that one call reads. A busier ad account starts on a later day. */
export const EVENTS_READ_MAX = 2_000_000

const performanceValidator = new Validator(PerformanceInput)

export interface PerformanceContext extends Pick<ProposalContext, 'database' | 'now'> {
  eventsReadMax?: number
}

/**
 * get_performance: stored events and platform reports of the last days, for the trackers that
 * deliver to the ad account of the credential. Throws a 422 refusal for invalid arguments and a 403
 * without the permission.
 */
export async function readPerformance(
  { database, now, eventsReadMax = EVENTS_READ_MAX }: PerformanceContext,
  principal: AgentPrincipal,
  input: unknown,
): Promise<Performance> {
  requirePermission(principal, 'ad-account.read')
  const given = performanceValidator.validate(input)
  const at = now()
  const { since: requested, until } = readPeriod(given, at)
  const destinations = await findBoundDestinations(database, principal)
  const pairs = toDestinationPairs(destinations)
  const since = await firstDay(database, pairs, { requested, until, eventsReadMax })
  const span = { since, until }
  const trackerIds = [...new Set(pairs.trackerIds)]
  const previous = await findPreviousSpan(database, trackerIds, { ...span, eventsReadMax })
  const reported = await findReportedDays(database, { ...pairs, ...span })
  return {
    ad_account_id: principal.adAccountId,
    ...span,
    ledger: {
      source: 'signalbox_ledger',
      explanation: ledgerExplanation(destinations.length, since === requested ? null : since),
      events: await ledgerEvents(database, pairs, span),
    },
    platform: {
      source: 'platform_reports',
      explanation: PLATFORM_EXPLANATION,
      ...buildPlatformFigures(reported, destinations),
    },
    spend: await readSpendFigures(database, {
      account: principal,
      trackerIds,
      span,
      previousSince: previous?.since ?? null,
      now: at,
      breakdown: {
        type: filterValue(given.entity_type),
        id: filterValue(given.entity_id),
        isByDay: given.by_day === true,
      },
    }),
    previous: previous && {
      ...previous,
      events: await storedEvents(database, trackerIds, previous),
    },
  }
}

interface DestinationPairs {
  trackerIds: string[]
  destinationIds: string[]
}

function toDestinationPairs(destinations: readonly BoundDestination[]): DestinationPairs {
  return {
    trackerIds: destinations.map(({ trackerId }) => trackerId),
    destinationIds: destinations.map(({ id }) => id),
  }
}

async function ledgerEvents(database: Database, pairs: DestinationPairs, span: Period) {
  const trackerIds = [...new Set(pairs.trackerIds)]
  const { from: since } = toDaySpan(span.since)
  const range = { trackerIds, since, until: toDaySpan(span.until).until, namesMax: NAMES_MAX }
  const figures = await sumConversions(database, range)
  const days = { sinceDay: span.since, untilDay: span.until }
  return buildEventFigures(figures, await countAcceptedByName(database, { ...pairs, ...days }))
}

/** As many days before; null if they and the period have too many events to read. */
async function findPreviousSpan(
  database: Database,
  trackerIds: readonly string[],
  { since, until, eventsReadMax }: Period & { eventsReadMax: number },
): Promise<Period | null> {
  const first = toDaySpan(since).from
  const days = countDays({ since, until })
  const previous = { since: subtractDays(first, days), until: subtractDays(first, 1) }
  const counts = await countReceivedByDay(database, trackerIds, previous.since)
  const total = counts.reduce((sum, { events }) => sum + events, 0)
  return total > eventsReadMax ? null : previous
}

async function storedEvents(database: Database, trackerIds: readonly string[], span: Period) {
  const figures = await sumConversions(database, {
    trackerIds,
    since: toDaySpan(span.since).from,
    until: toDaySpan(span.until).until,
    namesMax: NAMES_MAX,
  })
  return buildEventFigures(figures, new Map()).map(({ event_name, stored, revenue }) => ({
    event_name,
    stored,
    revenue,
  }))
}

/** The first requested day from which the number of events is within the limit, or today. */
async function firstDay(
  database: Database,
  { trackerIds }: DestinationPairs,
  { requested, until, eventsReadMax }: { requested: string; until: string; eventsReadMax: number },
): Promise<string> {
  let total = 0
  for (const { day, events } of await countReceivedByDay(
    database,
    [...new Set(trackerIds)],
    requested,
  )) {
    total += events
    if (total > eventsReadMax) return day < until ? subtractDays(toDaySpan(day).from, -1) : until
  }
  return requested
}

function ledgerExplanation(destinationCount: number, cutTo: string | null): string {
  if (destinationCount === 0) {
    return (
      'Nothing is known: no destination of this workspace delivers for this ad account. ' +
      'get_signal_health says what to do.'
    )
  }
  const cut =
    cutTo === null ? '' : ` There are too many events for all days: these begin on ${cutTo}.`
  return `${LEDGER_EXPLANATION}${cut}`
}

const LEDGER_EXPLANATION =
  'Conversions that happened on these UTC days and were stored here, whether or not an ad led to ' +
  'them, test events included; it is no attribution. Those that come in late are added to the ' +
  'day on which they happened, so the last days still grow. Revenue is the sum of the amounts ' +
  'that events gave with a currency, before refunds, which are events of their own.'

const PLATFORM_EXPLANATION =
  'What the platform says it counted on the days for which it gave its counts, of every sender ' +
  'to the same datasets. A day is reported the morning after and once more two days later; days ' +
  'without a report are missing, not zero. Do not add these figures to those of the ledger: they ' +
  'are about the same events.'

type LedgerEvents = Performance['ledger']['events']

/**
 * Stored events, accepted events and revenue by currency, for each event name. Names that the
 * stored figures combine are combined in the accepted ones as well.
 */
function buildEventFigures(
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
function buildPlatformFigures(
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
