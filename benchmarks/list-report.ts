import type { BenchFindings } from './bench-plan.ts'
import type { Latency, ListFigures, ListSize } from './list.ts'
import { aimText } from './measure.ts'
import { figureText, textTable } from './text-table.ts'

const AIM = { limit: 20, direction: 'at most' } as const
const BUFFERS_AIM = { limit: 500, direction: 'at most' } as const
const GROWTH_AIM = { limit: 2, direction: 'at most' } as const

const READS: [name: string, read: (size: ListSize) => Latency, isAimed: boolean][] = [
  ['first page', ({ firstPage }) => firstPage, true],
  ['page 1,000', ({ deepPage }) => deepPage, true],
  ['middle page', ({ middlePage }) => middlePage, true],
  ['last page', ({ lastPage }) => lastPage, false],
  ['/readyz, for comparison', ({ readiness }) => readiness, false],
]

/** A row a kind of page and size. Each page comes with the metrics of the dashboard. */
export function reportList({ machine, positionSeconds, sizes }: ListFigures): BenchFindings {
  const rows = sizes.flatMap(size =>
    READS.map(([name, read, isAimed]) => {
      const { p50, p99 } = read(size)
      const label = `${name}, of ${figureText(size.events, 0)} events`
      const aim = aimText(isAimed ? AIM : undefined, p99)
      return [label, figureText(p50, 1), figureText(p99, 1), aim]
    }),
  )
  const text = [
    machine,
    'sequential requests over one connection, milliseconds',
    '',
    textTable([['', 'p50', 'p99', ''], ...rows]),
    '',
    `list positions written in ${figureText(positionSeconds, 1)} s`,
    ...sizes.map(({ events, middleBuffers }) => {
      const aim = aimText(BUFFERS_AIM, middleBuffers)
      const size = figureText(events, 0)
      return `buffers of the middle page, of ${size} events: ${middleBuffers}; ${aim}`
    }),
    ...growth(sizes),
  ].join('\n')
  return { text, faults: sizes.flatMap(faultsOf) }
}

function growth(sizes: readonly ListSize[]): string[] {
  const [smallest, largest] = [sizes[0], sizes.at(-1)]
  if (!smallest || !largest || smallest === largest) return []
  return READS.filter(([, , isAimed]) => isAimed).map(([name, read]) => {
    const times = read(largest).p99 / read(smallest).p99
    return `${name}: p99 grows ${figureText(times, 2)} times; ${aimText(GROWTH_AIM, times)}`
  })
}

function faultsOf({ events, total }: ListSize): string[] {
  return total === events ? [] : [`A list of ${events} events says that there are ${total}.`]
}
