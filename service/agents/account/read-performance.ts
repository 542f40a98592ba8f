import type { Performance } from '@signalbox/contract/agents/account.ts'
import { PERFORMANCE_DAYS, PerformanceInput } from '@signalbox/contract/agents/tool-inputs.ts'
import type { Database } from '../../runtime/db/database.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { DAY_MILLISECONDS, subtractDays, toDaySpan } from '../../runtime/util/time.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { type BoundDestination, findBoundDestinations } from './destination-signal-store.ts'
import { buildEventFigures, buildPlatformFigures, NAMES_MAX } from './performance-figures.ts'
import {
  countAcceptedByName,
  countReceivedByDay,
  findReportedDays,
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
  const { days = PERFORMANCE_DAYS } = performanceValidator.validate(input)
  const at = now()
  const until = subtractDays(at, 0)
  const requested = subtractDays(at, days - 1)
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
      events: await ledgerEvents(database, pairs, since),
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

async function ledgerEvents(database: Database, pairs: DestinationPairs, sinceDay: string) {
  const trackerIds = [...new Set(pairs.trackerIds)]
  const since = toDaySpan(sinceDay).from
  const range = { trackerIds, since, until: null, namesMax: NAMES_MAX }
  const figures = await sumConversions(database, range)
  return buildEventFigures(figures, await countAcceptedByName(database, { ...pairs, sinceDay }))
}

interface Span {
  since: string
  until: string
}

/** As many days before; null if they and the period have too many events to read. */
async function findPreviousSpan(
  database: Database,
  trackerIds: readonly string[],
  { since, until, eventsReadMax }: Span & { eventsReadMax: number },
): Promise<Span | null> {
  const first = toDaySpan(since).from
  const days = Math.round((toDaySpan(until).until.getTime() - first.getTime()) / DAY_MILLISECONDS)
  const previous = { since: subtractDays(first, days), until: subtractDays(first, 1) }
  const counts = await countReceivedByDay(database, trackerIds, previous.since)
  const total = counts.reduce((sum, { events }) => sum + events, 0)
  return total > eventsReadMax ? null : previous
}

async function storedEvents(database: Database, trackerIds: readonly string[], span: Span) {
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
