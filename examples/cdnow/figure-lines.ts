import { type Amount, type AnswerFigures, type ResultFigures, sumAmount } from './check-result.ts'
import { formatDollars, toCents } from './exact-numbers.ts'
import type { Purchase } from './purchases.ts'

export interface Figures {
  purchases: readonly Purchase[]
  /** Null with `--check-only`. */
  answers: AnswerFigures | null
  result: ResultFigures
}

/** Formats one line per figure. The same result gives the same text. */
export function formatFigures({ purchases, answers, result }: Figures): string {
  const customers = new Set(purchases.map(({ customer }) => customer)).size
  const days = purchases.map(({ date }) => date).sort()
  const free = purchases.filter(({ dollars }) => toCents(dollars) === 0n)
  const lines = [
    `CDNOW sample, ${customers} customers, ${days[0]} to ${days.at(-1)}`,
    formatAmountRow('in the file', sumAmount(purchases.map(({ dollars }) => dollars))),
    formatAmountRow('  of these for 0.00', sumAmount(free.map(({ dollars }) => dollars))),
    formatAmountRow('stored', result.stored),
    formatAmountRow('accepted by the simulator', result.received),
    formatCountRow('  duplicates', result.copies),
    ...(answers ? formatAnswerRows(answers) : []),
  ]
  return `${lines.join('\n')}\n`
}

function formatAnswerRows({ submissions, accepted, duplicates, retries }: AnswerFigures): string[] {
  return [
    formatCountRow('submissions', submissions),
    formatCountRow('  answered 202, new', accepted),
    formatCountRow('  answered 200, duplicate', duplicates),
    formatCountRow('  retries', retries),
  ]
}

function formatAmountRow(what: string, { count, cents }: Amount): string {
  return `${formatCountRow(what, count)} purchases ${formatDollars(cents).padStart(12)} USD`
}

function formatCountRow(what: string, count: number): string {
  return `${what.padEnd(36)}${String(count).padStart(6)}`
}
