import {
  type DestinationRouting,
  PREVIEW_EVENTS_MAX,
  PREVIEW_NAMES_MAX,
  type RoutingPreview,
} from '@signalbox/contract/routing.ts'
import type { AuditActor } from '../../audit/audit-entry.ts'
import { type AuditedContext, commitAudited } from '../../audit/audit-store.ts'
import type { Database } from '../../runtime/db/database.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'
import type { TrackerIdentity } from '../access/tracker-store.ts'
import { type LastEvent, listLastEvents } from '../events/list-store.ts'
import type { Platform } from '../platforms/platform.ts'
import type { PlatformRegistry } from '../platforms/registry.ts'
import { assertDestinationId, destinationNotFound, isTestModeOn } from './destination-resource.ts'
import {
  type Destination,
  findDestination,
  lockDestination,
  updateRouting,
} from './destination-store.ts'
import { isRestatement } from './restate-orders.ts'
import {
  changeRouting,
  findMappedName,
  findUnselectedReason,
  needsPlatformName,
} from './routing.ts'

interface RoutingRequest {
  tracker: TrackerIdentity
  destinationId: string
  body: unknown
  at: Date
}

type Platforms = Pick<PlatformRegistry, 'find'>

/**
 * Changes which events a destination gets, and under which names; events from then on are planned
 * by it. A change is audited. Throws a 404 refusal for a destination of another tracker, and a 422
 * that names every invalid member.
 */
export async function setRouting(
  context: AuditedContext & { platforms: Platforms },
  { tracker, destinationId, body, at, actor }: RoutingRequest & { actor: AuditActor },
): Promise<Destination> {
  assertDestinationId(destinationId)
  const { trackerId, workspaceId } = tracker
  const key = { trackerId, destinationId }
  return commitAudited(context, async (transaction, record) => {
    const before = await lockDestination(transaction, key)
    if (!before) throw destinationNotFound()
    const routing = changeRouting(before.routing, body, context.platforms.find(before.platform))
    const details = describeChange(before.routing, routing)
    if (details === null) return before
    record({
      workspaceId,
      at,
      actor,
      action: 'destination.routing_changed',
      subject: { type: 'destination', id: before.id },
      details,
    })
    return updateRouting(transaction, key, { routing, at })
  })
}

/**
 * What changed, without the names of events: entries are never deleted, and a caller may have put a
 * person into a name. Null when nothing changed.
 */
export function describeChange(
  before: DestinationRouting,
  after: DestinationRouting,
): Record<string, unknown> | null {
  const changed = listMembers(before, after).filter(
    name => serialize(memberOf(before, name)) !== serialize(memberOf(after, name)),
  )
  if (changed.length === 0) return null
  const { event_names: names = {}, filter = {} } = after
  return {
    changed,
    mapped_names: Object.keys(names).length,
    filter: { ...filter, ...(filter.event_names && { event_names: filter.event_names.length }) },
  }
}

function listMembers(...routings: DestinationRouting[]): string[] {
  const members = routings.flatMap(({ filter = {} }) => Object.keys(filter))
  return ['event_names', ...[...new Set(members)].sort().map(name => `filter.${name}`)]
}

function memberOf({ event_names, filter = {} }: DestinationRouting, name: string): unknown {
  if (name === 'event_names') return event_names
  return (filter as Record<string, unknown>)[name.slice('filter.'.length)]
}

/** The store may return the members of an object in another order. */
function serialize(value: unknown): string {
  const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value)
  return JSON.stringify(isPlain ? Object.entries(value).sort() : (value ?? null))
}

/** Older events say little about those to come, and a search of them would have no end. */
const PREVIEW_DAYS = 90

/**
 * What a change would select of the last events, without making it. Consent is left out: it is
 * decided before the routing. Test mode counts as it is now. Throws as `setRouting` does.
 */
export async function previewRouting(
  { database, platforms }: { database: Database; platforms: Platforms },
  { tracker, destinationId, body, at }: RoutingRequest,
): Promise<RoutingPreview> {
  assertDestinationId(destinationId)
  const { trackerId } = tracker
  const destination = await findDestination(database, trackerId, destinationId)
  if (!destination || destination.disconnectedAt) throw destinationNotFound()
  const platform = platforms.find(destination.platform)
  const routing = changeRouting(destination.routing, body, platform)
  const from = new Date(at.getTime() - PREVIEW_DAYS * DAY_MILLISECONDS)
  const range = { trackerId, from, until: at, limit: PREVIEW_EVENTS_MAX }
  const events = await listLastEvents(database, range)
  const isTest = isTestModeOn(destination, at)
  return summarize(routing, { events, isTest, platform })
}

interface PreviewInput {
  events: readonly LastEvent[]
  isTest: boolean
  platform: Pick<Platform, 'conversionTargets' | 'hasNameFor' | 'restatesValues'> | null
}

function summarize(
  routing: DestinationRouting,
  { events, isTest, platform }: PreviewInput,
): RoutingPreview {
  const reasons = new Map<string, number>()
  const names = new Map<string, { selected: number; not_selected: number }>()
  for (const event of events) {
    const restatesValue = isRestatement(event.eventName, platform)
    const routed = { ...event, isTest, restatesValue }
    const needsName = needsPlatformName(platform, event.eventName)
    const reason = findUnselectedReason(routing, routed, needsName)
    if (reason !== null) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    const counts = names.get(event.eventName) ?? { selected: 0, not_selected: 0 }
    counts[reason === null ? 'selected' : 'not_selected'] += 1
    names.set(event.eventName, counts)
  }
  const ofName = [...names].map(([event_name, counts]) => {
    const mapped = findMappedName(routing, event_name)
    const is_mapped = mapped !== null
    return { event_name, platform_name: mapped ?? event_name, is_mapped, ...counts }
  })
  const used = Object.keys(routing.event_names ?? {})
  const routed = new Set([...used, ...(routing.filter?.event_names ?? [])])
  const notSelected = [...reasons].map(([reason, count]) => ({ reason, count }))
  return {
    events: events.length,
    selected: events.length - notSelected.reduce((sum, { count }) => sum + count, 0),
    not_selected: notSelected.sort((one, other) => other.count - one.count),
    names: ofName.sort((one, other) => total(other) - total(one)).slice(0, PREVIEW_NAMES_MAX),
    unused_names: [...routed].filter(name => !names.has(name)),
  }
}

function total({ selected, not_selected }: { selected: number; not_selected: number }): number {
  return selected + not_selected
}
