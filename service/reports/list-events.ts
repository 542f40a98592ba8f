import type { DashboardMetrics, EventPage } from '@signalbox/contract/event-pages.ts'
import type { TrackerIdentity } from '../access/store.ts'
import type { Database } from '../db/database.ts'
import { countAcceptance } from '../delivery/metrics-store.ts'
import { findDeliveries } from '../delivery/read-store.ts'
import { placeKey } from '../ledger/event-space.ts'
import { dayOf } from '../ledger/ledger-entry.ts'
import { listEvents as listIds } from '../ledger/list-store.ts'
import { findEventsAt } from '../ledger/store.ts'
import { deliveryView } from './delivery-view.ts'
import { eventPage, type PageRequest } from './event-page.ts'
import { eventView } from './event-view.ts'

export interface ListRequest {
  tracker: TrackerIdentity
  page: PageRequest
  /** The list's own absolute URL, for its links. */
  path: string
  at: Date
}

/** listEvents: a page of the tracker's events with their deliveries, and the rates of the week. */
export async function listEvents(
  database: Database,
  { tracker, page, path, at }: ListRequest,
): Promise<{ events: EventPage; metrics: DashboardMetrics }> {
  const { trackerId, workspaceId } = tracker
  const offset = (page.page - 1) * page.perPage
  const [{ total, events: places }, metrics] = await Promise.all([
    listIds(database, { trackerId, offset, limit: page.perPage }),
    acceptanceMetrics(database, trackerId, at),
  ])
  const [stored, deliveries] = await Promise.all([
    findEventsAt(database, trackerId, places),
    findDeliveries(database, trackerId, places),
  ])
  const owner = { workspaceId, signalTrackerId: trackerId }
  const byPlace = new Map(stored.map(event => [placeKey(event), event]))
  const events = places.flatMap(place => {
    const event = byPlace.get(placeKey(place))
    if (!event) return []
    const own = deliveries.filter(delivery => placeKey(delivery) === placeKey(place))
    const views = own.map(delivery => deliveryView(delivery, owner, []))
    return [eventView(event, owner, views)]
  })
  return { events: eventPage({ ...page, events, total, path }), metrics }
}

const DAY_MILLISECONDS = 86_400_000
const WINDOW_DAYS = 7
const RATE_DIGITS = 4

/** Today and the six UTC days before it. When nothing was planned there is no rate: null, not 0. */
async function acceptanceMetrics(
  database: Database,
  trackerId: string,
  at: Date,
): Promise<DashboardMetrics> {
  const since = dayOf(new Date(at.getTime() - (WINDOW_DAYS - 1) * DAY_MILLISECONDS))
  const { planned, accepted } = await countAcceptance(database, trackerId, since)
  return {
    accepted,
    total_deliveries: planned,
    acceptance_rate: planned === 0 ? null : Number((accepted / planned).toFixed(RATE_DIGITS)),
    acceptance_rate_window: 'last_7_days',
  }
}
