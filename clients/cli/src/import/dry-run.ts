import { EXIT_CODES, type ExitCode } from '../cli-error.ts'
import type { CommandContext } from '../command-context.ts'
import type { Progress } from '../output/progress.ts'
import { printable } from '../output/style.ts'
import { countOf } from '../output/times.ts'
import { checkEvent, NOT_CHECKED, NOT_CHECKED_NOTE } from './check-event.ts'
import { formatTally } from './format-tally.ts'
import { type ImportTally, noteNotices } from './import-tally.ts'
import type { EventLine } from './read-events.ts'
import type { Source } from './read-source.ts'

interface DryRunInput {
  lines: AsyncIterable<EventLine>
  progress: Progress
  source: Source
  tally: ImportTally
}

interface Refusal {
  line: number
  field: string
  reason: string
}

const REFUSALS_SHOWN_MAX = 20

/** Checks every line with the rules of the service and sends nothing. */
export async function checkLines(
  context: CommandContext,
  { lines, progress, source, tally }: DryRunInput,
): Promise<ExitCode> {
  const counts = { lines: 0, valid: 0, past_window: 0, withheld: 0, repeated_ids: 0, refused: 0 }
  const refusals: Refusal[] = []
  const ids = new Set<unknown>()
  const { host } = context
  for await (const line of lines) {
    host.signal.throwIfAborted()
    counts.lines += 1
    const found = line.event === null ? null : checkEvent(line.event, host.now())
    if (found?.isValid) {
      counts.valid += 1
      noteNotices(tally, found.notices, line.number)
      if (found.isPastWindow) counts.past_window += 1
      if (found.isWithheld) counts.withheld += 1
      if (ids.has(line.event?.event_id)) counts.repeated_ids += 1
      ids.add(line.event?.event_id)
    } else {
      counts.refused += 1
      const errors = found?.errors ?? { '': [line.problem ?? ''] }
      for (const [field, [reason = '']] of Object.entries(errors)) {
        if (refusals.length < REFUSALS_SHOWN_MAX)
          refusals.push({ line: line.number, field, reason })
      }
    }
    progress.step(counts.refused > 0 ? `${counts.refused} refused` : '')
  }
  progress.end()
  await source.verify()
  const { blank: blank_rows, dropped } = tally
  const found = { file: source.name, ...counts, blank_rows, dropped, refusals }
  if (context.isJson) await context.printJson({ ...found, not_checked: NOT_CHECKED })
  else {
    await context.print(formatCounts(context, source.name, counts, refusals))
    await context.print(formatTally(tally))
    await context.print(NOT_CHECKED_NOTE)
  }
  return counts.refused > 0 ? EXIT_CODES.refused : EXIT_CODES.success
}

function formatCounts(
  { style }: CommandContext,
  name: string,
  counts: Record<string, number>,
  refusals: readonly Refusal[],
): string {
  const row = (count: number | undefined, text: string) =>
    count ? `${count.toLocaleString('en-US').padStart(9)}  ${text}\n` : ''
  const shown = refusals.map(({ line, field, reason }) => {
    const where = style('bold', `line ${line}`)
    return `  ${where}  ${[printable(field), printable(reason)].filter(Boolean).join('  ')}\n`
  })
  return [
    `${style('bold', name)}: ${countOf(counts.lines ?? 0, 'line')} checked, nothing was sent.\n`,
    row(counts.valid, 'would be stored'),
    row(counts.past_window, 'of these are past the window of the platform: stored, not delivered'),
    row(counts.withheld, 'of these are stored only, because of their consent or kind'),
    row(counts.repeated_ids, 'of these repeat the id of an earlier line: counted once'),
    row(counts.refused, style('red', 'would be refused')),
    ...shown,
  ].join('')
}
