import type { BenchFindings, BenchPlan } from './bench-plan.ts'
import type { LoadFigures, LoadRound, LoadRun } from './load.ts'
import { type Aim, formatAim, formatFigure, formatTable, median } from './report-format.ts'
import type { LoadResult } from './run-load.ts'
import { type SoakRun, summarizeMemory } from './soak.ts'

/** The p99 under half of the largest load. */
const LATENCY_AIM: Aim = { limit: 25, direction: 'at most' }
/** Growth of the service's memory from the second third of the soak to the last. */
const GROWTH_AIM: Aim = { limit: 5, direction: 'at most' }
const HEADER = [
  ['', '', '', 'largest load', '', '', '', 'half of it', '', 'CPU s per 1,000', '', 'WAL', 'peak'],
  [
    'workers',
    'trackers',
    'duplicates',
    'requests/s',
    'to bare',
    'p50 ms',
    'p99 ms',
    'p50 ms',
    'p99 ms',
    'service',
    'PostgreSQL',
    'bytes',
    'MB',
  ],
]

/** One table of all scenarios, and the memory of the soak. */
export function reportLoad(figures: LoadFigures): BenchFindings {
  const { machine, plan, scenarios, rounds, soak } = figures
  const rows = [
    formatRun(['bare HTTP', '', ''], rounds, ({ bare }) => bare),
    ...scenarios.map(({ workers, trackers, duplicates }, index) =>
      formatRun(
        [`${workers}`, formatFigure(trackers, 0), `${duplicates} %`],
        rounds,
        ({ serve }) => serve[index] as LoadRun,
      ),
    ),
    formatRun(['npm start', '1', '0 %'], rounds, ({ all }) => all),
  ]
  const worst = Math.max(
    ...scenarios.map((_, index) => halfLatency(rounds, ({ serve }) => serve[index])),
    halfLatency(rounds, ({ all }) => all),
  )
  const text = [
    machine,
    `medians of ${rounds.length} rounds, ${plan.connections[0]} connections; PostgreSQL, service ` +
      'and load generator share the cores',
    '',
    formatTable([...HEADER, ...rows]),
    '',
    `the highest p99 under half of the largest load is ${formatFigure(worst, 1)} ms; ` +
      formatAim(LATENCY_AIM, worst),
    ...(soak === null ? [] : ['', ...formatSoak(plan, soak)]),
  ].join('\n')
  return { text, faults: [...rounds.flatMap(findFaults), ...findSoakFaults(soak)] }
}

type ReadRun = (round: LoadRound) => LoadRun | undefined

function formatRun(
  names: readonly string[],
  rounds: readonly LoadRound[],
  readRun: ReadRun,
): string[] {
  const read = (digits: number, figure: (run: LoadRun, round: LoadRound) => number | null) =>
    formatMedian(
      rounds.map(round => {
        const run = readRun(round)
        return run ? figure(run, round) : null
      }),
      digits,
    )
  return [
    ...names,
    read(0, ({ top }) => top.eventsPerSecond),
    read(2, ({ top }, { bare }) => top.eventsPerSecond / bare.top.eventsPerSecond),
    read(1, ({ top }) => top.p50Milliseconds),
    read(1, ({ top }) => top.p99Milliseconds),
    read(1, ({ half }) => half?.p50Milliseconds ?? null),
    read(1, ({ half }) => half?.p99Milliseconds ?? null),
    read(3, ({ serviceCpuSeconds }) => serviceCpuSeconds),
    read(3, ({ storeCpuSeconds }) => storeCpuSeconds),
    read(0, ({ walBytes }) => walBytes),
    read(0, ({ peakMegabytes }) => peakMegabytes),
  ]
}

function formatMedian(figures: readonly (number | null)[], digits: number): string {
  const known = figures.filter(figure => figure !== null)
  return known.length === 0 ? '' : formatFigure(median(known), digits)
}

function halfLatency(rounds: readonly LoadRound[], readRun: ReadRun): number {
  return median(rounds.map(round => readRun(round)?.half?.p99Milliseconds ?? Number.NaN))
}

function formatSoak(plan: BenchPlan, soak: SoakRun): string[] {
  const { load, perSecond, samples, stored, delivered } = soak
  const trends = summarizeMemory(samples)
  const service = trends.find(({ program }) => program === 'service')
  const [, second = Number.NaN, last = Number.NaN] = service?.megabytes ?? []
  const growth = service ? (100 * (last - second)) / second : null
  const oldest = Math.max(...samples.map(({ oldestDueSeconds }) => oldestDueSeconds))
  return [
    `npm start for ${formatFigure(plan.load.soakSeconds / 60, 1)} minutes at ` +
      `${formatFigure(perSecond, 0)} events/s: p50 ${formatFigure(load.p50Milliseconds, 1)} ms, ` +
      `p99 ${formatFigure(load.p99Milliseconds, 1)} ms; ` +
      formatAim(LATENCY_AIM, load.p99Milliseconds),
    `oldest due delivery at most ${formatFigure(oldest, 2)} s; ` +
      `stored ${stored}, delivered ${delivered} when the load ended`,
    '',
    formatTable([
      ['MB (PSS), medians', 'first third', 'second', 'last', 'peak'],
      ...trends.map(({ program, megabytes, peak }) => [
        program,
        ...megabytes.map(figure => formatFigure(figure, 0)),
        formatFigure(peak, 0),
      ]),
    ]),
    `the service grows by ${formatFigure(growth, 1)} % from the second third to the last; ` +
      formatAim(GROWTH_AIM, growth),
  ]
}

function findFaults({ bare, serve, all }: LoadRound): string[] {
  const runs = [...serve, all].flatMap(({ top, half, stored }) => {
    const accepted = countNew(top) + (half ? countNew(half) : 0)
    const loads = [top, ...(half ? [half] : [])]
    return [
      ...loads.flatMap(findWrongAnswers),
      ...(stored === accepted ? [] : [`${accepted} were accepted and ${stored} are stored.`]),
    ]
  })
  return [...findWrongAnswers(bare.top), ...runs]
}

function findSoakFaults(soak: SoakRun | null): string[] {
  if (soak === null) return []
  const accepted = countNew(soak.load)
  return [
    ...findWrongAnswers(soak.load),
    ...(soak.stored === accepted
      ? []
      : [`The soak had ${accepted} events accepted and ${soak.stored} are stored.`]),
  ]
}

function countNew({ answers }: LoadResult): number {
  return answers['202'] ?? 0
}

/** 202 for a new purchase, 200 for a duplicate. */
function findWrongAnswers({ answers, brokenCount }: LoadResult): string[] {
  const others = Object.keys(answers).filter(status => status !== '202' && status !== '200')
  if (others.length === 0 && brokenCount === 0 && countNew({ answers } as LoadResult) > 0) return []
  return [`Not every response was 202 or 200: ${JSON.stringify(answers)}, ${brokenCount} broken.`]
}
