import { median } from './median.ts'
import { figureText } from './text-table.ts'

/** One line of a report: what is read from each round, and what the specification hopes for. */
export interface Measure<Round> {
  name: string
  digits: number
  read: (round: Round) => number | null
  aim?: Aim
}

export interface Aim {
  limit: number
  /** Whether the figure should stay at or above the limit, or at or below it. */
  direction: 'at least' | 'at most'
}

/** The median over the rounds; null when none of them knows. */
export function measured<Round>({ read }: Measure<Round>, rounds: readonly Round[]): number | null {
  const known = rounds.map(read).filter(figure => figure !== null)
  return known.length === 0 ? null : median(known)
}

export function measuredText<Round>(measure: Measure<Round>, rounds: readonly Round[]): string {
  return figureText(measured(measure, rounds), measure.digits)
}

/** "aim at least 0.35: met". An aim is information; it never fails a run. */
export function aimText(aim: Aim | undefined, figure: number | null): string {
  if (!aim) return ''
  const text = `aim ${aim.direction} ${aim.limit.toLocaleString('en-US')}`
  if (figure === null) return text
  const isMet = aim.direction === 'at least' ? figure >= aim.limit : figure <= aim.limit
  return `${text}: ${isMet ? 'met' : 'missed'}`
}
