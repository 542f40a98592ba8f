export type { Generated } from 'kysely'

/**
 * The columns of every table. Each room adds its own in its `tables.ts` files, which declare the
 * placement of each of its tables on a Citus cluster as well. `store-schema.test.ts` compares them
 * with the migrated schema.
 */
// biome-ignore lint/suspicious/noEmptyInterface: the rooms merge their tables into it.
export interface Tables {}

/**
 * The placement of a table on a Citus cluster; one PostgreSQL ignores it. Partitions are placed
 * with their parent.
 *
 * - `reference`: copied to every node, so that a node needs no other one for its trackers. A write
 *   needs every node, so no such table is written per event.
 * - `distributed`: sharded by `tracker_id`, with all rows of a tracker on one node.
 * - `managed_local`: on the coordinator, and visible to every node, so that statements may join it
 *   to the tables above.
 * - `local`: on the coordinator alone, and never joined to the tables above.
 */
export type TablePlacement = 'reference' | 'distributed' | 'managed_local' | 'local'

/**
 * By the name of the table, with its schema unless that is `signalbox_store` or `public`. Tables
 * are placed in this order, so a table comes after those that it references.
 */
export type TablePlacements = Readonly<Record<string, TablePlacement>>
