import { dollarText, toCents } from './cents.ts'
import type { AnswerFigures } from './check-answers.ts'
import { type Amount, amountOf, type ResultFigures } from './check-result.ts'
import type { Purchase } from './read-purchases.ts'

export interface Figures {
  purchases: readonly Purchase[]
  /** Null when nothing was sent in this run. */
  answers: AnswerFigures | null
  result: ResultFigures
}

/** The figures as text for a person, one line each, the same for the same outcome. */
export function figureLines({ purchases, answers, result }: Figures): string {
  const customers = new Set(purchases.map(({ customer }) => customer)).size
  const days = purchases.map(({ date }) => date).sort()
  const free = purchases.filter(({ dollars }) => toCents(dollars) === 0n)
  const lines = [
    `CDNOW sample, ${customers} customers, ${days[0]} to ${days.at(-1)}`,
    row('in the file', amountOf(purchases.map(({ dollars }) => dollars))),
    row('  of these for 0.00', amountOf(free.map(({ dollars }) => dollars))),
    row('stored', result.stored),
    row('accepted by the simulator', result.received),
    countRow('  copies that it recognised', result.copies),
    ...(answers ? answerRows(answers) : []),
  ]
  return `${lines.join('\n')}\n`
}

function answerRows({ submissions, accepted, duplicates, retries }: AnswerFigures): string[] {
  return [
    countRow('submissions', submissions),
    countRow('  answered 202, new', accepted),
    countRow('  answered 200, duplicate', duplicates),
    countRow('  sent again (429, 503, no answer)', retries),
  ]
}

function row(what: string, { count, cents }: Amount): string {
  return `${countRow(what, count)} purchases ${dollarText(cents).padStart(12)} USD`
}

function countRow(what: string, count: number): string {
  return `${what.padEnd(36)}${String(count).padStart(6)}`
}
