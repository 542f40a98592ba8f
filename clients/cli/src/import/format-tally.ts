import { printable } from '../output/style.ts'
import { countOf } from '../output/times.ts'
import type { ImportTally } from './import-tally.ts'

const LOSSES_SHOWN_MAX = 20

/** Lines for people; `--json` has all of it. */
export function formatTally({ blank, dropped }: ImportTally): string {
  const shown = dropped.slice(0, LOSSES_SHOWN_MAX).map(({ count, line, field, reason }) => {
    const place = `${countOf(count, 'line')}, first line ${line}`
    const text = reason.includes(field) ? reason : `${field}: ${reason}`
    return `  ! ${printable(text)} (${place})\n`
  })
  const rest = dropped.length - shown.length
  return [
    blank > 0 ? `  - ${countOf(blank, 'blank row')} skipped\n` : '',
    ...shown,
    rest > 0 ? `  ! ${countOf(rest, 'other field')} lost values too: see --json\n` : '',
  ].join('')
}
