import type { Database } from '../../runtime/db/database.ts'
import { type EventRef, isOfPage } from './event-columns.ts'
import { BOTH_SPACES } from './event-record.ts'
import {
  ALL_SPACES,
  findEventsById,
  type StoredEvent,
  selectEvents,
  toStoredEvent,
} from './event-store.ts'

/** The parent of an event has the same space as the event, else the other one. */
export async function findParentEvents(
  database: Database,
  trackerId: string,
  events: readonly StoredEvent[],
): Promise<ReadonlyMap<StoredEvent, StoredEvent>> {
  const parents = new Map<StoredEvent, StoredEvent>()
  const children = events.filter(({ parentEventId }) => parentEventId !== null)
  for (const [isPublishable, own] of Map.groupBy(children, isOfPage)) {
    const ids = [...new Set(own.map(({ parentEventId }) => parentEventId as string))]
    const spaces = isPublishable ? ALL_SPACES.toReversed() : ALL_SPACES
    const found = await findEventsById(database, trackerId, ids, spaces)
    const byId = new Map(found.map(parent => [parent.eventId, parent]))
    for (const child of own) {
      const parent = byId.get(child.parentEventId as string)
      if (parent) parents.set(child, parent)
    }
  }
  return parents
}

const CHILDREN_MAX = 100

/** A child refers to the event of its own space, or to that of the other space if there is none. */
const EVENTS_OF_PARENT = selectEvents(`(
    select events.* from events
    where tracker_id = $1::uuid and parent_event_id = $2::text
      and ($3::smallint = ${BOTH_SPACES} or (space = 1) = ($3::smallint = 1) or not exists (
        select 1 from event_keys
        where tracker_id = $1::uuid and space = 1 - $3::smallint
          and id_digest = event_id_digest($2::text)))
    order by created_at, event_id limit ${CHILDREN_MAX}
  )`)

/** The events that name this one as their parent, oldest first, up to a hundred. */
export async function findChildEvents(
  { pool }: Database,
  trackerId: string,
  parent: Pick<EventRef, 'eventId' | 'space'>,
): Promise<StoredEvent[]> {
  const { rows } = await pool.query({
    text: `${EVENTS_OF_PARENT} order by events.created_at, events.event_id`,
    values: [trackerId, parent.eventId, parent.space],
  })
  return rows.map(row => toStoredEvent(row))
}
