import type { ListedKey } from '../access/store.ts'
import { formatIsoMinute } from '../util/date-text.ts'
import { kindName } from './key-command.ts'

const WIDTHS = [11, 4, 16, 16, 16]

export const KEY_HEAD = line(['KIND', 'LAST', 'ISSUED', 'LAST USED', 'REVOKED', 'ORIGINS'])

/** One key in columns. Its last four characters name it; more of it nobody has. */
export function keyLine(key: ListedKey): string {
  return line([
    kindName(key.kind),
    key.last_characters,
    minute(key.created_at),
    minute(key.last_used_at),
    minute(key.revoked_at),
    key.origins.join(' '),
  ])
}

function minute(moment: Date | null): string {
  return moment === null ? '-' : formatIsoMinute(moment)
}

function line(cells: readonly string[]): string {
  return `${cells
    .map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0))
    .join('  ')
    .trimEnd()}\n`
}
