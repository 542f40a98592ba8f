import { batchLoads } from '../util/batch-loads.ts'
import type { Database } from './database.ts'
import type { StoreNodes } from './store-nodes.ts'

/**
 * Statements for many trackers, node by node. A statement through the coordinator of a Citus
 * cluster fails as a whole when one of its nodes is down, so one for trackers of several nodes
 * takes those of healthy nodes with it: 480 of 500 events were refused (docs/decisions/0024).
 * Everything that reads or writes rows of many trackers at once goes through these functions. On
 * one PostgreSQL they are one statement.
 */

/** Values in the order of the trackers, all of which the node stores. */
type LoadManyOfNode<Value> = (
  node: Database,
  trackerIds: readonly string[],
) => Promise<readonly Value[]>

/**
 * Looks up all trackers of one iteration of the event loop with one statement per node. A tracker
 * waits only for its own node, and fails only with it.
 */
export function batchLoadsByNode<Value>(
  nodes: StoreNodes,
  loadMany: LoadManyOfNode<Value>,
): (trackerId: string) => Promise<Value> {
  const loadFrom = perNode(node => batchLoads(trackerIds => loadMany(node, trackerIds)))
  const [only] = nodes.all()
  // On one PostgreSQL there is nothing to find, and asking would cost a microsecond per tracker.
  if (!nodes.isCluster && only) return loadFrom(only)
  return async trackerId => loadFrom(await nodes.findNode(trackerId))(trackerId)
}

/**
 * Calls `work` for each node with its own items, on all nodes at the same time. What works is done
 * when a node fails; the first failure is then thrown.
 */
export async function forEachNode<Item extends { trackerId: string }>(
  nodes: StoreNodes,
  items: readonly Item[],
  work: (node: Database, items: readonly Item[]) => Promise<void>,
): Promise<void> {
  const { byNode, failures } = await groupByNode(nodes, items)
  const results = await Promise.allSettled([...byNode].map(([node, own]) => work(node, own)))
  const [failed] = [...failures, ...results.filter(({ status }) => status === 'rejected')]
  if (failed) throw (failed as PromiseRejectedResult).reason
}

/** Makes a value of each node on first use, such as a queue of its trackers. */
export function perNode<Value>(create: (node: Database) => Value): (node: Database) => Value {
  const values = new Map<Database, Value>()
  return node => {
    const existing = values.get(node)
    if (existing !== undefined) return existing
    const value = create(node)
    values.set(node, value)
    return value
  }
}

interface NodeGroups<Item> {
  byNode: Map<Database, Item[]>
  /** Of the lookups of nodes. */
  failures: PromiseRejectedResult[]
}

async function groupByNode<Item extends { trackerId: string }>(
  nodes: StoreNodes,
  items: readonly Item[],
): Promise<NodeGroups<Item>> {
  const byNode = new Map<Database, Item[]>()
  const failures: PromiseRejectedResult[] = []
  const lookups = items.map(({ trackerId }) => nodes.findNode(trackerId))
  for (const [index, found] of (await Promise.allSettled(lookups)).entries()) {
    if (found.status === 'rejected') {
      failures.push(found)
      continue
    }
    const own = byNode.get(found.value) ?? []
    byNode.set(found.value, own)
    own.push(items[index] as Item)
  }
  return { byNode, failures }
}
