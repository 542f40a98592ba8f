import { OTHER_NAMES } from '../../delivery/sent-counts-store.ts'

/** Event names that an answer tells apart; callers and the platform choose them. */
export const NAMES_MAX = 100

export interface NameCounts {
  name: string
  /** One of each column, in their order. */
  counts: number[]
}

/**
 * Columns of counts by name as rows, the largest first, those that have most in an earlier column
 * before the others. What is beyond the limit is one row at the end.
 */
export function countsByName(columns: readonly ReadonlyMap<string, number>[]): NameCounts[] {
  const names = new Set(columns.flatMap(column => [...column.keys()]))
  const hadOthers = names.delete(OTHER_NAMES)
  const rows = [...names]
    .map(name => ({ name, counts: columns.map(column => column.get(name) ?? 0) }))
    .sort(byCounts)
  const shown = rows.slice(0, NAMES_MAX)
  const rest = rows.slice(NAMES_MAX)
  if (rest.length === 0 && !hadOthers) return shown
  const counts = columns.map((column, index) =>
    rest.reduce((sum, row) => sum + (row.counts[index] ?? 0), column.get(OTHER_NAMES) ?? 0),
  )
  return [...shown, { name: OTHER_NAMES, counts }]
}

function byCounts(a: NameCounts, b: NameCounts): number {
  for (const [index, count] of a.counts.entries()) {
    const difference = (b.counts[index] ?? 0) - count
    if (difference !== 0) return difference
  }
  return a.name < b.name ? -1 : 1
}
