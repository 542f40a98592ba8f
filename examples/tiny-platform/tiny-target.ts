import type { TargetConfig, TargetField } from '../../service/signals/platforms/platform.ts'

/** Where the tiny platform receives events: a board. */
export interface TinyTarget {
  board: string
}

export function parseTinyTarget({ board }: TargetConfig): TinyTarget | null {
  return typeof board === 'string' && /^[a-z]{1,20}$/.test(board) ? { board } : null
}

/** The form of the dashboard asks for these. */
export const TINY_TARGET_FIELDS: readonly TargetField[] = [
  { name: 'board', label: 'Board', hint: 'The name of the board, in lower case.' },
]
