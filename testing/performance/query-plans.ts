import { type Database, openDatabase } from '../../service/runtime/db/database.ts'

/** A statement that PostgreSQL executed, with the plan that it used. */
export interface RecordedPlan {
  statement: string
  /** Pages of tables and indexes that it read, from memory or disk. */
  buffers: number
  nodes: PlanNode[]
}

/** One node of a plan. Counts are totals over all loops. */
export interface PlanNode {
  type: string
  relation: string | null
  index: string | null
  rows: number
  rowsRemoved: number
}

export interface RecordedDatabase {
  database: Database
  /** Returns the plans since the last call. */
  takePlans(): RecordedPlan[]
}

/** Startup options, because they apply before the first statement of a connection. */
const RECORD = [
  'session_preload_libraries=auto_explain',
  'auto_explain.log_min_duration=0',
  'auto_explain.log_analyze=on',
  'auto_explain.log_buffers=on',
  'auto_explain.log_timing=off',
  'auto_explain.log_format=json',
  'auto_explain.log_level=notice',
].map(setting => `-c ${setting}`)

/**
 * Opens the store like the service, on a single connection that reports the plan of every
 * statement. `EXPLAIN` would plan a statement again. This shows the plan that a prepared statement
 * kept from a time when the table was smaller.
 */
export function recordPlans(connectionString: string): RecordedDatabase {
  const database = openDatabase({
    connectionString,
    connectionsMax: 1,
    applicationName: 'signalbox plans',
    onIdleError: () => {},
  })
  const { options } = database.pool
  options.options = [options.options, ...RECORD].join(' ')
  let plans: RecordedPlan[] = []
  database.pool.on('connect', client => {
    client.on('notice', ({ message }) => {
      const plan = recordedPlan(message ?? '')
      if (plan) plans.push(plan)
    })
  })
  const takePlans = () => {
    const taken = plans
    plans = []
    return taken
  }
  return { database, takePlans }
}

function recordedPlan(message: string): RecordedPlan | null {
  const start = message.indexOf('plan:\n')
  if (start < 0) return null
  const { 'Query Text': statement, Plan: root } = JSON.parse(message.slice(start + 6))
  const buffers = (root['Shared Hit Blocks'] ?? 0) + (root['Shared Read Blocks'] ?? 0)
  return { statement, buffers, nodes: nodesOf(root) }
}

// biome-ignore lint/suspicious/noExplicitAny: the names come from PostgreSQL and are mapped here.
function nodesOf(node: any): PlanNode[] {
  const loops = node['Actual Loops'] ?? 0
  const removed =
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  return [
    {
      type: node['Node Type'],
      relation: node['Relation Name'] ?? null,
      index: node['Index Name'] ?? null,
      rows: Math.round((node['Actual Rows'] ?? 0) * loops),
      rowsRemoved: Math.round(removed * loops),
    },
    ...(node.Plans ?? []).flatMap(nodesOf),
  ]
}

/** A sequential scan of at most this many rows is the cheapest plan for a small table. */
const SMALL_ROWS = 300

/** The problems of a plan, regardless of the size of its tables. Empty if there are none. */
export function findPlanProblems({ nodes }: RecordedPlan): string[] {
  return nodes.flatMap(node => {
    const { type, relation, rows, rowsRemoved } = node
    const place = relation === null ? type : `${type} of ${relation} (${node.index ?? 'no index'})`
    if (type === 'Seq Scan' && rows + rowsRemoved > SMALL_ROWS) {
      return [`${place} reads ${rows + rowsRemoved} rows`]
    }
    // A CTE scan reads the input or output of the statement, which its lists limit.
    if (type !== 'CTE Scan' && rowsRemoved > 2 * rows + SMALL_ROWS) {
      return [`${place} returns ${rows} rows and removes ${rowsRemoved} by filters`]
    }
    return []
  })
}
