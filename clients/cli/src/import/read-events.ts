import { isObject } from '../../../../service/runtime/util/is-object.ts'
import type { EventBody } from '../event-fields.ts'
import { createUsageError } from '../exit-codes.ts'
import { mapColumns } from './map-columns.ts'
import { readLines, type Source, type TextLine } from './read-source.ts'

/** A line with its event, or with what is wrong with it. */
export type EventLine =
  | { number: number; event: EventBody; problem: null }
  | { number: number; event: null; problem: string; text: string | null }

interface ReadOptions {
  format: 'ndjson' | 'csv'
  /** `column=member` */
  map: readonly string[]
  delimiter: string | undefined
}

/** The events of a file, in its order. Empty lines are left out. */
export function readEvents(source: Source, options: ReadOptions): AsyncGenerator<EventLine> {
  return options.format === 'csv' ? readCsvEvents(source, options) : readJsonEvents(source)
}

async function* readJsonEvents(source: Source): AsyncGenerator<EventLine> {
  for await (const line of readLines(source)) {
    if (line.text === null) yield refuse(line, line.problem)
    else if (line.text.trim() !== '') yield parseJsonLine(line)
  }
}

function parseJsonLine(line: TextLine): EventLine {
  try {
    const value = JSON.parse(line.text ?? '')
    if (!isObject(value)) return refuse(line, 'The line is not a JSON object.')
    return { number: line.number, event: unwrapRefused(value), problem: null }
  } catch {
    return refuse(line, 'The line is not JSON.')
  }
}

/** A corrected file of refused lines can be sent as it is. */
function unwrapRefused(value: EventBody): EventBody {
  const { line, reason, event } = value
  const isRefused = typeof line === 'number' && typeof reason === 'string' && isObject(event)
  return isRefused ? (event as EventBody) : value
}

async function* readCsvEvents(
  source: Source,
  { map, delimiter }: ReadOptions,
): AsyncGenerator<EventLine> {
  let toEvent: ((cells: readonly string[]) => EventBody) | null = null
  let columns = 0
  let separator = delimiter ?? ','
  for await (const line of joinRecords(readLines(source))) {
    if (line.text === null) {
      if (toEvent === null) throw createUsageError(`The header cannot be read. ${line.problem}`)
      yield refuse(line, line.problem)
      continue
    }
    if (line.text.trim() === '') continue
    if (toEvent === null) separator = delimiter ?? guessDelimiter(line.text)
    const cells = parseCells(line.text, separator)
    if (toEvent === null) {
      if (cells === null) throw createUsageError('The header of the CSV file has an open quote.')
      toEvent = mapColumns(cells, map)
      columns = cells.length
    } else if (cells === null) {
      yield refuse(line, 'A quote is not closed, or text follows a closing quote.')
    } else if (cells.length !== columns) {
      yield refuse(line, `The line has ${cells.length} cells, and the header ${columns}.`)
    } else {
      yield { number: line.number, event: toEvent(cells), problem: null }
    }
  }
  if (toEvent === null) throw createUsageError(`${source.name} has no header.`)
}

const RECORD_CHARACTERS_MAX = 1_048_576

/** A quoted cell may have line breaks: a record goes on while its quotes are not even. */
async function* joinRecords(lines: AsyncIterable<TextLine>): AsyncGenerator<TextLine> {
  let open = null as { number: number; text: string } | null
  for await (const line of lines) {
    const hasOddQuotes = line.text !== null && !hasEvenQuotes(line.text)
    if (open === null && !hasOddQuotes) {
      yield line
      continue
    }
    // Only this line is searched for quotes: what came before it has an odd number of them.
    const isClosed = open !== null && hasOddQuotes
    const text: string =
      open === null ? (line.text ?? '') : `${open.text}\n${line.text ?? '\ufffd'}`
    open = { number: open?.number ?? line.number, text }
    if (!isClosed && text.length < RECORD_CHARACTERS_MAX) continue
    yield { ...open, problem: '' }
    open = null
  }
  if (open !== null) yield { ...open, problem: '' }
}

function hasEvenQuotes(text: string): boolean {
  return (text.split('"').length - 1) % 2 === 0
}

function guessDelimiter(header: string): string {
  const counts = [',', ';', '\t'].map(each => [each, header.split(each).length] as const)
  return counts.sort(([, one], [, other]) => other - one)[0]?.[0] ?? ','
}

/** The cells of a record by RFC 4180; null when its quotes are wrong. */
function parseCells(text: string, delimiter: string): string[] | null {
  const cells: string[] = []
  for (let at = 0; ; ) {
    if (text[at] === '"') {
      let cell = ''
      for (at += 1; ; ) {
        const end = text.indexOf('"', at)
        if (end === -1) return null
        cell += text.slice(at, end)
        at = end + 1
        if (text[at] !== '"') break
        cell += '"'
        at += 1
      }
      cells.push(cell)
    } else {
      const end = text.indexOf(delimiter, at)
      cells.push(text.slice(at, end === -1 ? text.length : end))
      at = end === -1 ? text.length : end
    }
    if (at >= text.length) return cells
    if (!text.startsWith(delimiter, at)) return null
    at += delimiter.length
  }
}

function refuse({ number, text }: TextLine, problem: string): EventLine {
  return { number, event: null, problem, text }
}
