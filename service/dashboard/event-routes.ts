import { REPLAY_BYTES_MAX, REPLAY_LIMIT_DEFAULT } from '@signalbox/contract/replays.ts'
import * as contract from '@signalbox/contract/session/event-operations.ts'
import { EventExport, type EventSearchPage } from '@signalbox/contract/session/events.ts'
import {
  type ReplayOutcome,
  type ReplayPreview,
  type ReplayProgress,
  ReplaySelection,
} from '@signalbox/contract/session/replays.ts'
import type { AuditActor } from '../audit/audit-entry.ts'
import type { Database } from '../runtime/db/database.ts'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { FieldErrorList, readPathParameters, Validator } from '../runtime/http/validator.ts'
import { isUuid } from '../runtime/util/ids.ts'
import type { TrackerIdentity } from '../signals/access/tracker-store.ts'
import { findDeliveries } from '../signals/delivery/delivery-store.ts'
import { previewSelection, replaySelection } from '../signals/delivery/replay-deliveries.ts'
import {
  type ReplayCounts,
  readReplayProgress,
  type ReplaySelection as StoredSelection,
} from '../signals/delivery/replay-store.ts'
import { readSpace, readTime } from '../signals/event-reads/read-events.ts'
import { ALL_SPACES, findEventsById } from '../signals/events/event-store.ts'
import { userActor } from '../workspaces/users/workspaces.ts'
import { type DashboardContext, requireTracker } from './dashboard-context.ts'
import { readEventDetails } from './event-details.ts'
import { exportEvents } from './export-events.ts'
import { type HistoryExchange, readHistory } from './history-reads.ts'
import { searchEvents } from './search-events.ts'

/** The events of a tracker, and sending them again. */
export function eventRoutes(app: ServiceApp, context: DashboardContext): void {
  const { database, platforms, now } = context

  app.route({
    ...contract.searchEvents,
    async handler(request, reply) {
      const { trackerId } = await requireTracker(context, request, 'view_events')
      return searchHistory(context, { request, reply, trackerId }, request.query)
    },
  })

  app.route({
    ...contract.exportEvents,
    async handler(request, reply) {
      const { trackerId } = await requireTracker(context, request, 'view_events')
      const query = exportValidator.validate(request.query)
      const search = searchHistory.bind(null, context, { request, reply, trackerId })
      const { headers, body } = await exportEvents(search, { query, now: now() })
      return reply.headers(headers).send(body as never)
    },
  })

  app.route({
    ...contract.getEventDetails,
    async handler(request) {
      const { trackerId } = await requireTracker(context, request, 'view_events')
      const { event: eventId } = readPathParameters(request.params, 'event')
      const space = readSpace(request.query)
      return readEventDetails(database, trackerId, { eventId, space, platforms, at: now() })
    },
  })

  app.route({
    ...contract.previewReplay,
    bodyLimit: REPLAY_BYTES_MAX,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'read')
      return previewReplay(context, { tracker, body: request.body })
    },
  })

  app.route({
    ...contract.startReplay,
    bodyLimit: REPLAY_BYTES_MAX,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'manage_deliveries')
      return startReplay(context, userActor(request.user), { tracker, body: request.body })
    },
  })

  app.route({
    ...contract.getReplayProgress,
    async handler(request) {
      const tracker = await requireTracker(context, request, 'read')
      const { replay } = readPathParameters(request.params, 'replay')
      return getReplayProgress(context, tracker, replay)
    },
  })
}

interface SearchRequest extends HistoryExchange {
  trackerId: string
}

/** Who asks for one event by an ID may have sent it a moment ago, so the primary answers. */
async function searchHistory(
  context: DashboardContext,
  { trackerId, ...exchange }: SearchRequest,
  query: unknown,
): Promise<EventSearchPage> {
  const search = (database: Database) => searchEvents({ ...context, database }, trackerId, query)
  const isOfOneEvent = ['event_id', 'search'].some(name => Object.hasOwn(query as object, name))
  return isOfOneEvent ? search(context.database) : readHistory(context, exchange, search)
}

interface SelectionRequest {
  tracker: TrackerIdentity
  body: unknown
}

/** What the replay of a selection would do now. Throws a 422 naming every invalid field. */
export async function previewReplay(
  { database, now }: DashboardContext,
  { tracker, body }: SelectionRequest,
): Promise<ReplayPreview> {
  const selection = await readSelection(database, tracker, body)
  return countsView(await previewSelection(database, { selection, at: now() }))
}

/** Queues the failed deliveries of a selection again, with the person in the audit log. */
export async function startReplay(
  context: DashboardContext,
  actor: AuditActor,
  { tracker, body }: SelectionRequest,
): Promise<ReplayOutcome> {
  const { database, now, onDeliveriesQueued } = context
  const selection = await readSelection(database, tracker, body)
  const at = now()
  const counts = await replaySelection(context, { tracker, actor, selection, at })
  if (counts.queued > 0) onDeliveriesQueued(tracker.trackerId)
  return { ...countsView(counts), replayed_at: at.toISOString() }
}

/** How much of the replay of this time still waits, and how much failed again. */
export async function getReplayProgress(
  { database }: DashboardContext,
  { trackerId }: TrackerIdentity,
  time: string,
): Promise<ReplayProgress> {
  const errors = new FieldErrorList()
  const replayedAt = readTime(errors, 'replay', time)
  if (replayedAt === null) throw Refusal.ofFields(errors.toErrors())
  const { waiting, failed, isExact } = await readReplayProgress(database, trackerId, replayedAt)
  return { waiting, failed, is_exact: isExact }
}

const exportValidator = new Validator(EventExport)

const selectionValidator = new Validator(ReplaySelection, { textMembers: ['event_name'] })

async function readSelection(
  database: Database,
  { trackerId }: TrackerIdentity,
  body: unknown,
): Promise<StoredSelection> {
  const given = selectionValidator.validate(body)
  const { delivery_ids, event_ids, event_name, statuses, destination_id, cause, limit } = given
  if (destination_id !== undefined && !isUuid(destination_id)) {
    throw Refusal.ofFields({ destination_id: ['The destination_id field must be a UUID.'] })
  }
  const ofEvents = event_ids && (await findDeliveryIds(database, trackerId, event_ids))
  return {
    trackerId,
    deliveryIds: intersect(delivery_ids, ofEvents),
    eventName: event_name ?? null,
    ...(statuses && { statuses }),
    ...(destination_id && { destinationId: destination_id }),
    ...(cause && { cause }),
    limit: limit ?? REPLAY_LIMIT_DEFAULT,
  }
}

async function findDeliveryIds(
  database: Database,
  trackerId: string,
  eventIds: readonly string[],
): Promise<number[]> {
  const found = await Promise.all(
    ALL_SPACES.map(space => findEventsById(database, trackerId, eventIds, [space])),
  )
  const deliveries = await findDeliveries(database, trackerId, found.flat())
  return deliveries.map(({ id }) => id)
}

/** Null for no restriction. */
function intersect(
  one: readonly number[] | undefined,
  other: readonly number[] | undefined,
): readonly number[] | null {
  if (!one || !other) return one ?? other ?? null
  const allowed = new Set(other)
  return one.filter(id => allowed.has(id))
}

function countsView(counts: ReplayCounts): ReplayPreview {
  return {
    queued: counts.queued,
    expired: counts.expired,
    payload_expired: counts.payloadExpired,
    may_count_twice: counts.mayCountTwice,
    unknown_outcome: counts.unknownOutcome,
    capped: counts.isCapped,
  }
}
