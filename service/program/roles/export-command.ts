import { Command, Option } from 'commander'
import type { Database } from '../../runtime/db/database.ts'
import type { TrackerIdentity } from '../../signals/access/tracker-store.ts'
import {
  EXPORT_KINDS,
  type ExportKind,
  type ExportPage,
  type ExportPosition,
  readExportPage,
} from '../../signals/reports/export-records.ts'
import { exists, ResumableFile, readCheckpoint } from './export-file.ts'
import {
  createExportEncoder,
  EXPORT_FORMATS,
  type ExportEncoder,
  type ExportFormat,
} from './export-formats.ts'
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
  /** What the format needs, when it needs more than the bytes. */
  encoder?: string | null
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
    const saved = checkpoint && { bytes: checkpoint.bytes, encoder: state.encoder ?? null }
    const encoder = await createExportEncoder({ ...request, saved })
    try {
      if (!checkpoint) await file.append(encoder.begin(), saveEncoder(state, encoder))
      for await (const { records, count, next } of readPages(database, tracker, state)) {
        encoder.add(records)
        const total = state.records + count
        state = { ...state, position: next, records: total, is_complete: next === null }
        const content = encoder.take(state.is_complete)
        if (content) await file.append(content, saveEncoder(state, encoder))
      }
      await file.finish()
    } finally {
      await file.close()
    }
    const count = `${state.records} ${KIND_LABELS[kind]}`
    printOutput(`${out}: ${count}, received before ${state.before}.\n`)
  })
}

function saveEncoder(state: ExportState, encoder: ExportEncoder): ExportState {
  return { ...state, encoder: encoder.saveState() }
}

/** Reads the next page while the last one is written. */
async function* readPages(
  database: Database,
  tracker: TrackerIdentity,
  state: ExportState,
): AsyncGenerator<ExportPage> {
  if (state.is_complete) return
  const before = new Date(state.before)
  const read = (position: ExportPosition) => {
    const page = readExportPage(database, { kind: state.kind, tracker, position, before })
    // Its error is thrown where the page is awaited, or no longer of interest.
    page.catch(() => {})
    return page
  }
  let following = read(state.position)
  while (true) {
    const page = await following
    if (page.next) following = read(page.next)
    yield page
    if (!page.next) return
  }
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
