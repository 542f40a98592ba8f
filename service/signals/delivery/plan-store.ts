import type { ReasonOf } from '@signalbox/contract/reasons.ts'
import { LRUCache } from 'lru-cache'
import { toBinaryParameters, unnestBinary } from '../../runtime/db/binary-arrays.ts'
import type { Database } from '../../runtime/db/database.ts'
import {
  type BatchColumn,
  type BatchWrite,
  COUNTER_SHARD,
  timeColumn,
  utcDay,
} from '../../runtime/db/sql-fragments.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import { batchLoadsByNode } from '../../runtime/db/store-nodes.ts'
import { TtlCache } from '../../runtime/util/load-cache.ts'
import { type EventSpace, SPACE_NUMBERS } from '../events/event-record.ts'
import { countStages, stageLiteral } from '../events/stage-count-store.ts'
import type { InitialStatus } from './delivery-status.ts'
import { allocateChangeCounter, parseStoredRouting } from './destination-store.ts'
import type { DestinationRouting } from './routing.ts'
import { countPlannedOutcomes } from './sent-counts-store.ts'

/** A delivery that is created with its event, at the same time. */
export interface PlannedDelivery {
  trackerId: string
  space: EventSpace
  eventId: string
  id: number
  destinationId: string | null
  status: InitialStatus
  statusReason: ReasonOf<InitialStatus>
  isTest: boolean
  /** When a queued delivery is due; immediately by default. */
  dueAt?: Date
}

/** A planned delivery with the row number of its event in the statement. */
export interface NumberedDelivery extends PlannedDelivery {
  number: number
}

/** A planned delivery with the time of receipt of its event. */
interface PlacedDelivery extends PlannedDelivery {
  createdAt: Date
}

const OWN_COLUMNS: BatchColumn<PlannedDelivery>[] = [
  { name: 'id', type: 'bigint', text: plan => String(plan.id) },
  { name: 'destination_id', type: 'uuid', text: plan => plan.destinationId },
  { name: 'status', type: 'text', text: plan => plan.status },
  { name: 'status_reason', type: 'text', text: plan => plan.statusReason },
  { name: 'is_test', type: 'boolean', text: plan => (plan.isTest ? 't' : 'f') },
  timeColumn('due_at', plan => plan.dueAt ?? null),
]

const NUMBERED_COLUMNS: BatchColumn<NumberedDelivery>[] = [
  { name: 'number', type: 'integer', text: plan => String(plan.number) },
  ...OWN_COLUMNS,
]

const PLACED_COLUMNS: BatchColumn<PlacedDelivery>[] = [
  { name: 'tracker_id', type: 'uuid', text: plan => plan.trackerId },
  { name: 'created_at', type: 'timestamptz', text: plan => plan.createdAt.toISOString() },
  { name: 'event_id', type: 'text', text: plan => plan.eventId },
  { name: 'space', type: 'smallint', text: plan => String(SPACE_NUMBERS[plan.space]) },
  ...OWN_COLUMNS,
]

/** Rates count neither test deliveries nor skipped ones. */
export const IS_COUNTED = `not is_test and status not like 'skipped:%'`

const STORED_COLUMNS = `tracker_id, created_at, id, event_id, space, destination_id, status,
      status_reason, is_test`

/** Queued deliveries go into the queue, final ones into the history. */
export const PLAN_WRITES = {
  queued: {
    columns: PLACED_COLUMNS,
    from: source => `
    insert into delivery_queue (${STORED_COLUMNS}, next_attempt_at)
    select ${STORED_COLUMNS}, coalesce(due_at, created_at)
    from ${source} where status = 'queued'`,
  },
  final: {
    columns: PLACED_COLUMNS,
    from: source => `
    insert into deliveries (${STORED_COLUMNS})
    select ${STORED_COLUMNS}
    from ${source} where status <> 'queued'`,
  },
  counted_plans: {
    columns: PLACED_COLUMNS,
    from: source => `
    insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
    select tracker_id, ${utcDay('created_at')}, ${COUNTER_SHARD}, count(*), 0
    from ${source} where ${IS_COUNTED} group by 1, 2 order by 1, 2
    on conflict (tracker_id, planned_on, slot) do update
      set planned = delivery_counts.planned + excluded.planned`,
  },
  counted_holds: {
    columns: PLACED_COLUMNS,
    from: source =>
      countStages({
        source,
        trackerId: 'tracker_id',
        at: 'created_at',
        stage: stageLiteral('held'),
        reason: 'status_reason',
        where: `status <> 'queued' and not is_test`,
      }),
  },
  counted_outcomes: { columns: PLACED_COLUMNS, from: countPlannedOutcomes },
} satisfies Record<string, BatchWrite<PlacedDelivery>>

/**
 * The deliveries' part of the acceptance statement. It joins `accepted`, the rows of the events
 * that are new: a duplicate plans nothing.
 */
export function planExpressions(firstParameter: number): string {
  const own = OWN_COLUMNS.map(({ name }) => `plan.${name}`).join(', ')
  return `
    planned as materialized (
      select accepted.tracker_id, accepted.created_at, accepted.event_id, accepted.space, ${own}
      from ${unnestBinary(NUMBERED_COLUMNS, { alias: 'plan', firstParameter })}
      join accepted using (number)
    ),
    ${Object.entries(PLAN_WRITES)
      .map(([name, { from }]) => `${name} as (${from('planned')})`)
      .join(',')}`
}

export function planValues(plans: readonly NumberedDelivery[]): Buffer[] {
  return toBinaryParameters(NUMBERED_COLUMNS, plans)
}

const BLOCK_SIZE = 1_000
/** Beyond this many trackers the least recently used block is dropped; there are enough ids. */
const TRACKERS_MAX = 10_000

/**
 * Hands out delivery ids, counted per tracker. A process reserves them in blocks: one short
 * statement for a thousand deliveries instead of a counter that every commit would wait for. What
 * is left of a block when a process ends is never used; 32 bits leave room for two million blocks.
 */
export class DeliveryIdAllocator {
  readonly #database: Database
  readonly #free = new LRUCache<string, { next: number; end: number }>({ max: TRACKERS_MAX })

  constructor(database: Database) {
    this.#database = database
  }

  /** Makes sure that `take` can serve this many more ids of each tracker. */
  async reserve(counts: ReadonlyMap<string, number>): Promise<void> {
    const missing = new Map<string, number>()
    for (const [trackerId, count] of counts) {
      const block = this.#free.get(trackerId)
      if (block && block.end - block.next >= count) continue
      missing.set(trackerId, Math.max(BLOCK_SIZE, count))
    }
    if (missing.size === 0) return
    const lastIds = await reserveIdsOfTrackers(this.#database, missing)
    for (const [trackerId, lastId] of lastIds) {
      const size = missing.get(trackerId) as number
      this.#free.set(trackerId, { next: lastId + 1 - size, end: lastId + 1 })
    }
  }

  /** The next id of the tracker; `reserve` was asked for it before. */
  take(trackerId: string): number {
    const block = this.#free.get(trackerId)
    if (!block || block.next >= block.end) throw new Error('no delivery id was reserved')
    block.next += 1
    return block.next - 1
  }
}

/**
 * Counts this many delivery ids of each tracker as taken, and returns the last of each. The order
 * of the trackers keeps two processes from waiting for each other.
 */
export async function reserveIdsOfTrackers(
  { pool }: Database,
  counts: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const { rows } = await pool.query({
    name: 'reserve-delivery-ids',
    text: `insert into delivery_id_counters (tracker_id, last_id)
           select tracker_id, count
           from unnest($1::uuid[], $2::bigint[]) as given(tracker_id, count)
           order by tracker_id
           on conflict (tracker_id) do update
             set last_id = delivery_id_counters.last_id + excluded.last_id
           returning tracker_id, last_id`,
    values: [[...counts.keys()], [...counts.values()]],
  })
  return new Map(rows.map(row => [row.tracker_id, row.last_id]))
}

/** `reserveIdsOfTrackers` for one tracker. */
export async function reserveDeliveryIds(
  database: Database,
  trackerId: string,
  count: number,
): Promise<number> {
  const lastIds = await reserveIdsOfTrackers(database, new Map([[trackerId, count]]))
  return lastIds.get(trackerId) as number
}

/** What acceptance needs to know about a tracker's destination. */
export interface DestinationRoute {
  id: string
  /** The name of its platform. */
  platform: string
  /** While test mode is on, events for this destination are test events. */
  isTest: boolean
  /** Which events it gets, and under which names. Absent: every event, under its own. */
  routing?: DestinationRouting
}

/**
 * All destinations of each tracker, in the order of the trackers; an inactive destination queues
 * deliveries until it is active again.
 */
export async function findRoutesOfTrackers(
  { pool }: Database,
  trackerIds: readonly string[],
  now: Date,
): Promise<DestinationRoute[][]> {
  const { rows } = await pool.query({
    name: 'find-destination-routes',
    text: `select tracker_id, id, type as platform, routing,
             coalesce(test_mode_until > $2::timestamptz, false) as "isTest"
           from destinations where tracker_id = any($1::uuid[]) and disconnected_at is null
           order by created_at, id`,
    values: [trackerIds, now],
  })
  const routes = Map.groupBy(rows, row => row.tracker_id as string)
  return trackerIds.map(trackerId =>
    (routes.get(trackerId) ?? []).map(({ id, platform, isTest, routing: stored }) => {
      const routing = parseStoredRouting(stored)
      return { id, platform, isTest, routing }
    }),
  )
}

/** `findRoutesOfTrackers` for one tracker. */
export async function findDestinationRoutes(
  database: Database,
  trackerId: string,
  now: Date,
): Promise<DestinationRoute[]> {
  const [routes = []] = await findRoutesOfTrackers(database, [trackerId], now)
  return routes
}

/** How long another process may miss a new destination or a switch of test mode. */
const LIMITS = { ttlMilliseconds: 500, entriesMax: 10_000 }

/** Caches the destinations of each tracker for new events. */
export class DestinationRouteCache {
  readonly #routes: TtlCache<DestinationRoute[]>
  readonly #changes: Int32Array
  #changesSeen = 0

  constructor(nodes: StoreNodes, now: () => Date, changeCount = allocateChangeCounter()) {
    this.#changes = new Int32Array(changeCount)
    this.#routes = new TtlCache(
      batchLoadsByNode(nodes, (node, trackerIds) => findRoutesOfTrackers(node, trackerIds, now())),
      LIMITS,
    )
  }

  /** Trackers that are not cached share one query per node. */
  async getMany(trackerIds: Iterable<string>): Promise<Map<string, DestinationRoute[]>> {
    const routes = [...trackerIds].map(async id => [id, await this.get(id)] as const)
    return new Map(await Promise.all(routes))
  }

  get(trackerId: string): Promise<DestinationRoute[]> {
    const changes = Atomics.load(this.#changes, 0)
    if (changes !== this.#changesSeen) {
      this.#changesSeen = changes
      this.#routes.clear()
    }
    return this.#routes.get(trackerId)
  }

  /** Clears the caches of all threads, for all trackers: destinations rarely change. */
  invalidate(): void {
    Atomics.add(this.#changes, 0, 1)
  }
}
