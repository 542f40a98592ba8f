import type { Style } from '../output/style.ts'
import { countOf } from '../output/times.ts'

/** What became known of the lines of a file; `--json` prints it as it is. */
export interface ImportSummary extends LineCounts {
  file: string
  /** Null when no line was refused. */
  refused_file: string | null
  /** Status -> events, with --wait; `pending` when the time ran out. */
  deliveries?: Record<string, number>
}

export interface LineCounts {
  /** Read so far. */
  lines: number
  stored: number
  /** Stored before. */
  duplicates: number
  refused: number
}

export function formatSummary(summary: ImportSummary, style: Style): string {
  const { lines, stored, duplicates, refused, refused_file: path, deliveries } = summary
  const rows = [`${style('bold', summary.file)}: ${countOf(lines, 'line')}`]
  rows.push(`  ${style('green', '✓')} ${stored.toLocaleString('en-US')} stored`)
  if (duplicates > 0) {
    rows.push(`  ${style('yellow', '=')} ${duplicates.toLocaleString('en-US')} were stored before`)
  }
  if (refused > 0) {
    const count = refused.toLocaleString('en-US')
    rows.push(`  ${style('red', '✗')} ${count} refused; lines and reasons are in ${path}`)
  }
  for (const [status, count] of Object.entries(deliveries ?? {})) {
    rows.push(`  ${style('dim', '→')} ${count.toLocaleString('en-US')} ${status}`)
  }
  return rows.map(row => `${row}\n`).join('')
}
