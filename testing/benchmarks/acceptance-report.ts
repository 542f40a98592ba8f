import type { AcceptanceFigures } from './acceptance.ts'
import { type AcceptanceRound, countAccepted } from './acceptance-round.ts'
import type { DeliveringFigures, LargeBodyFigures } from './acceptance-scenarios.ts'
import type { BenchFindings } from './bench-plan.ts'
import type { ProcessMemory } from './process-cost.ts'
import {
  type Aim,
  formatAim,
  formatFigure,
  formatMeasure,
  formatTable,
  type Measure,
  readMedian,
} from './report-format.ts'
import type { LoadResult } from './run-load.ts'

/** The targets apply to the largest number of connections. */
const MEASURES: Measure<AcceptanceRound>[] = [
  {
    name: '(a) service, durable events/s',
    digits: 0,
    read: ({ service }) => service.eventsPerSecond,
  },
  { name: '    p50 ms', digits: 1, read: ({ service }) => service.p50Milliseconds },
  {
    name: '    p99 ms',
    digits: 1,
    read: ({ service }) => service.p99Milliseconds,
    aim: { limit: 60, direction: 'at most' },
  },
  { name: '    events per commit', digits: 1, read: ({ rowsPerCommit }) => rowsPerCommit },
  {
    name: '    CPU s per 1,000, service',
    digits: 3,
    read: ({ serviceCpuSeconds }) => serviceCpuSeconds,
  },
  {
    name: '    CPU s per 1,000, PostgreSQL',
    digits: 3,
    read: ({ storeCpuSeconds }) => storeCpuSeconds,
  },
  {
    name: '(b) without the store, events/s',
    digits: 0,
    read: ({ storeless }) => storeless.eventsPerSecond,
  },
  { name: '    p99 ms', digits: 1, read: ({ storeless }) => storeless.p99Milliseconds },
  {
    name: '    CPU s per 1,000',
    digits: 3,
    read: ({ storelessCpuSeconds }) => storelessCpuSeconds,
  },
  {
    name: '(c) without HTTP, events/s',
    digits: 0,
    read: ({ bareEventsPerSecond }) => bareEventsPerSecond,
  },
  {
    name: '(d) HTTP alone, requests/s',
    digits: 0,
    read: ({ bareHttp }) => bareHttp.eventsPerSecond,
  },
  {
    name: '    CPU s per 1,000',
    digits: 3,
    read: ({ bareHttpCpuSeconds }) => bareHttpCpuSeconds,
  },
  {
    name: 'a/b',
    digits: 2,
    read: ({ service, storeless }) => service.eventsPerSecond / storeless.eventsPerSecond,
    aim: { limit: 0.35, direction: 'at least' },
  },
  {
    name: 'a/c',
    digits: 2,
    read: ({ service, bareEventsPerSecond }) => service.eventsPerSecond / bareEventsPerSecond,
    aim: { limit: 0.75, direction: 'at least' },
  },
  {
    name: 'a/d',
    digits: 2,
    read: ({ service, bareHttp }) => service.eventsPerSecond / bareHttp.eventsPerSecond,
  },
  {
    name: 'CPU of (a) / CPU of (d)',
    digits: 1,
    read: ({ serviceCpuSeconds, bareHttpCpuSeconds }) =>
      serviceCpuSeconds && bareHttpCpuSeconds && serviceCpuSeconds / bareHttpCpuSeconds,
    aim: { limit: 4, direction: 'at most' },
  },
]
/** With more memory, the service would be killed on the smallest supported machine. */
const LARGE_BODIES_MEGABYTES_MAX = 512
const MEMORY_AIM: Aim = { limit: 250, direction: 'at most' }

/** A table of the medians of all rounds, and faults in the responses. */
export function reportAcceptance(figures: AcceptanceFigures): BenchFindings {
  const { machine, generatorPerSecond, loads, rows, memory } = figures
  const { whileDelivering, largeBodies } = figures
  const first = loads[0]?.rounds ?? []
  const text = [
    machine,
    `medians of ${first.length} rounds; requests of ${first[0]?.service.requestBytes} bytes; ` +
      `the load generator alone reaches ${formatFigure(generatorPerSecond, 0)} a second`,
    '',
    formatTable(loadRows(loads)),
    '',
    `memory of the service (RSS): ${memoryText(memory)}; ` +
      formatAim(MEMORY_AIM, memory?.peakMegabytes ?? null),
    `(a') accepting while delivering: ${deliveringText(whileDelivering)}`,
    `(e) bodies of 64 KiB on ${largeBodies.connections} connections: ` +
      largeBodiesText(largeBodies),
    '',
    `rows ${rows.events}, deliveries ${rows.deliveries}, 2xx answers ${rows.accepted}`,
    `rows ${whileDelivering.events}, 2xx answers ${whileDelivering.accepted} (a')`,
    `rows ${largeBodies.events}, 2xx answers ${largeBodies.accepted} (e)`,
  ].join('\n')
  return { text, faults: findFaults(figures) }
}

function loadRows(loads: AcceptanceFigures['loads']): string[][] {
  const largest = loads.at(-1)?.rounds ?? []
  return [
    ['connections', ...loads.map(({ connections }) => String(connections)), ''],
    ...MEASURES.map(measure => [
      measure.name,
      ...loads.map(({ rounds }) => formatMeasure(measure, rounds)),
      formatAim(measure.aim, readMedian(measure, largest)),
    ]),
  ]
}

function memoryText(memory: ProcessMemory | null): string {
  if (!memory) return 'not known'
  const { megabytes, peakMegabytes } = memory
  return `${formatFigure(megabytes, 0)} MB, at its peak ${formatFigure(peakMegabytes, 0)} MB`
}

function deliveringText({ load, delivered, events, memory }: DeliveringFigures): string {
  return [
    `${formatFigure(load.eventsPerSecond, 0)} events/s`,
    `p50 ${formatFigure(load.p50Milliseconds, 1)} ms`,
    `p99 ${formatFigure(load.p99Milliseconds, 1)} ms`,
    `${formatFigure((100 * delivered) / events, 0)} % delivered when the load ended`,
    memoryText(memory),
  ].join(', ')
}

function largeBodiesText({ load, memory }: LargeBodyFigures): string {
  return [
    `${formatFigure(load.eventsPerSecond, 0)} events/s`,
    `p99 ${formatFigure(load.p99Milliseconds, 1)} ms`,
    memoryText(memory),
  ].join(', ')
}

function findFaults({ loads, rows, whileDelivering, largeBodies }: AcceptanceFigures): string[] {
  const rounds = loads.flatMap(load => load.rounds)
  const results = rounds.flatMap(({ service, storeless, bareHttp }) => [
    service,
    storeless,
    bareHttp,
  ])
  const faults = [...results, whileDelivering.load, largeBodies.load].flatMap(findUnexpectedAnswers)
  if (rows.events !== rows.accepted || rows.deliveries !== rows.accepted) {
    faults.push(
      `The store has ${rows.events} events and ${rows.deliveries} deliveries for ` +
        `${rows.accepted} answers of 202.`,
    )
  }
  const { events, accepted } = whileDelivering
  if (events !== accepted)
    faults.push(`Role all stored ${events} events for ${accepted} responses with 202.`)
  return [...faults, ...largeBodyFaults(largeBodies)]
}

function largeBodyFaults({ events, accepted, memory }: LargeBodyFigures): string[] {
  const faults: string[] = []
  if (events !== accepted) faults.push(`Of ${accepted} bodies of 64 KiB, ${events} are stored.`)
  if (memory && memory.peakMegabytes > LARGE_BODIES_MEGABYTES_MAX) {
    const peak = formatFigure(memory.peakMegabytes, 0)
    faults.push(
      `With bodies of 64 KiB the service used ${peak} MB, more than ${LARGE_BODIES_MEGABYTES_MAX}.`,
    )
  }
  return faults
}

function findUnexpectedAnswers(result: LoadResult): string[] {
  const total = Object.values(result.answers).reduce((sum, count) => sum + count, 0)
  if (total > 0 && total === countAccepted(result) && result.brokenCount === 0) return []
  const answers = JSON.stringify(result.answers)
  return [`Not every response was 202: ${answers}, ${result.brokenCount} connections broke.`]
}
