import { CsvError, parse } from 'csv-parse/sync'
import { createUsageError } from '../cli-error.ts'
import type { TextLine } from './text-lines.ts'

/** A row of a CSV file, or a line that cannot be read as one. */
export type CsvRow =
  | {
      number: number
      text: string
      cells: string[]
      /** A cell holds lines that may be rows: a stray quote, or text that looks like rows. */
      isDoubtful: boolean
    }
  | { number: number; cells: null; problem: string; text: string | null }

/** How much cells look like a row of the file: `shape` is the number of cells alone. */
export type RowLikeness = 'row' | 'shape' | 'none'

/** A call of the parser costs as much as five lines, so many lines go into one call. */
const BATCH_LINES_MAX = 128
const RECORD_CHARACTERS_MAX = 1_048_576

/** A sentence often has the two cells of a narrow file. */
const SHAPE_CELLS_MIN = 3

const OPEN_QUOTE = 'A quote opens a cell and is not closed where the cell ends.'
const INSIDE_OPEN_QUOTE = 'An earlier line opens a quote, and this line is no row of its own.'

/**
 * The rows of a file, by csv-parse. A quote within a cell that does not begin with one is a
 * character like any other. A quoted cell may have line breaks; if it does not end well, or if
 * every line in it is a row, its quote is a stray one: its first line is refused, and the rows
 * after it are read on their own. So a stray quote takes no other row with it.
 */
export class CsvRows {
  readonly #lines: AsyncIterator<TextLine>
  #delimiter: string | null
  /** Lines to read again, the next one last. */
  readonly #unread: TextLine[] = []
  readonly #ready: CsvRow[] = []
  #isEnded = false
  /** Lines that must be parsed one by one. */
  #singles = 0
  /** Lines up to this one may belong to a cell whose quote is a stray one. */
  #doubtfulUntil = 0
  #likenessOf: (cells: readonly string[]) => RowLikeness = () => 'none'

  constructor(lines: AsyncIterable<TextLine>, delimiter: string | undefined) {
    if (delimiter === '' || delimiter?.includes('"')) {
      throw createUsageError('--delimiter takes text without quotes.')
    }
    this.#lines = lines[Symbol.asyncIterator]()
    this.#delimiter = delimiter ?? null
  }

  /** What tells a row from the text of a cell, once the header is known. */
  recognizeRows(likenessOf: (cells: readonly string[]) => RowLikeness): void {
    this.#likenessOf = likenessOf
  }

  /** Null at the end. Lines without any character are left out. */
  async next(): Promise<CsvRow | null> {
    while (this.#ready.length === 0 && !this.#isEnded) {
      if (this.#singles > 0 || !(await this.#readBatch())) await this.#readSingle()
    }
    return this.#ready.shift() ?? null
  }

  /** False when the next line must be parsed by itself. */
  async #readBatch(): Promise<boolean> {
    const batch = await this.#takeBatch()
    const filled = batch.filter(({ text }) => text !== '')
    const parsed = parseRecords(filled.map(({ text }) => text).join('\n'), this.#separator)
    // A line with an even number of quotes can still end within a cell.
    if (batch.length === 0 || parsed?.length !== filled.length) {
      this.#putBack(batch)
      this.#singles = Math.max(batch.length, 1)
      return false
    }
    for (const [at, { number, text }] of filled.entries()) {
      this.#ready.push({ number, text: text ?? '', cells: parsed[at] ?? [], isDoubtful: false })
    }
    return true
  }

  /** Lines that are rows of their own, unless a quote is a stray one. */
  async #takeBatch(): Promise<TextLine[]> {
    const batch: TextLine[] = []
    while (batch.length < BATCH_LINES_MAX) {
      const line = await this.#take()
      if (line === null) break
      if (this.#delimiter === null && line.text) this.#delimiter = guessDelimiter(line.text)
      const isAlone = line.text !== null && line.number > this.#doubtfulUntil
      if (isAlone && !hasOddQuotes(line.text ?? '')) batch.push(line)
      else {
        this.#putBack([line])
        break
      }
    }
    return batch
  }

  async #readSingle(): Promise<void> {
    this.#singles -= 1
    const line = await this.#take()
    this.#isEnded = line === null
    if (line === null || line.text === '') return
    if (line.text === null) return this.#refuse(line, line.problem)
    const [cells] = parseRecords(line.text, this.#separator) ?? []
    if (line.number <= this.#doubtfulUntil) {
      const likeness = cells ? this.#likenessOf(cells) : this.#likenessOfLines([line])
      const count = line.text.split(this.#separator).length
      const isRow = likeness === 'row' || (likeness === 'shape' && count >= SHAPE_CELLS_MIN)
      if (!isRow) return this.#refuse(line, INSIDE_OPEN_QUOTE)
    }
    if (!cells) return this.#readOverLines(line)
    this.#ready.push({ number: line.number, text: line.text, cells, isDoubtful: false })
  }

  /** A record that begins with this line and ends with a later one. */
  async #readOverLines(first: TextLine): Promise<void> {
    const more = await this.#takeUntilClosed(first)
    const all = [first, ...more]
    const text = all.map(line => line.text ?? '').join('\n')
    const records = more.length === 0 ? null : parseStrictly(text, this.#separator)
    const [cells] = records ?? []
    const isOneRecord = records?.length === 1 && all.every(line => line.text !== null)
    const likeness = this.#likenessOfLines(all)
    if (isOneRecord && cells && likeness !== 'row') {
      this.#ready.push({ number: first.number, text, cells, isDoubtful: likeness === 'shape' })
      return
    }
    this.#putBack(more)
    this.#doubtfulUntil = more.at(-1)?.number ?? first.number
    this.#refuse(first, OPEN_QUOTE)
  }

  /** The lines up to the next one with an odd number of quotes, which closes the cell. */
  async #takeUntilClosed(first: TextLine): Promise<TextLine[]> {
    const taken: TextLine[] = []
    for (let length = first.text?.length ?? 0; length < RECORD_CHARACTERS_MAX; ) {
      const line = await this.#take()
      if (line === null) return taken
      taken.push(line)
      if (line.text === null || hasOddQuotes(line.text)) return taken
      length += line.text.length + 1
    }
    return taken
  }

  /** That of the line which looks least like a row, its quotes taken as text. */
  #likenessOfLines(lines: readonly TextLine[]): RowLikeness {
    const found = lines.map(({ text }) => {
      const cells = (text ?? '').split(this.#separator)
      return this.#likenessOf(cells.map(cell => cell.trim().replaceAll(/^"|"$/g, '')))
    })
    if (found.includes('none')) return 'none'
    return found.includes('shape') ? 'shape' : 'row'
  }

  #refuse({ number, text }: TextLine, problem: string): void {
    this.#ready.push({ number, cells: null, problem, text })
  }

  get #separator(): string {
    return this.#delimiter ?? ','
  }

  async #take(): Promise<TextLine | null> {
    const again = this.#unread.pop()
    if (again) return again
    const { value, done } = await this.#lines.next()
    return done ? null : value
  }

  #putBack(lines: readonly TextLine[]): void {
    for (const line of lines.toReversed()) this.#unread.push(line)
  }
}

function hasOddQuotes(text: string): boolean {
  return text.includes('"') && text.split('"').length % 2 === 0
}

function guessDelimiter(header: string): string {
  const counts = [',', ';', '\t'].map(each => [each, header.split(each).length] as const)
  return counts.sort(([, one], [, other]) => other - one)[0]?.[0] ?? ','
}

/** Null when a quote is open at the end. */
function parseRecords(text: string, delimiter: string): string[][] | null {
  return parseText(text, { delimiter, relax_quotes: true })
}

/** Null as well when text follows a closing quote: over many lines, that is no cell. */
function parseStrictly(text: string, delimiter: string): string[][] | null {
  return parseText(text, { delimiter, relax_quotes: false })
}

function parseText(
  text: string,
  options: { delimiter: string; relax_quotes: boolean },
): string[][] | null {
  try {
    return parse(text, { ...options, record_delimiter: '\n', relax_column_count: true })
  } catch (error) {
    if (error instanceof CsvError) return null
    throw error
  }
}
