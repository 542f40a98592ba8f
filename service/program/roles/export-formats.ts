import { deserialize, serialize } from 'node:v8'
import type { ByteWriter, ColumnSource, ParquetWriter, SchemaElement } from 'hyparquet-writer'
import { type CsvCell, formatCsv } from '../../runtime/util/csv.ts'
import type { ExportKind, ExportRecord } from '../../signals/reports/export-records.ts'

export const EXPORT_FORMATS = ['ndjson', 'csv', 'parquet'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** How a column is stored in Parquet. The text formats write what JSON has. */
type ColumnType = 'text' | 'integer' | 'boolean' | 'time' | 'decimal' | 'json'

type Columns = Readonly<Record<string, ColumnType>>

const OWNER = { workspace_id: 'integer', signal_tracker_id: 'text' } as const
const CHANGES = { created_at: 'time', updated_at: 'time' } as const

const COLUMN_TYPES: Record<ExportKind, Columns> = {
  events: {
    id: 'text',
    ...OWNER,
    parent_event_id: 'text',
    event_name: 'text',
    event_time: 'time',
    action_source: 'text',
    event_class: 'text',
    order_id: 'text',
    value_amount: 'decimal',
    value_currency: 'text',
    created_at: 'time',
    consent_basis: 'text',
    measurement_class: 'text',
    attribution_join: 'text',
    enforcement_scope: 'text',
    consent_normalization_version: 'text',
    consent: 'json',
    user_data_hashed: 'json',
    value_data: 'json',
    event_source: 'text',
    payload_expired: 'boolean',
    space: 'text',
  },
  deliveries: {
    id: 'integer',
    ...OWNER,
    event_id: 'text',
    destination_id: 'text',
    status: 'text',
    is_test: 'boolean',
    attempt_count: 'integer',
    last_error: 'json',
    platform_response: 'json',
    platform_trace_id: 'text',
    next_attempt_at: 'time',
    ...CHANGES,
  },
  reports: {
    id: 'integer',
    ...OWNER,
    destination_id: 'text',
    report_date: 'text',
    accepted_count: 'integer',
    meta_count: 'integer',
    observed_gap: 'integer',
    event_counts: 'json',
    buckets: 'json',
    unexplained_residual: 'integer',
    status: 'text',
    ...CHANGES,
    count_source: 'json',
    unavailable: 'json',
    sent_names: 'json',
    outcomes: 'json',
    requests: 'json',
    values: 'json',
  },
  'match-quality': {
    id: 'integer',
    ...OWNER,
    destination_id: 'text',
    score: 'decimal',
    week_over_week_change: 'decimal',
    alerted: 'boolean',
    platform_response: 'json',
    measured_at: 'time',
    ...CHANGES,
  },
}

/** Every file has its columns, also without a record. A test compares them with the records. */
export function listExportColumns(kind: ExportKind): string[] {
  return Object.keys(COLUMN_TYPES[kind])
}

/** Turns records into the bytes of a file, in parts that each end at a whole record. */
export interface ExportEncoder {
  /** What a file begins with. */
  begin(): Buffer
  add(records: Iterable<ExportRecord>): void
  /** The bytes of all records since the last part; null while a part is collected. */
  take(isLast: boolean): Buffer | null
  /** What a resumed export needs besides the bytes that are written. */
  saveState(): string | null
}

interface EncoderRequest {
  kind: ExportKind
  format: ExportFormat
  /** Of the checkpoint that is continued. */
  saved: { bytes: number; encoder?: string | null } | null
}

/** Loads the library of Parquet only when it is needed. */
export async function createExportEncoder(request: EncoderRequest): Promise<ExportEncoder> {
  const { kind, format, saved } = request
  if (format !== 'parquet') return new TextEncoding(format, kind)
  const library = await import('hyparquet-writer')
  const writer = new library.ByteWriter()
  const schema = buildSchema(COLUMN_TYPES[kind])
  const file = new library.ParquetWriter({ writer, schema, createdBy: 'signalbox' })
  return new ParquetEncoding({ file, writer, columns: COLUMN_TYPES[kind], saved })
}

class TextEncoding implements ExportEncoder {
  readonly #format: 'ndjson' | 'csv'
  readonly #kind: ExportKind
  #text = ''

  constructor(format: 'ndjson' | 'csv', kind: ExportKind) {
    this.#format = format
    this.#kind = kind
  }

  begin(): Buffer {
    return Buffer.from(this.#format === 'csv' ? formatCsv([listExportColumns(this.#kind)]) : '')
  }

  add(records: Iterable<ExportRecord>): void {
    const format = this.#format
    for (const record of records) this.#text += formatRecord(format, this.#kind, record)
  }

  take(): Buffer {
    const content = Buffer.from(this.#text)
    this.#text = ''
    return content
  }

  saveState(): null {
    return null
  }
}

/** A record as one line. Decimal values keep every digit in both formats. */
export function formatRecord(
  format: 'ndjson' | 'csv',
  kind: ExportKind,
  record: ExportRecord,
): string {
  if (format === 'ndjson') return `${JSON.stringify(record)}\n`
  return formatCsv([listExportColumns(kind).map(column => toCell(record[column]))])
}

function toCell(value: unknown): CsvCell {
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || typeof value === 'number') return value
  return { json: value }
}

/** Readers skip a row group by its statistics; its rows are in memory while it is collected. */
const GROUP_ROWS_MAX = 20_000
const GROUP_BYTES_MAX = 32 * 1_048_576

interface ParquetFile {
  file: ParquetWriter
  writer: ByteWriter
  columns: Columns
  saved: EncoderRequest['saved']
}

/** Row groups, and at the end the list of all of them, which a checkpoint has so far. */
class ParquetEncoding implements ExportEncoder {
  readonly #file: ParquetWriter
  readonly #writer: ByteWriter
  readonly #columns: Columns
  #rows: ExportRecord[] = []
  #bytes = 0

  constructor({ file, writer, columns, saved }: ParquetFile) {
    this.#file = file
    this.#writer = writer
    this.#columns = columns
    if (!saved) return
    writer.index = 0
    writer.offset = saved.bytes
    const state = deserialize(Buffer.from(saved.encoder ?? '', 'base64'))
    Object.assign(file, state as Pick<ParquetWriter, 'row_groups' | 'num_rows'>)
  }

  begin(): Buffer {
    return this.#takeBytes()
  }

  add(records: Iterable<ExportRecord>): void {
    for (const record of records) {
      const row: ExportRecord = {}
      for (const [name, type] of Object.entries(this.#columns)) {
        const value = toParquetValue(type, record[name])
        if (typeof value === 'string') this.#bytes += value.length
        row[name] = value
      }
      this.#rows.push(row)
    }
  }

  take(isLast: boolean): Buffer | null {
    const isFull = this.#rows.length >= GROUP_ROWS_MAX || this.#bytes >= GROUP_BYTES_MAX
    if (!isLast && !isFull) return null
    const rows = this.#rows
    this.#rows = []
    this.#bytes = 0
    if (rows.length > 0) {
      const columnData: ColumnSource[] = Object.keys(this.#columns).map(name => ({
        name,
        data: rows.map(row => row[name]),
        offsetIndex: false,
      }))
      this.#file.write({ columnData, rowGroupSize: rows.length })
      this.#file.pendingIndexes = []
    }
    if (isLast) this.#file.finish()
    return this.#takeBytes()
  }

  saveState(): string {
    const { row_groups, num_rows } = this.#file
    return serialize({ row_groups, num_rows }).toString('base64')
  }

  #takeBytes(): Buffer {
    const content = Buffer.from(this.#writer.getBytes())
    this.#writer.index = 0
    return content
  }
}

/** The contract's money has 15 digits before the point and 6 after it. */
const DECIMAL = { precision: 21, scale: 6, type_length: 9 }
const DECIMAL_DIGITS = /^(-?)(\d{1,15})(?:\.(\d+))?$/

const PARQUET_TYPES: Record<ColumnType, Omit<SchemaElement, 'name'>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  boolean: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  decimal: { type: 'FIXED_LEN_BYTE_ARRAY', converted_type: 'DECIMAL', ...DECIMAL },
}

function buildSchema(columns: Columns): SchemaElement[] {
  const elements = Object.entries(columns).map(
    ([name, type]): SchemaElement => ({
      name,
      repetition_type: 'OPTIONAL',
      ...PARQUET_TYPES[type],
    }),
  )
  return [{ name: 'root', num_children: elements.length }, ...elements]
}

function toParquetValue(type: ColumnType, value: unknown): unknown {
  if (value === null || value === undefined) return null
  switch (type) {
    case 'text':
      return typeof value === 'string' ? value : JSON.stringify(value)
    case 'json':
      return JSON.stringify(value)
    case 'integer':
      return BigInt(value as number)
    case 'boolean':
      return value
    case 'time':
      return new Date(value as string)
    case 'decimal':
      return toUnscaled(JSON.stringify(value))
  }
}

/** Throws instead of rounding. */
function toUnscaled(text: string): bigint {
  const [, sign, whole, fraction = ''] = DECIMAL_DIGITS.exec(text) ?? []
  const digits = fraction.replace(/0+$/, '')
  if (whole === undefined || digits.length > DECIMAL.scale) {
    throw new Error(`${text} does not fit into DECIMAL(${DECIMAL.precision}, ${DECIMAL.scale})`)
  }
  return BigInt(`${sign}${whole}${digits.padEnd(DECIMAL.scale, '0')}`)
}
