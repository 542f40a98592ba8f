import type { Database } from '../../runtime/db/database.ts'
import { arrayLiteral } from '../../runtime/db/sql-fragments.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import { monotonicSeconds } from '../../runtime/util/time.ts'

/** The waiting deliveries of one destination of one tracker. */
export interface DestinationQueue {
  trackerId: string
  destinationId: string
  /** The name of the destination's platform. */
  platform: string
  /** The destination is inactive and due for a probe: one event, not a batch. */
  isProbe: boolean
  /** The platform was unreachable last time: a few events try it, not a batch. */
  isTrial?: boolean
}

export interface DueQueueQuery {
  now: Date
  queuesMax: number
  /** Destinations to leave out, so that they take no places within the limit. */
  excludedDestinationIds: readonly string[]
  /** Left out, the limit of the connection. */
  millisecondsMax?: number
}

/**
 * Finds the queues with a due delivery, in random order. Each queue costs one lookup in the queue
 * index, so a queue of a million rows costs as much as one of a single row: the inner limit keeps
 * the planner from reading all waiting rows (150 ms for 500,000 rows with a plain `exists`, 1 ms
 * with the limit). What waits for a disconnected destination is due too: it is skipped. With
 * `trackerIds`, a Citus cluster asks only the nodes of these trackers.
 */
export async function findDueQueues(
  { pool }: Database,
  { now, queuesMax, excludedDestinationIds, millisecondsMax }: DueQueueQuery,
  trackerIds: readonly string[] | null = null,
): Promise<DestinationQueue[]> {
  const trackerCondition = (table: string) =>
    trackerIds === null ? '' : `and ${table}.tracker_id = any($4::uuid[])`
  const values: unknown[] = [now, queuesMax, arrayLiteral(excludedDestinationIds)]
  if (trackerIds !== null) values.push(arrayLiteral(trackerIds))
  const { rows } = await pool.query({
    name: trackerIds === null ? 'find-due-queues' : 'find-due-queues-of-trackers',
    text: `select destination.tracker_id, destination.id, destination.type,
             destination.status = 'inactive' and destination.disconnected_at is null as is_probe
           from destinations destination
           cross join lateral (
             select 1 from delivery_queue
             where delivery_queue.tracker_id = destination.tracker_id
               and delivery_queue.destination_id = destination.id
               and delivery_queue.next_attempt_at <= $1::timestamptz
               and (delivery_queue.leased_until is null
                 or delivery_queue.leased_until <= statement_timestamp())
               ${trackerCondition('delivery_queue')}
             order by delivery_queue.next_attempt_at limit 1
           ) due
           where (destination.status = 'active' or destination.disconnected_at is not null
               or destination.next_probe_at <= $1::timestamptz)
             and destination.id <> all($3::uuid[]) ${trackerCondition('destination')}
           order by random() limit $2::integer`,
    values,
    ...(millisecondsMax !== undefined && { query_timeout: millisecondsMax }),
  })
  return rows.map(row => ({
    trackerId: row.tracker_id,
    destinationId: row.id,
    platform: row.type,
    isProbe: row.is_probe,
  }))
}

/** After a failed query of the whole cluster, each node is queried by itself for this long. */
const BY_NODE_SECONDS = 30
/** On a cluster, a node that stopped without closing its connections must not hold the others. */
const SEARCH_MILLISECONDS_MAX = 5_000

export interface DueQueueSearchOptions {
  database: Database
  nodes: StoreNodes | undefined
  /** A node did not answer; the queues of the other nodes are found. */
  onError: (error: unknown) => void
}

/**
 * Finds due queues even while nodes of a Citus cluster are down: one statement asks all nodes, and
 * when it fails, each node is asked for the queues of its own trackers. A node that does not answer
 * is left out until it does, so that no search waits for it twice.
 */
export class DueQueueSearch {
  readonly #options: DueQueueSearchOptions
  /** Nodes whose last search failed, and whether a ping of them is under way. */
  readonly #failing = new Map<Database, 'idle' | 'pinging'>()
  #byNodeUntilSeconds = Number.NEGATIVE_INFINITY

  constructor(options: DueQueueSearchOptions) {
    this.#options = options
  }

  async find(query: DueQueueQuery): Promise<DestinationQueue[]> {
    const { database, nodes, onError } = this.#options
    if (!nodes?.isCluster) return findDueQueues(database, query)
    const limited = { ...query, millisecondsMax: SEARCH_MILLISECONDS_MAX }
    if (this.#failing.size === 0 && monotonicSeconds() >= this.#byNodeUntilSeconds) {
      try {
        return await findDueQueues(database, limited)
      } catch (error) {
        onError(error)
        this.#byNodeUntilSeconds = monotonicSeconds() + BY_NODE_SECONDS
      }
    }
    this.#pingFailing()
    return this.#findByNode(await locateTrackers(database, nodes), limited)
  }

  async #findByNode(
    trackers: readonly LocatedTracker[],
    query: DueQueueQuery,
  ): Promise<DestinationQueue[]> {
    const trackersByNode = Map.groupBy(trackers, ({ node }) => node)
    const results = await Promise.all(
      [...trackersByNode]
        .filter(([node]) => !this.#failing.has(node))
        .map(([node, own]) => this.#findOnNode(node, own, query)),
    )
    return results.flat()
  }

  async #findOnNode(
    node: Database,
    trackers: readonly LocatedTracker[],
    query: DueQueueQuery,
  ): Promise<DestinationQueue[]> {
    const trackerIds = trackers.map(({ trackerId }) => trackerId)
    try {
      return await findDueQueues(node, query, trackerIds)
    } catch {
      this.#failing.set(node, 'idle')
      return []
    }
  }

  /** Without waiting: the next search includes the nodes that answered. */
  #pingFailing(): void {
    for (const [node, state] of this.#failing) {
      if (state === 'pinging') continue
      this.#failing.set(node, 'pinging')
      node.ping().then(
        () => this.#failing.delete(node),
        () => this.#failing.set(node, 'idle'),
      )
    }
  }
}

interface LocatedTracker {
  trackerId: string
  node: Database
}

/** All trackers, which every node knows, with the node that stores each. */
export async function locateTrackers(
  { pool }: Database,
  nodes: StoreNodes,
): Promise<LocatedTracker[]> {
  const { rows } = await pool.query('select id from trackers')
  return Promise.all(
    rows.map(async ({ id }) => ({ trackerId: id as string, node: await nodes.findNode(id) })),
  )
}

interface RecoveredQueue {
  trackerId: string
  destinationId: string
  at: Date
}

/**
 * Makes retries due because the platform is reachable again: the retry schedule did not know of the
 * outage. A delivery that the platform itself answered keeps its time. Returns how many it brought
 * forward.
 */
export async function bringForwardRetries(
  { pool }: Database,
  { trackerId, destinationId, at }: RecoveredQueue,
): Promise<number> {
  const { rows } = await pool.query(
    `with brought as (
       update delivery_queue set next_attempt_at = $3::timestamptz, updated_at = $3::timestamptz
       where tracker_id = $1::uuid and destination_id = $2::uuid
         and next_attempt_at > $3::timestamptz
         and status = 'retrying' and last_error ->> 'http_status' is null
       returning id
     )
     select count(*) as count from brought`,
    [trackerId, destinationId, at],
  )
  return rows[0].count
}

/** The notification channel on which workers of all processes listen. */
export const DELIVERY_CHANNEL = 'signalbox_deliveries'

/**
 * Wakes the workers of all processes, and names a destination with a new credential. A lost
 * notification costs one poll interval, and for that destination the rest of its wait.
 */
export async function announceDeliveries(
  { pool }: Database,
  changedDestinationId = '',
): Promise<void> {
  await pool.query(`select pg_notify('${DELIVERY_CHANNEL}', $1::text)`, [changedDestinationId])
}

/** The notification channel that names trackers whose events or deliveries changed. */
export const ACTIVITY_CHANNEL = 'signalbox_activity'

/** What a process changed in the store. */
export interface StoreActivity {
  trackerIds: Iterable<string>
  hasDueDeliveries: boolean
}

const ANNOUNCEMENT_MILLISECONDS = 100
/** A payload has less than 8,000 bytes, and an ID with its comma has 37. */
const ANNOUNCED_TRACKERS_MAX = 200
const MANY_TRACKERS = '*'

/**
 * Tells other processes what this one changed: workers, that deliveries are due, and live views,
 * which trackers have news. At most ten statements a second, however many events are committed; the
 * last change is announced too. A lost announcement costs one poll interval.
 */
export class ActivityAnnouncer {
  readonly #database: Database
  readonly #onError: (error: unknown) => void
  #trackerIds = new Set<string>()
  #hasDueDeliveries = false
  #isPaused = false

  constructor(database: Database, onError: (error: unknown) => void) {
    this.#database = database
    this.#onError = onError
  }

  announce({ trackerIds, hasDueDeliveries }: StoreActivity): void {
    for (const id of trackerIds) {
      if (this.#trackerIds.size <= ANNOUNCED_TRACKERS_MAX) this.#trackerIds.add(id)
    }
    this.#hasDueDeliveries ||= hasDueDeliveries
    if (!this.#isPaused) this.#send()
  }

  #send(): void {
    const payload = formatTrackerIds(this.#trackerIds)
    const wakeWorkers = this.#hasDueDeliveries ? `, pg_notify('${DELIVERY_CHANNEL}', '')` : ''
    this.#trackerIds = new Set()
    this.#hasDueDeliveries = false
    this.#isPaused = true
    this.#database.pool
      .query(`select pg_notify('${ACTIVITY_CHANNEL}', $1::text)${wakeWorkers}`, [payload])
      .catch(this.#onError)
    AbortSignal.timeout(ANNOUNCEMENT_MILLISECONDS).addEventListener('abort', () => {
      this.#isPaused = false
      if (this.#trackerIds.size > 0) this.#send()
    })
  }
}

function formatTrackerIds(trackerIds: ReadonlySet<string>): string {
  return trackerIds.size > ANNOUNCED_TRACKERS_MAX ? MANY_TRACKERS : [...trackerIds].join(',')
}

/** The trackers that a payload of the activity channel names; null: any may have changed. */
export function parseTrackerIds(payload: string): ReadonlySet<string> | null {
  return payload === MANY_TRACKERS ? null : new Set(payload.split(','))
}
