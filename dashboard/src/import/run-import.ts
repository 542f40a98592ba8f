import type { EventBody } from '@signalbox/cli/src/event-fields.ts'
import type { CellFormats } from '@signalbox/cli/src/import/cell-formats.ts'
import { completeLines } from '@signalbox/cli/src/import/complete-lines.ts'
import {
  type CountedLoss,
  ImportTally,
  noteNotices,
} from '@signalbox/cli/src/import/import-tally.ts'
import { type EventLine, readEvents } from '@signalbox/cli/src/import/read-events.ts'
import type { EventResult } from '@signalbox/contract/event-batches.ts'
import { call } from '../api/client.ts'
import type { ChosenFile } from './read-file.ts'

/** How the rows of a file become events. */
export interface Mapping {
  /** `column=member`; an empty member ignores the column. */
  map: readonly string[]
  formats: CellFormats
  /** Members of rows that do not say them, by dotted path. */
  defaults: ReadonlyMap<string, string>
}

export interface RefusedRow {
  line: number
  reason: string
}

/** The outcome of the rows so far. */
export interface Progress {
  isDryRun: boolean
  isDone: boolean
  rows: number
  stored: number
  duplicates: number
  refused: number
  blank: number
  /** Dry run only. */
  pastWindow: number
  withheld: number
  /** The first ones; the rest is counted. */
  refusedRows: RefusedRow[]
  dropped: CountedLoss[]
}

interface Run {
  params: { workspace: string; tracker: string }
  file: ChosenFile
  mapping: Mapping
  isDryRun: boolean
  signal: AbortSignal
  onProgress: (progress: Progress) => void
}

export const REFUSED_ROWS_MAX = 1_000
const EVENTS_A_REQUEST = 100
/** Of the texts of one request; the service takes 1 MiB. */
const CHARACTERS_A_REQUEST = 400_000

type ReadLine = EventLine & { event: EventBody }

/** The events of a file, as they would be sent. */
export function readRows(
  file: ChosenFile,
  { map, formats, defaults }: Mapping,
  tally: ImportTally,
) {
  const read = readEvents(
    { name: file.name, lines: file.lines() },
    { format: 'csv', map, formats, delimiter: undefined, tally, givesConsent: false },
  )
  return completeLines(read, { digest: file.digest, defaults, tally })
}

/** Checks or sends every row. Throws when the service is away; a second run doubles none. */
export async function runImport(run: Run): Promise<void> {
  const tally = new ImportTally()
  const progress = startProgress(run.isDryRun)
  const importId = run.isDryRun ? null : await startImport(run)
  const report = (isDone = false) => {
    const { blank, dropped } = tally
    run.onProgress({ ...progress, refusedRows: [...progress.refusedRows], blank, dropped, isDone })
  }
  let lines: ReadLine[] = []
  let characters = 0
  let unread = 0
  let countedBlank = 0
  const send = async (isLast: boolean) => {
    if (lines.length > 0 && importId === null) await check(run, { lines, tally, progress })
    if (importId !== null && (lines.length > 0 || isLast)) {
      const more = { unread, blank: tally.blank - countedBlank, is_last: isLast }
      await store(run, { lines, tally, progress, importId, more })
      unread = 0
      countedBlank = tally.blank
    }
    lines = []
    characters = 0
    report()
  }
  for await (const line of readRows(run.file, run.mapping, tally)) {
    run.signal.throwIfAborted()
    if (lines.length === EVENTS_A_REQUEST || characters > CHARACTERS_A_REQUEST) await send(false)
    progress.rows += 1
    if (line.event === null) {
      unread += 1
      refuse(progress, line.number, line.problem)
    } else {
      lines.push(line as ReadLine)
      characters += JSON.stringify(line.event).length
    }
  }
  await send(true)
  report(true)
}

function startProgress(isDryRun: boolean): Progress {
  const none = { rows: 0, stored: 0, duplicates: 0, refused: 0, blank: 0 }
  const checked = { pastWindow: 0, withheld: 0 }
  return { isDryRun, isDone: false, ...none, ...checked, refusedRows: [], dropped: [] }
}

function refuse(progress: Progress, line: number, reason: string): void {
  progress.refused += 1
  if (progress.refusedRows.length < REFUSED_ROWS_MAX) progress.refusedRows.push({ line, reason })
}

async function startImport({ params, file }: Run): Promise<string> {
  const { id } = await call('POST /workspaces/:workspace/trackers/:tracker/imports', {
    params,
    body: { file_name: file.name.slice(-120), file_digest: file.digest },
  })
  return id
}

interface Batch {
  lines: readonly ReadLine[]
  tally: ImportTally
  progress: Progress
}

async function check({ params, signal }: Run, { lines, tally, progress }: Batch): Promise<void> {
  const { results } = await call('POST /workspaces/:workspace/trackers/:tracker/imports/check', {
    params,
    body: { events: lines.map(({ event }) => event) },
    signal,
  })
  for (const [index, result] of results.entries()) {
    const line = lines[index]?.number ?? 0
    if (!result.is_valid) {
      refuse(progress, line, Object.values(result.errors).flat()[0] ?? 'Refused.')
      continue
    }
    progress.stored += 1
    progress.pastWindow += result.is_past_window ? 1 : 0
    progress.withheld += result.is_withheld ? 1 : 0
    noteNotices(tally, result.notices, line)
  }
}

const TRIES_MAX = 8
const ACCEPTED = 202
const [TOO_MANY, UNAVAILABLE] = [429, 503]

interface StoredBatch extends Batch {
  importId: string
  more: { unread: number; blank: number; is_last: boolean }
}

/** Rows that the service asks to send again are waited for. */
async function store(
  { params, signal }: Run,
  { lines, tally, progress, importId, more }: StoredBatch,
): Promise<void> {
  let waiting = lines
  let counted = more
  for (let tries = 0; tries <= TRIES_MAX; tries += 1) {
    const { results } = await call(
      'POST /workspaces/:workspace/trackers/:tracker/imports/:import/events',
      {
        params: { ...params, import: importId },
        body: { events: waiting.map(({ event }) => event), ...counted },
        signal,
      },
    )
    counted = { ...more, unread: 0, blank: 0 }
    const isLater = (_: ReadLine, index: number) => asksAgain(results[index])
    for (const [index, line] of waiting.entries()) {
      const result = results[index]
      if (result && !asksAgain(result)) note(result, line, { tally, progress })
    }
    const later = waiting.filter(isLater)
    if (later.length === 0) return
    // A limit on events a second lets some rows through each time.
    if (later.length < waiting.length) tries = 0
    waiting = later
    const seconds = Math.max(...results.map(({ retry_after: after = 1 }) => after))
    await new Promise(resolve => setTimeout(resolve, seconds * 1_000))
  }
  throw new Error('The service is busy. Import the file again later.')
}

function asksAgain(result: EventResult | undefined): boolean {
  return result?.status === TOO_MANY || result?.status === UNAVAILABLE
}

function note(
  { status, duplicate, errors, message, notices = [] }: EventResult,
  { number }: ReadLine,
  { tally, progress }: Pick<Batch, 'tally' | 'progress'>,
): void {
  if (status > ACCEPTED) {
    const [first] = Object.values(errors ?? {}).flat()
    refuse(progress, number, first ?? message ?? `Status ${status}.`)
    return
  }
  if (duplicate) progress.duplicates += 1
  else progress.stored += 1
  noteNotices(tally, notices, number)
}
