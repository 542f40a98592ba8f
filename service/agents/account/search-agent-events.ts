import {
  EVENTS_SHOWN,
  EventSearchInput,
  type EventSearchResult,
  EXPLAINED_DAYS,
  type ExplainedEvent,
} from '@signalbox/contract/agents/insight.ts'
import { ANY, filterValue } from '@signalbox/contract/agents/tool-inputs.ts'
import { storedText } from '@signalbox/contract/closed-set.ts'
import { STATUS_GROUPS } from '@signalbox/contract/session/events.ts'
import type { Database } from '../../runtime/db/database.ts'
import { Validator } from '../../runtime/http/validator.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import { findDeliveries, type StoredDelivery } from '../../signals/delivery/delivery-store.ts'
import { toEventSpace } from '../../signals/event-reads/read-events.ts'
import { searchDeliveries, searchEventRefs } from '../../signals/event-reads/search-store.ts'
import { eventRefKey } from '../../signals/events/event-columns.ts'
import { findEventsByRef, type StoredEvent } from '../../signals/events/event-store.ts'
import {
  type AgentPrincipal,
  requirePermission,
} from '../../workspaces/oauth/authenticate-agent.ts'
import type { ProposalContext } from '../agents-context.ts'
import { findBoundTrackers } from './destination-signal-store.ts'
import { explainReason } from './reason-texts.ts'

type InsightContext = Pick<ProposalContext, 'database' | 'now'>

const searchValidator = new Validator(EventSearchInput, { textMembers: ['event_name'] })

/** The newest matching events of a tracker that are counted. */
const COUNTED_EVENTS_MAX = 500

/**
 * search_events: counts of the newest matching events by name, status and reason, and the newest of
 * them. Throws a 422 refusal for invalid arguments and a 403 without the permission.
 */
export async function searchAgentEvents(
  { database, now }: InsightContext,
  principal: AgentPrincipal,
  input: unknown,
): Promise<EventSearchResult> {
  requirePermission(principal, 'ad-account.read')
  const given = searchValidator.validate(input)
  const { event_name: name = '', days = EXPLAINED_DAYS, limit = EVENTS_SHOWN } = given
  const from = new Date(now().getTime() - days * DAY_MILLISECONDS)
  const outcome = filterValue(given.outcome)
  const statuses = outcome === undefined ? null : STATUS_GROUPS[outcome]
  const filter = { eventName: name === '' || name === ANY ? null : name, orderId: null }
  const events: ExplainedEvent[] = []
  let isMinimum = false
  for (const trackerId of await findBoundTrackers(database, principal)) {
    const range = { trackerId, from, to: null, after: null, limit: COUNTED_EVENTS_MAX }
    const found = await (statuses === null
      ? searchEventRefs(database, range, filter)
      : searchDeliveries(database, range, { ...filter, statuses }))
    isMinimum ||= found.length === COUNTED_EVENTS_MAX || found.some(row => !row.isMatch)
    const refs = found.filter(row => row.isMatch)
    events.push(...(await explainEvents(database, trackerId, refs)))
  }
  events.sort((a, b) => (a.received_at < b.received_at ? 1 : -1))
  return {
    ad_account_id: principal.adAccountId,
    counts: countEvents(events),
    counted: events.length,
    is_minimum: isMinimum,
    events: events.slice(0, limit),
  }
}

async function explainEvents(
  database: Database,
  trackerId: string,
  found: readonly { createdAt: Date; eventId: string; space: number }[],
): Promise<ExplainedEvent[]> {
  // An event with two matching deliveries is found twice.
  const refs = [...new Map(found.map(ref => [eventRefKey(ref), ref])).values()]
  if (refs.length === 0) return []
  const [events, deliveries] = await Promise.all([
    findEventsByRef(database, trackerId, refs),
    findDeliveries(database, trackerId, refs),
  ])
  const ofEvent = Map.groupBy(deliveries, eventRefKey)
  return events.map(event => explainEvent(event, ofEvent.get(eventRefKey(event)) ?? []))
}

const COUNTS_MAX = 50
const NO_DELIVERY = { status: 'none', reason: '', explanation: 'It has no delivery.' }

function countEvents(events: readonly ExplainedEvent[]): EventSearchResult['counts'] {
  const counts = new Map<string, EventSearchResult['counts'][number]>()
  for (const { event_name, deliveries } of events) {
    const outcomes = deliveries.length > 0 ? deliveries : [NO_DELIVERY]
    // Two destinations with one outcome are one event.
    const own = new Map(outcomes.map(outcome => [`${outcome.status} ${outcome.reason}`, outcome]))
    for (const [outcome, { status, reason, explanation }] of own) {
      const key = JSON.stringify([event_name, outcome])
      const count = counts.get(key) ?? { event_name, status, reason, explanation, events: 0 }
      counts.set(key, { ...count, events: count.events + 1 })
    }
  }
  return [...counts.values()].sort((a, b) => b.events - a.events).slice(0, COUNTS_MAX)
}

/** Without identity, order, addresses and what the platform answered. */
export function explainEvent(
  event: StoredEvent,
  deliveries: readonly StoredDelivery[],
): ExplainedEvent {
  return {
    event_id: event.eventId,
    event_name: event.eventName,
    event_time: event.eventTime.toISOString(),
    received_at: event.createdAt.toISOString(),
    sent_by: toEventSpace(event) ?? 'secret',
    value: event.valueAmount,
    currency: event.valueCurrency,
    deliveries: deliveries.map(({ destinationId, status, statusReason, attemptCount }) => ({
      destination_id: destinationId,
      status: storedText(status),
      reason: storedText(statusReason),
      explanation: explainReason(statusReason),
      attempts: attemptCount,
    })),
  }
}
