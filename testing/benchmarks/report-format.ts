import { formatTable as formatTerminalTable } from '../../service/program/roles/terminal-table.ts'

/** One line of a report: a figure of each round, and its target. */
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

/** The median of all rounds; null when no round has the figure. */
export function readMedian<Round>(
  { read }: Measure<Round>,
  rounds: readonly Round[],
): number | null {
  const known = rounds.map(read).filter(figure => figure !== null)
  return known.length === 0 ? null : median(known)
}

export function formatMeasure<Round>(measure: Measure<Round>, rounds: readonly Round[]): string {
  return formatFigure(readMedian(measure, rounds), measure.digits)
}

/** "target at least 0.35: met". A target is informational; it never fails a run. */
export function formatAim(aim: Aim | undefined, figure: number | null): string {
  if (!aim) return ''
  const text = `target ${aim.direction} ${aim.limit.toLocaleString('en-US')}`
  if (figure === null) return text
  const isMet = aim.direction === 'at least' ? figure >= aim.limit : figure <= aim.limit
  return `${text}: ${isMet ? 'met' : 'missed'}`
}

/** A table for a terminal: the first column is aligned left, all others right. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const width = Math.max(...rows.map(row => row.length))
  const padded = rows.map(row => [...row, ...Array(width - row.length).fill('')])
  const columns = padded[0]?.map((_, index) => (index === 0 ? {} : ({ align: 'right' } as const)))
  return formatTerminalTable(padded, { columns: columns ?? [] }).trimEnd()
}

/** A number with separated thousands. Null: this operating system does not provide it. */
export function formatFigure(figure: number | null, digits: number): string {
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  return figure === null ? 'not known' : figure.toLocaleString('en-US', fraction)
}

/** The middle number; of an even count, the mean of the two in the middle. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]]
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2
}

interface MeasuredRun {
  /** The command line after `npm run bench --`. */
  args: readonly string[]
  text: string
  at: Date
}

/** A section of results.md: the time, the command and its output. */
export function formatResultsEntry({ args, text, at }: MeasuredRun): string {
  const shown = args.filter(argument => argument !== '--write')
  const command = ['npm run bench', ...(shown.length > 0 ? ['--', ...shown] : [])].join(' ')
  const date = at.toISOString().slice(0, 16).replace('T', ' ')
  return `\n## ${date} UTC: \`${command}\`\n\n\`\`\`\n${text}\n\`\`\`\n`
}
