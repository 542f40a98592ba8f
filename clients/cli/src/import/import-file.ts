import { CliError, createUsageError, EXIT_CODES, type ExitCode } from '../cli-error.ts'
import type { CommandContext } from '../command-context.ts'
import { type CreateOptions, waitMilliseconds } from '../commands/option-values.ts'
import { Progress } from '../output/progress.ts'
import type { Style } from '../output/style.ts'
import { countOf } from '../output/times.ts'
import { assertTimeZone, type CellFormats } from './cell-formats.ts'
import { completeLines } from './complete-lines.ts'
import { checkLines } from './dry-run.ts'
import { formatTally } from './format-tally.ts'
import { type CountedLoss, ImportTally } from './import-tally.ts'
import { readEvents } from './read-events.ts'
import { openSource } from './read-source.ts'
import { type LineCounts, RefusedFile, sendLines } from './send-lines.ts'
import { readLines } from './text-lines.ts'
import { waitForLines } from './wait-for-lines.ts'

interface ImportOptions extends CreateOptions {
  /** Members that options give to lines that lack them, by dotted path. */
  defaults: ReadonlyMap<string, unknown>
}

/** What became known of the lines of a file; `--json` prints it as it is. */
interface ImportSummary extends LineCounts {
  file: string
  /** Null when no line was refused. */
  refused_file: string | null
  /** Rows without any value, which are no events. */
  blank_rows: number
  /** What events lost, by field: left out here, or accepted without its full effect. */
  dropped: CountedLoss[]
  /** Status -> events, with --wait; `pending` when the time ran out. */
  deliveries?: Record<string, number>
}

const CONCURRENCY = 8

/** `events create --file`: sends every line, or checks it with --dry-run. */
export async function importFile(
  context: CommandContext,
  path: string,
  options: ImportOptions,
): Promise<ExitCode> {
  const source = await openSource(path, context.host)
  const format = options.format ?? (/\.(csv|tsv)$/i.test(path) ? 'csv' : 'ndjson')
  if (format === 'ndjson') refuseCsvOptions(options)
  const tally = new ImportTally()
  const { defaults, delimiter, map = [] } = options
  const givesConsent = defaults.has('consent.captured_at')
  const read = readEvents(
    { name: source.name, lines: readLines(source.read()) },
    { format, map, formats: readFormats(options), delimiter, tally, givesConsent },
  )
  const lines = completeLines(read, { digest: source.digest, defaults, tally })
  const total = source.lineCount - (format === 'csv' ? 1 : 0)
  const progress = new Progress(context, options.dryRun ? 'Checking' : 'Sending', total)
  if (options.dryRun) return checkLines(context, { lines, progress, source, tally })

  const refusedFile = new RefusedFile(refusedPath(path, options.refused))
  const client = await context.client()
  const concurrency = options.concurrency ?? CONCURRENCY
  const { signal } = context.host
  const sent = await sendLines({
    client,
    lines,
    concurrency,
    signal,
    refusedFile,
    progress,
    tally,
  })
  progress.end()
  await refusedFile.close()
  const refused_file = sent.counts.refused > 0 ? refusedFile.path : null
  const { blank: blank_rows, dropped } = tally
  const summary: ImportSummary = {
    file: source.name,
    ...sent.counts,
    refused_file,
    blank_rows,
    dropped,
  }
  const timeout = waitMilliseconds(options.wait)
  if (timeout !== null && sent.failure === null && !signal.aborted) {
    const wait = { client, ids: sent.ids, concurrency, timeout }
    summary.deliveries = await waitForLines(context, wait)
  }
  if (context.isJson) await context.printJson(summary)
  else await context.print(`${formatSummary(summary, context.style)}${formatTally(tally)}`)
  const hint = sent.firstUnsent === null ? null : resumeHint(sent.firstUnsent)
  if (signal.aborted) throw new CliError('interrupted', 'Interrupted.', hint)
  if (sent.failure !== null) throw explainFailure(sent.failure, hint)
  await source.verify()
  return exitCodeOfSummary(summary)
}

const CSV_OPTIONS = ['map', 'delimiter', 'decimal', 'dates', 'timeZone'] as const

function refuseCsvOptions(options: ImportOptions): void {
  const given = CSV_OPTIONS.find(name => options[name] !== undefined)
  if (given === undefined) return
  const name = given === 'timeZone' ? 'time-zone' : given
  throw createUsageError(`--${name} needs a CSV file.`, 'Add --format csv.')
}

function readFormats({ decimal, dates, timeZone }: ImportOptions): CellFormats {
  return { decimal, dates, timeZone: timeZone && assertTimeZone(timeZone) }
}

function refusedPath(path: string, given: string | undefined): string {
  const refused = given ?? `${path === '-' ? 'events' : path}.refused.ndjson`
  if (refused === path) throw createUsageError('--refused must be another file.')
  return refused
}

function formatSummary(summary: ImportSummary, style: Style): string {
  const { lines, stored, duplicates, refused, refused_file: path, deliveries } = summary
  const rows = [`${style('bold', summary.file)}: ${countOf(lines, 'line')}`]
  rows.push(`  ${style('green', '✓')} ${stored.toLocaleString('en-US')} stored`)
  if (duplicates > 0) {
    rows.push(`  ${style('yellow', '=')} ${duplicates.toLocaleString('en-US')} were stored before`)
  }
  if (refused > 0) {
    const count = refused.toLocaleString('en-US')
    rows.push(`  ${style('red', '✗')} ${count} refused; lines and reasons are in ${path}`)
  }
  for (const [status, count] of Object.entries(deliveries ?? {})) {
    rows.push(`  ${style('dim', '→')} ${count.toLocaleString('en-US')} ${status}`)
  }
  return rows.map(row => `${row}\n`).join('')
}

function explainFailure(failure: unknown, hint: string | null): unknown {
  if (failure instanceof CliError || !(failure instanceof Error)) return failure
  if (hint !== null) failure.message += ` ${hint}`
  return failure
}

function resumeHint(line: number): string {
  return `Not every line from line ${line} on was sent. Run the command again: nothing is doubled.`
}

function exitCodeOfSummary({ refused, deliveries }: ImportSummary): ExitCode {
  const isUndelivered = Object.keys(deliveries ?? {}).some(status => status !== 'accepted')
  if (deliveries?.pending) return EXIT_CODES.tryLater
  return refused > 0 || isUndelivered ? EXIT_CODES.refused : EXIT_CODES.success
}
