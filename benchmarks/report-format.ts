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

/** "aim at least 0.35: met". An aim is information; it never fails a run. */
export function formatAim(aim: Aim | undefined, figure: number | null): string {
  if (!aim) return ''
  const text = `aim ${aim.direction} ${aim.limit.toLocaleString('en-US')}`
  if (figure === null) return text
  const isMet = aim.direction === 'at least' ? figure >= aim.limit : figure <= aim.limit
  return `${text}: ${isMet ? 'met' : 'missed'}`
}

/** Columns of equal width for a terminal: the first to the left, all others to the right. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map(row => row[column]?.length ?? 0)),
  )
  return rows.map(row => formatRow(row, widths)).join('\n')
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, column) => {
    const width = widths[column] ?? 0
    return column === 0 ? cell.padEnd(width) : cell.padStart(width)
  })
  return cells.join('  ').trimEnd()
}

/** A number with separated thousands. Null stands for what this operating system does not tell. */
export function formatFigure(figure: number | null, digits: number): string {
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  return figure === null ? 'not known' : figure.toLocaleString('en-US', fraction)
}

/** The middle one; of an even count, the mean of the middle two. */
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

/** A section of results.md: when, by which command, and what was printed. */
export function formatResultsEntry({ args, text, at }: MeasuredRun): string {
  const command = ['npm run bench --', ...args.filter(argument => argument !== '--write')].join(' ')
  const date = at.toISOString().slice(0, 16).replace('T', ' ')
  return `\n## ${date} UTC: \`${command}\`\n\n\`\`\`\n${text}\n\`\`\`\n`
}
