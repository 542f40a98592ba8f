import type { BenchFindings } from './bench-plan.ts'
import type { AcceptanceFigures, GrowthFigures, GrowthSize, Slice, WalBytes } from './growth.ts'
import type { Operation } from './growth-operations.ts'
import { type Aim, formatAim, formatFigure, formatTable, median } from './report-format.ts'

const AIMS = {
  acceptance: { limit: 0.85, direction: 'at least' },
  diskBytes: { limit: 2_000, direction: 'at most' },
  walBytes: { limit: 4_096, direction: 'at most' },
  listBuffers: { limit: 500, direction: 'at most' },
} as const satisfies Record<string, Aim>

/** Targets apply to large stores only: a few thousand events say nothing about growth. */
const AIMED_HISTORY = 1_000_000
const AIMED_ACCEPTANCE_HISTORY = 10_000_000
/** Tables with fewer bytes per event are omitted. */
const SHOWN_BYTES = 0.5

interface Aimed {
  name: string
  figure: number | null
  aim: Aim
}

/** A column for each size of history. */
export function reportGrowth(figures: GrowthFigures): BenchFindings {
  const { machine, plan, rounds, sizes } = figures
  const aimed = sizes.flatMap(size => aimedOf(size, sizes[0]))
  const head = ['events of history', ...sizes.map(({ history }) => formatFigure(history, 0))]
  const text = [
    machine,
    `medians of ${rounds} rounds in turn, then intervals of ` +
      `${formatFigure(plan.intervalEvents, 0)} events between checkpoints`,
    '',
    formatTable([head, ...loadRows(sizes)]),
    '',
    'bytes on disk per accepted and delivered event',
    formatTable([head, ...diskRows(sizes)]),
    '',
    'updates during acceptance and delivery: heap-only %, and dead rows left',
    formatTable([head, ...updateRows(sizes)]),
    '',
    'buffers per operation, with a thousand rows where it takes a list',
    formatTable([[...head, 'largest to smallest'], ...operationRows(sizes)]),
    '',
    ...aimed.map(aimedText),
    ...formatNotes(figures),
  ].join('\n')
  return { text, faults: sizes.flatMap(findFaults), missedAims: aimed.flatMap(missedAim) }
}

type Read = (size: GrowthSize) => number | null

function row(
  name: string,
  { sizes, digits = 0 }: { sizes: readonly GrowthSize[]; digits?: number },
  read: Read,
): string[] {
  return [name, ...sizes.map(size => formatFigure(read(size), digits))]
}

function loadRows(sizes: readonly GrowthSize[]): string[][] {
  const [smallest] = sizes
  const wal = (name: string, read: (size: GrowthSize) => WalBytes | null) => [
    row(name, { sizes }, size => read(size)?.bytes ?? null),
    row('    full pages', { sizes, digits: 2 }, size => read(size)?.fullPages ?? null),
  ]
  return [
    row('created in, s', { sizes }, ({ historySeconds }) => historySeconds),
    row('accepted, events per second of commit', { sizes }, speedOf),
    row('    to the smallest', { sizes, digits: 2 }, size => ratioOf(size, smallest)),
    row('    PostgreSQL CPU s/1,000', { sizes, digits: 3 }, cpuOf),
    ...wal('WAL bytes to accept, after a checkpoint', size => walOf(firstSlices(size), accepting)),
    ...wal('    on average, checkpoints included', size => walOf(allSlices(size), accepting)),
    ...wal('    median of 5,120 events each', size => medianWal(size, accepting)),
    ...wal('WAL bytes to deliver, after a checkpoint', size =>
      walOf(firstSlices(size), delivering),
    ),
    ...wal('    on average, checkpoints included', size => walOf(allSlices(size), delivering)),
    ...wal('    median of 5,120 events each', size => medianWal(size, delivering)),
  ]
}

function speedOf({ acceptance }: GrowthSize): number {
  return median(acceptance.map(({ eventsPerSecond }) => eventsPerSecond))
}

/** Databases alternate within a round, so each is compared within its round. */
function ratioOf({ acceptance }: GrowthSize, smallest: GrowthSize | undefined): number | null {
  const ratios = acceptance.map((figures, round) => {
    const beside = smallest?.acceptance[round] as AcceptanceFigures
    return figures.eventsPerSecond / beside.eventsPerSecond
  })
  return ratios.length === 0 ? null : median(ratios)
}

function cpuOf({ acceptance }: GrowthSize): number | null {
  const known = acceptance.map(({ cpuSeconds }) => cpuSeconds).filter(seconds => seconds !== null)
  return known.length === 0 ? null : median(known)
}

const firstSlices = ({ intervals }: GrowthSize) =>
  intervals.flatMap(({ slices, isAfterCheckpoint }) =>
    isAfterCheckpoint ? slices.slice(0, 1) : [],
  )
const allSlices = ({ intervals }: GrowthSize) => intervals.flatMap(({ slices }) => slices)
const accepting = ({ acceptance, accepted }: Slice) => ({ ...acceptance, events: accepted })
const delivering = ({ delivery, delivered }: Slice) => ({ ...delivery, events: delivered })

/** Per event; null without events. */
function walOf(
  slices: readonly Slice[],
  read: (slice: Slice) => WalBytes & { events: number },
): WalBytes | null {
  const parts = slices.map(read)
  const sum = (of: (part: WalBytes & { events: number }) => number) =>
    parts.reduce((total, part) => total + of(part), 0)
  const events = sum(part => part.events)
  if (events === 0) return null
  return {
    bytes: sum(({ bytes }) => bytes) / events,
    fullPages: sum(part => part.fullPages) / events,
  }
}

/** Checkpoints fall into few of the slices. */
function medianWal(
  size: GrowthSize,
  read: (slice: Slice) => WalBytes & { events: number },
): WalBytes | null {
  const slices = allSlices(size).flatMap(slice => walOf([slice], read) ?? [])
  if (slices.length === 0) return null
  return {
    bytes: median(slices.map(({ bytes }) => bytes)),
    fullPages: median(slices.map(({ fullPages }) => fullPages)),
  }
}

function deliveredOf(size: GrowthSize): number {
  return allSlices(size).reduce((sum, { delivered }) => sum + delivered, 0)
}

function bytesOf(size: GrowthSize, name: string): number {
  return (size.addedBytes.get(name) ?? 0) / Math.max(1, deliveredOf(size))
}

function totalBytes(size: GrowthSize): number {
  return [...size.addedBytes.keys()].reduce((sum, name) => sum + bytesOf(size, name), 0)
}

function diskRows(sizes: readonly GrowthSize[]): string[][] {
  const names = new Set(sizes.flatMap(({ addedBytes }) => [...addedBytes.keys()]))
  const shown = [...names].filter(name => sizes.some(size => bytesOf(size, name) >= SHOWN_BYTES))
  return [
    ...shown.sort().map(name => row(name, { sizes }, size => bytesOf(size, name))),
    row('all', { sizes }, totalBytes),
  ]
}

function updateRows(sizes: readonly GrowthSize[]): string[][] {
  const names = new Set(sizes.flatMap(({ updates }) => [...updates.keys()]))
  const updated = [...names].filter(name =>
    sizes.some(size => (size.updates.get(name)?.updates ?? 0) >= 1 + deliveredOf(size) / 1_000),
  )
  return updated.sort().map(name => [
    name,
    ...sizes.map(({ updates }) => {
      const table = updates.get(name)
      if (!table || table.updates === 0) return 'none'
      const share = formatFigure((table.heapOnly * 100) / table.updates, 1)
      return `${share} %, ${formatFigure(table.deadRows, 0)}`
    }),
  ])
}

function operationRows(sizes: readonly GrowthSize[]): string[][] {
  const all = sizes.map(({ operations, dayPages }) => [...operations, ...dayPages])
  const names = new Set(all.flat().map(({ name }) => name))
  return [...names].map(name => {
    const found = all.map(operations => operations.find(operation => operation.name === name))
    const known = found.flatMap(operation => operation?.buffers ?? [])
    const [smallest, largest] = [known[0], known.at(-1)]
    const times = known.length < 2 || !smallest ? null : (largest as number) / smallest
    return [name, ...found.map(buffersText), times === null ? '' : formatFigure(times, 2)]
  })
}

function buffersText(operation: Operation | undefined): string {
  if (!operation) return '-'
  return operation.buffers === null ? 'failed' : formatFigure(operation.buffers, 0)
}

function aimedOf(size: GrowthSize, smallest: GrowthSize | undefined): Aimed[] {
  const { history, operations, dayPages } = size
  if (history < AIMED_HISTORY) return []
  const place = `with ${formatFigure(history, 0)} events`
  const accepted = walOf(allSlices(size), accepting)
  const delivered = walOf(allSlices(size), delivering)
  const walBytes = accepted && delivered && accepted.bytes + delivered.bytes
  const pages = [...operations, ...dayPages].filter(({ isListPage }) => isListPage)
  return [
    ...(history < AIMED_ACCEPTANCE_HISTORY
      ? []
      : [
          {
            name: `acceptance ${place}, to the smallest store`,
            figure: ratioOf(size, smallest),
            aim: AIMS.acceptance,
          },
        ]),
    { name: `bytes on disk ${place}`, figure: totalBytes(size), aim: AIMS.diskBytes },
    { name: `WAL bytes to accept and deliver ${place}`, figure: walBytes, aim: AIMS.walBytes },
    ...pages.map(({ name, buffers }) => ({
      name: `${name} ${place}, buffers`,
      figure: buffers,
      aim: AIMS.listBuffers,
    })),
  ]
}

function aimedText({ name, figure, aim }: Aimed): string {
  const digits = aim === AIMS.acceptance ? 2 : 0
  return `${name}: ${formatFigure(figure, digits)}, ${formatAim(aim, figure)}`
}

function missedAim(aimed: Aimed): string[] {
  const text = aimedText(aimed)
  return text.endsWith('missed') ? [text] : []
}

/** Notes on omissions and on unexpected checkpoints. */
function formatNotes({ plan, sizes }: GrowthFigures): string[] {
  return [
    '',
    'not measured: filtered lists, which the API does not have',
    ...sizes.flatMap(size => {
      const place = `(${formatFigure(size.history, 0)} events of history)`
      const failed = [...size.operations, ...size.dayPages].filter(({ failure }) => failure)
      return [
        `accepted ${acceptedOf(size)}, delivered ${deliveredOf(size)} ${place}`,
        ...size.intervals
          .filter(({ slices }) => sumAccepted(slices) < plan.intervalEvents)
          .map(({ slices }) => `an interval ended early, after ${sumAccepted(slices)} ${place}`),
        ...size.intervals
          .filter(({ checkpoints }) => checkpoints > 0)
          .map(({ checkpoints }) => `checkpoints within an interval: ${checkpoints} ${place}`),
        ...failed.map(({ name, failure }) => `${name}: ${failure} ${place}`),
      ]
    }),
  ]
}

function sumAccepted(slices: readonly Slice[]): number {
  return slices.reduce((sum, { accepted }) => sum + accepted, 0)
}

function acceptedOf(size: GrowthSize): number {
  return sumAccepted(allSlices(size))
}

function findFaults(size: GrowthSize): string[] {
  const place = `with ${size.history} events of history`
  const failed = [...size.operations, ...size.dayPages].filter(({ failure }) => failure)
  return [
    ...(acceptedOf(size) === deliveredOf(size)
      ? []
      : [`${acceptedOf(size)} were accepted and ${deliveredOf(size)} delivered ${place}.`]),
    ...failed.map(({ name, failure }) => `${name} ${place}: ${failure}`),
  ]
}
