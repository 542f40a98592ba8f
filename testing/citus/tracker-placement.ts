import type { ProvisionedTracker } from '../../service/program/provisioning/provision-tracker.ts'
import type { TestService } from '../fixtures/service.ts'

const TRACKERS_MAX = 60

/** The port of the node with the rows of a tracker, according to Citus. */
export async function findTrackerPort(
  { database: { pool } }: Pick<TestService, 'database'>,
  trackerId: string,
): Promise<number> {
  const { rows } = await pool.query(
    `select nodeport as port from pg_dist_placement join pg_dist_node using (groupid)
     where shardid = get_shard_id_for_distribution_column('destinations', $1::uuid)`,
    [trackerId],
  )
  return rows[0].port
}

/** Creates `count` trackers on each of the two nodes; returns those of one node first. */
export async function createTrackersOnEachNode(
  service: TestService,
  count: number,
): Promise<ProvisionedTracker[]> {
  const byPort = new Map<number, ProvisionedTracker[]>()
  for (let made = 0; made < TRACKERS_MAX; made += 1) {
    const tracker = await service.newTracker()
    const port = await findTrackerPort(service, tracker.trackerId)
    const others = byPort.get(port) ?? []
    if (others.length < count) byPort.set(port, [...others, tracker])
    const groups = [...byPort.values()]
    if (groups.length === 2 && groups.every(group => group.length === count)) return groups.flat()
  }
  throw new Error(`cannot create ${count} trackers on each node`)
}

/** The trackers whose rows are on other nodes, and those on the node with this port. */
export async function splitByNode(
  service: Pick<TestService, 'database'>,
  trackers: readonly ProvisionedTracker[],
  port: number,
): Promise<[elsewhere: ProvisionedTracker[], onNode: ProvisionedTracker[]]> {
  const ports = await Promise.all(
    trackers.map(({ trackerId }) => findTrackerPort(service, trackerId)),
  )
  return [
    trackers.filter((_, index) => ports[index] !== port),
    trackers.filter((_, index) => ports[index] === port),
  ]
}
