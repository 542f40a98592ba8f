import type { Database } from '../db/database.ts'
import { arrayLiteral } from '../db/sql-fragments.ts'
import type { StoreNodes } from '../db/store-nodes.ts'
import { monotonicSeconds } from '../util/monotonic-clock.ts'

/** Where deliveries wait: one destination of one tracker. */
export interface DestinationQueue {
  trackerId: string
  destinationId: string
  /** The name of the destination's platform. */
  platform: string
  /** The destination is inactive and due for a probe: one event, not a batch. */
  isProbe: boolean
  /** The platform could not be reached last time: a few events try it, not a batch. */
  isTrial?: boolean
}

export interface DueQueueQuery {
  now: Date
  queuesMax: number
  /** Destinations that are not to be looked at, so that they crowd no others out of the limit. */
  excludedDestinationIds: readonly string[]
}

/**
 * The lanes that have something due, in no order. Each is asked for by the lane index, so a lane
 * with a million waiting rows costs as much as one with a single row: the limit inside keeps the
 * planner from reading all that waits (150 ms for 500,000 rows with a plain `exists`, now 1 ms).
 * With `trackerIds`, of these trackers alone: a Citus cluster then asks only their own nodes.
 */
export async function findDueQueues(
  { pool }: Database,
  { now, queuesMax: lanesMax, excludedDestinationIds: leaveOut }: DueQueueQuery,
  trackerIds: readonly string[] | null = null,
): Promise<DestinationQueue[]> {
  const isAsked = (table: string) =>
    trackerIds === null ? '' : `and ${table}.tracker_id = any($4::uuid[])`
  const { rows } = await pool.query({
    name: trackerIds === null ? 'find-due-lanes' : 'find-due-lanes-of-trackers',
    text: `select lane.tracker_id, lane.id, lane.type, lane.status = 'inactive' as is_probe
           from destinations lane
           cross join lateral (
             select 1 from delivery_queue
             where delivery_queue.tracker_id = lane.tracker_id
               and delivery_queue.destination_id = lane.id
               and delivery_queue.next_attempt_at <= $1::timestamptz
               and (delivery_queue.leased_until is null
                 or delivery_queue.leased_until <= statement_timestamp())
               ${isAsked('delivery_queue')}
             order by delivery_queue.next_attempt_at limit 1
           ) due
           where (lane.status = 'active' or lane.next_probe_at <= $1::timestamptz)
             and lane.id <> all($3::uuid[]) ${isAsked('lane')}
           order by random() limit $2::integer`,
    values: [
      now,
      lanesMax,
      arrayLiteral(leaveOut),
      ...(trackerIds === null ? [] : [arrayLiteral(trackerIds)]),
    ],
  })
  return rows.map(row => ({
    trackerId: row.tracker_id,
    destinationId: row.id,
    platform: row.type,
    isProbe: row.is_probe,
  }))
}

/** After the cluster could not be asked as a whole, so long each node is asked by itself. */
const BY_NODE_SECONDS = 30

export interface DueQueueSearchOptions {
  database: Database
  nodes: StoreNodes | undefined
  /** A node did not answer; the lanes of the others are found. */
  onError: (error: unknown) => void
}

/**
 * Finds due lanes also while nodes of a Citus cluster are away: one statement asks all nodes, and
 * when that fails, each node is asked for the lanes of its own trackers.
 */
export class DueQueueSearch {
  readonly #options: DueQueueSearchOptions
  #byNodeUntil = Number.NEGATIVE_INFINITY

  constructor(options: DueQueueSearchOptions) {
    this.#options = options
  }

  async find(due: DueQueueQuery): Promise<DestinationQueue[]> {
    const { database, nodes, onError } = this.#options
    if (!nodes?.isCluster) return findDueQueues(database, due)
    if (monotonicSeconds() >= this.#byNodeUntil) {
      try {
        return await findDueQueues(database, due)
      } catch (error) {
        onError(error)
        this.#byNodeUntil = monotonicSeconds() + BY_NODE_SECONDS
      }
    }
    return this.#findByNode(database, nodes, due)
  }

  async #findByNode(
    database: Database,
    nodes: StoreNodes,
    due: DueQueueQuery,
  ): Promise<DestinationQueue[]> {
    const byNode = Map.groupBy(await locateTrackers(database, nodes), ({ node }) => node)
    const answers = await Promise.allSettled(
      [...byNode].map(([node, placed]) =>
        findDueQueues(
          node,
          due,
          placed.map(({ trackerId }) => trackerId),
        ),
      ),
    )
    return answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
  }
}

/** All trackers, which every node knows, with the node that owns each. */
async function locateTrackers({ pool }: Database, nodes: StoreNodes) {
  const { rows } = await pool.query('select id from trackers')
  return Promise.all(
    rows.map(async ({ id }) => ({ trackerId: id as string, node: await nodes.findNode(id) })),
  )
}
