import { isObject } from '../../../../service/runtime/util/is-object.ts'
import { parseWithoutRepeats } from '../../../../service/runtime/util/json-shape.ts'
import { CliError, createUsageError } from '../cli-error.ts'
import type { EventBody } from '../event-fields.ts'
import type { CellFormats } from './cell-formats.ts'
import type { ImportTally } from './import-tally.ts'
import { type ColumnMapping, mapColumns } from './map-columns.ts'
import { type CsvRow, CsvRows } from './read-csv.ts'
import type { TextLine } from './text-lines.ts'

/** A line with its event, or with what is wrong with it. */
export type EventLine =
  | { number: number; event: EventBody; problem: null }
  | { number: number; event: null; problem: string; text: string | null }

interface ReadOptions {
  format: 'ndjson' | 'csv'
  /** `column=member` */
  map: readonly string[]
  /** How cells are written. */
  formats?: CellFormats
  delimiter: string | undefined
  /** Counts what makes no event. */
  tally: ImportTally
  /** An option says that people agreed, and when. */
  givesConsent: boolean
}

/** A file as it is read: from a disk, or in a browser. */
export interface FileLines {
  /** As it is named in messages. */
  name: string
  lines: AsyncIterable<TextLine>
}

/** The events of a file, in its order. Empty lines and rows are left out. */
export function readEvents(file: FileLines, options: ReadOptions): AsyncGenerator<EventLine> {
  return options.format === 'csv' ? readCsvEvents(file, options) : readJsonEvents(file)
}

/** `{}` is an event: options may give it all of its members. */
async function* readJsonEvents({ lines }: FileLines): AsyncGenerator<EventLine> {
  for await (const line of lines) {
    if (line.text === null) yield refuse(line, line.problem)
    else if (line.text.trim() === '') continue
    else yield parseJsonLine(line)
  }
}

function parseJsonLine(line: TextLine): EventLine {
  try {
    const parsed = parseWithoutRepeats(line.text ?? '')
    if (parsed === null) return refuse(line, 'The line has an object that names a member twice.')
    const { value } = parsed
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
  { name, lines }: FileLines,
  { map, formats, delimiter, tally, givesConsent }: ReadOptions,
): AsyncGenerator<EventLine> {
  const rows = new CsvRows(lines, delimiter)
  const header = await rows.next()
  if (header === null) throw createUsageError(`${name} has no header.`)
  if (header.cells === null) throw createUsageError(`The header cannot be read. ${header.problem}`)
  const mapping = mapColumns(header.cells, map, formats)
  if (mapping.hasConsent && givesConsent) {
    throw createUsageError(
      'A column of the file is about consent, so each row says its own.',
      'Leave out --consent-granted-at, or ignore the columns: --map "consent.advertising="',
    )
  }
  rows.recognizeRows(mapping.likenessOf)
  for (let row = await rows.next(); row !== null; row = await rows.next()) {
    const line = toEventLine(row, mapping)
    if (line === null) tally.countBlank()
    else yield line
    if (row.cells !== null && row.isDoubtful) tally.add(DOUBTFUL_ROW, row.number)
  }
}

const DOUBTFUL_ROW = {
  code: 'row_doubtful',
  field: '(row)',
  reason: 'A quoted cell has lines that may be rows: look for a stray quote.',
} as const

/** Null for a row of which no cell says anything. */
function toEventLine(row: CsvRow, { columns, toEvent }: ColumnMapping): EventLine | null {
  if (row.cells === null) return refuse(row, row.problem)
  if (row.cells.every(cell => cell.trim() === '')) return null
  if (row.cells.length !== columns) {
    const problem = `The line has ${row.cells.length} cells, and the header ${columns}.`
    return refuse(row, problem)
  }
  try {
    const event = toEvent(row.cells)
    return event && { number: row.number, event, problem: null }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return refuse(row, error.message)
  }
}

function refuse({ number, text }: Pick<TextLine, 'number' | 'text'>, problem: string): EventLine {
  return { number, event: null, problem, text }
}
