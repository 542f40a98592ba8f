import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '@signalbox/embedded-postgres/private-file.ts'
import { Command, Option } from 'commander'
import { type CsvCell, formatCsv } from '../../runtime/util/csv.ts'
import { isObject, parseJsonObject } from '../../runtime/util/is-object.ts'
import {
  EXPORT_KINDS,
  type ExportKind,
  type ExportPosition,
  type ExportRecord,
  readExportPage,
} from '../../signals/reports/export-records.ts'
import { runOnStore } from './open-store.ts'
import { findTrackerArgument, parseTracker, type TrackerReference } from './option-values.ts'
import { type RoleContext, StartError } from './role.ts'

export interface ExportRequest {
  kind: ExportKind
  tracker: TrackerReference
  format: ExportFormat
  out: string
  resume: boolean
}

/** What a checkpoint needs to go on. */
interface ExportState {
  kind: ExportKind
  tracker_id: string
  format: ExportFormat
  /** Nothing that was received later. */
  before: string
  position: ExportPosition
  records: number
  /** The last page is written; only the name is missing. */
  is_complete: boolean
}

const KIND_LABELS: Record<ExportKind, string> = {
  events: 'events',
  deliveries: 'deliveries',
  reports: 'reports',
  'match-quality': 'snapshots of match quality',
}

/** Commits of events that were received earlier than this are over. */
const COMMIT_SECONDS_MAX = 10

/** Writes the lines of one kind of a tracker to a file, a page at a time. */
export async function runExport(context: RoleContext, request: ExportRequest): Promise<void> {
  const { printOutput } = context
  const { out, resume, kind } = request
  const checkpoint = resume ? await readCheckpoint<ExportState>(out) : null
  if (resume && !checkpoint && (await exists(out))) {
    printOutput(`${out} is complete already.\n`)
    return
  }
  await runOnStore(context, 'export', async ({ database }) => {
    const tracker = await findTrackerArgument(database, request.tracker)
    let state = checkpoint?.state ?? startState(request, tracker.trackerId, context.now())
    requireSameExport(state, request, tracker.trackerId)
    const file = checkpoint
      ? await ResumableFile.resume<ExportState>(out, checkpoint)
      : await ResumableFile.create<ExportState>(out)
    try {
      if (!checkpoint) await file.append(formatHeader(request.format, kind), state)
      while (!state.is_complete) {
        const before = new Date(state.before)
        const search = { kind, tracker, position: state.position, before }
        const { records, next } = await readExportPage(database, search)
        const count = state.records + records.length
        state = { ...state, position: next, records: count, is_complete: next === null }
        const lines = records.map(record => formatRecord(request.format, kind, record))
        await file.append(lines.join(''), state)
      }
      await file.finish()
    } finally {
      await file.close()
    }
    const count = `${state.records} ${KIND_LABELS[kind]}`
    printOutput(`${out}: ${count}, received before ${state.before}.\n`)
  })
}

function startState({ kind, format }: ExportRequest, trackerId: string, now: Date): ExportState {
  const before = new Date(now.getTime() - COMMIT_SECONDS_MAX * 1_000)
  return {
    kind,
    tracker_id: trackerId,
    format,
    before: before.toISOString(),
    position: null,
    records: 0,
    is_complete: false,
  }
}

/** A file of one export is not continued as another one. */
function requireSameExport(
  { kind, format, tracker_id }: ExportState,
  request: ExportRequest,
  trackerId: string,
): void {
  if (kind === request.kind && format === request.format && tracker_id === trackerId) return
  throw new StartError(
    `${request.out} is an unfinished export of the ${KIND_LABELS[kind]} of tracker ` +
      `${tracker_id} as ${format}: ` +
      'continue it with the same arguments, or choose another name.',
  )
}

export function defineExportCommand(handle: (request: ExportRequest) => Promise<void>): Command {
  const command = new Command()
  for (const kind of EXPORT_KINDS) {
    command.addCommand(
      new Command(kind)
        .description(`write the ${KIND_LABELS[kind]} of a tracker to a file`)
        .requiredOption('--tracker <id>', 'ID of a tracker or of its workspace', parseTracker)
        .addOption(
          new Option('--format <format>', 'format of the file')
            .choices(EXPORT_FORMATS)
            .default('ndjson'),
        )
        .requiredOption('--out <file>', 'new file')
        .option('--resume', 'continue an export that was interrupted', false)
        .action(options => handle({ kind, ...options })),
    )
  }
  return command
}

const EXPORT_FORMATS = ['ndjson', 'csv'] as const
type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** What comes before the first record. A test compares the columns with the records. */
function formatHeader(format: ExportFormat, kind: ExportKind): string {
  return format === 'csv' ? formatCsv([EXPORT_COLUMNS[kind]]) : ''
}

/** A record as one line. Decimal values keep every digit in both formats. */
export function formatRecord(format: ExportFormat, kind: ExportKind, record: ExportRecord): string {
  if (format === 'ndjson') return `${JSON.stringify(record)}\n`
  return formatCsv([EXPORT_COLUMNS[kind].map(column => toCell(record[column]))])
}

/** CSV has its columns in the first line, also when there is no record. */
export const EXPORT_COLUMNS: Record<ExportKind, readonly string[]> = {
  events: [
    ...['id', 'workspace_id', 'signal_tracker_id', 'parent_event_id', 'event_name', 'event_time'],
    ...['action_source', 'event_class', 'order_id', 'value_amount', 'value_currency'],
    ...['created_at', 'consent_basis', 'measurement_class', 'attribution_join'],
    ...['enforcement_scope', 'consent_normalization_version', 'consent', 'user_data_hashed'],
    ...['value_data', 'event_source', 'payload_expired', 'space'],
  ],
  deliveries: [
    ...['id', 'workspace_id', 'signal_tracker_id', 'event_id', 'destination_id', 'status'],
    ...['is_test', 'attempt_count', 'last_error', 'platform_response', 'platform_trace_id'],
    ...['next_attempt_at', 'created_at', 'updated_at'],
  ],
  reports: [
    ...['id', 'workspace_id', 'signal_tracker_id', 'destination_id', 'report_date'],
    ...['accepted_count', 'meta_count', 'observed_gap', 'event_counts', 'buckets'],
    ...['unexplained_residual', 'status', 'created_at', 'updated_at', 'count_source'],
    ...['unavailable', 'sent_names', 'outcomes', 'requests', 'values'],
  ],
  'match-quality': [
    ...['id', 'workspace_id', 'signal_tracker_id', 'destination_id', 'score'],
    ...['week_over_week_change', 'alerted', 'platform_response', 'measured_at'],
    ...['created_at', 'updated_at'],
  ],
}

function toCell(value: unknown): CsvCell {
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || typeof value === 'number') return value
  return { json: value }
}

/** Where an unfinished file stands: everything before `bytes` is complete and on disk. */
interface Checkpoint<State> {
  bytes: number
  state: State
}

/**
 * A file that is written in parts and survives a kill at any point. It has the name `path` only
 * when it is complete: until then it is `path.part`, with its last checkpoint in `path.part.json`.
 */
class ResumableFile<State> {
  readonly #path: string
  readonly #file: FileHandle
  #bytes: number

  private constructor(path: string, file: FileHandle, bytes: number) {
    this.#path = path
    this.#file = file
    this.#bytes = bytes
  }

  /** Throws a StartError if the file, or an unfinished one, exists. */
  static async create<State>(path: string): Promise<ResumableFile<State>> {
    if (await exists(path)) throw new StartError(`${path} exists already; choose another name.`)
    if (await exists(checkpointPath(path))) {
      throw new StartError(
        `${partPath(path)} is an unfinished export; continue it with --resume, or delete it and ` +
          `${checkpointPath(path)}.`,
      )
    }
    return new ResumableFile<State>(path, await open(partPath(path), 'w', FILE_MODE), 0)
  }

  /** Opens an unfinished file and drops what was written after its checkpoint. */
  static async resume<State>(
    path: string,
    { bytes }: Checkpoint<State>,
  ): Promise<ResumableFile<State>> {
    const file = await open(partPath(path), 'r+')
    const { size } = await file.stat()
    if (size < bytes) {
      await file.close()
      throw new StartError(`${partPath(path)} was changed: delete it and start again.`)
    }
    await file.truncate(bytes)
    return new ResumableFile<State>(path, file, bytes)
  }

  /** Appends whole lines, and records that they are on disk. */
  async append(text: string, state: State): Promise<void> {
    const content = Buffer.from(text)
    for (let written = 0; written < content.length; ) {
      const rest = content.subarray(written)
      const { bytesWritten } = await this.#file.write(rest, 0, rest.length, this.#bytes + written)
      written += bytesWritten
    }
    await this.#file.datasync()
    this.#bytes += content.length
    await writeCheckpoint(this.#path, { bytes: this.#bytes, state })
  }

  /** Gives the file its name, which says that it is complete. */
  async finish(): Promise<void> {
    await this.#file.sync()
    await this.#file.close()
    await rename(partPath(this.#path), this.#path)
    syncFolder(dirname(this.#path))
    await rm(checkpointPath(this.#path), { force: true })
  }

  async close(): Promise<void> {
    await this.#file.close().catch(() => {})
  }
}

/** Null when there is no unfinished file. Throws a StartError for one that cannot be read. */
async function readCheckpoint<State>(path: string): Promise<Checkpoint<State> | null> {
  if (!(await exists(checkpointPath(path))) || !(await exists(partPath(path)))) return null
  const content = parseJsonObject(await readFile(checkpointPath(path), 'utf8'))
  if (typeof content?.bytes !== 'number' || !isObject(content.state)) {
    throw new StartError(`${checkpointPath(path)} is no checkpoint: delete it and start again.`)
  }
  return { bytes: content.bytes, state: content.state as State }
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Exports hold data of customers: only their owner reads them. */
const FILE_MODE = 0o600

/** By rename, so that the checkpoint is always a whole one. */
async function writeCheckpoint(path: string, checkpoint: Checkpoint<unknown>): Promise<void> {
  const temporary = `${checkpointPath(path)}.new`
  const file = await open(temporary, 'w', FILE_MODE)
  await file.writeFile(JSON.stringify(checkpoint))
  await file.datasync()
  await file.close()
  await rename(temporary, checkpointPath(path))
}

function partPath(path: string): string {
  return `${path}.part`
}

function checkpointPath(path: string): string {
  return `${path}.part.json`
}
