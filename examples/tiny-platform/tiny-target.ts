import type { TargetConfig, TargetField } from '../../service/signals/platforms/platform.ts'

/** Where the tiny platform receives events: a board. */
export interface TinyTarget {
  board: string
}

export function parseTinyTarget({ board }: TargetConfig): TinyTarget | null {
  return typeof board === 'string' && isBoard(board) ? { board } : null
}

function isBoard(text: string): boolean {
  return /^[a-z]{1,20}$/.test(text)
}

/** The form of the dashboard asks for these. */
export const TINY_TARGET_FIELDS: readonly TargetField[] = [
  {
    name: 'board',
    label: 'Board',
    hint: 'The name of the board, in lower case.',
    isValid: isBoard,
  },
]
