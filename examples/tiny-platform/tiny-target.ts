import type { TargetConfig } from '../../service/platforms/platform.ts'

/** Where the tiny platform receives events: a board. */
export interface TinyTarget {
  board: string
}

export function parseTinyTarget({ board }: TargetConfig): TinyTarget | null {
  return typeof board === 'string' && /^[a-z]{1,20}$/.test(board) ? { board } : null
}
