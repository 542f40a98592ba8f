import { countAccepted, type Target } from './acceptance-round.ts'
import { type DeliveringFigures, measureWhileDelivering } from './acceptance-scenarios.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { type BenchStore, openBenchStore } from './bench-store.ts'
import { forkProgram, startServiceProcess } from './child-processes.ts'
import { describeMachine } from './machine.ts'
import { perThousand, readProcessMemory, readProcessSeconds } from './process-cost.ts'
import { formatAim, formatFigure, formatTable, median } from './report-format.ts'
import { type LoadResult, runLoad } from './run-load.ts'

/** The result of one program under load. */
interface Run {
  load: LoadResult
  /** CPU seconds per thousand responses, without startup. */
  cpuSeconds: number | null
  peakMegabytes: number | null
}

/** One round: bare HTTP, `serve` with each number of workers, and `npm start`. */
interface Round {
  bare: Run
  serve: Run[]
  all: DeliveringFigures
}

const READY_SECONDS_MAX = 30
/** The target ratio to bare HTTP of the same round, with the default number of workers. */
const AIMS = { serve: 0.33, all: 0.2 }

/**
 * How `serve` scales with HTTP workers, compared with bare HTTP in one process with the same
 * bodies; and what `npm start` accepts and delivers with default settings.
 */
export async function measureWorkers(plan: BenchPlan, closers: Closers): Promise<BenchFindings> {
  const store = await openBenchStore()
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const rounds: Round[] = []
  for (let round = 0; round < plan.rounds; round += 1) {
    const bare = await measureBare(plan)
    const serve: Run[] = []
    for (const count of plan.workers) serve.push(await measureServe(plan, { store, count }))
    rounds.push({ bare, serve, all: await measureWhileDelivering(plan, closers) })
  }
  const text = [
    machine,
    `medians of ${rounds.length} rounds, ${plan.connections.at(-1)} connections`,
    '',
    formatTable(formatWorkersTable(plan, rounds)),
  ].join('\n')
  return { text, faults: rounds.flatMap(findFaults) }
}

async function measureBare(plan: BenchPlan): Promise<Run> {
  const bare = await forkProgram({ program: 'bare-http.ts', answerSecondsMax: READY_SECONDS_MAX })
  try {
    return await measureRun(plan, { ...(bare.message as Target), processId: bare.processId })
  } finally {
    await bare.stop()
  }
}

async function measureServe(
  plan: BenchPlan,
  { store, count }: { store: BenchStore; count: number },
): Promise<Run> {
  const { dataDirectory, tracker } = store
  const settings = { SIGNALBOX_HTTP_WORKERS: String(count) }
  const service = await startServiceProcess({ role: 'serve', dataDirectory, settings })
  try {
    const { trackerSecret } = tracker
    return await measureRun(plan, { ...service, origin: service.url, trackerSecret })
  } finally {
    await service.stop()
  }
}

async function measureRun(plan: BenchPlan, target: Target & { processId: number }): Promise<Run> {
  const before = readProcessSeconds(target.processId)
  const { origin, trackerSecret } = target
  const connections = plan.connections.at(-1) as number
  const load = await runLoad({ ...plan, origin, trackerSecret, connections })
  const after = readProcessSeconds(target.processId)
  return {
    load,
    cpuSeconds: perThousand(before, after, countAccepted(load)),
    peakMegabytes: readProcessMemory(target.processId)?.peakMegabytes ?? null,
  }
}

function formatWorkersTable({ workers }: BenchPlan, rounds: readonly Round[]): string[][] {
  const row = (name: string, runOf: (round: Round) => Run, aim?: number) => {
    const { cells, ratio } = loadCells(rounds, round => runOf(round).load)
    const runs = rounds.map(runOf)
    return [
      name,
      ...cells,
      middleText(runs, 3, ({ cpuSeconds }) => cpuSeconds),
      middleText(runs, 0, ({ peakMegabytes }) => peakMegabytes),
      '',
      aim === undefined ? '' : formatAim({ limit: aim, direction: 'at least' }, ratio),
    ]
  }
  return [
    ['', 'events/s', 'to bare', 'p50 ms', 'p99 ms', 'CPU s/1,000', 'peak MB', 'delivered', ''],
    row('bare HTTP, one process', ({ bare }) => bare),
    ...workers.map((count, index) =>
      row(
        `serve, ${count} worker${count === 1 ? '' : 's'}`,
        ({ serve }) => serve[index] as Run,
        count === 2 ? AIMS.serve : undefined,
      ),
    ),
    allRow(rounds),
  ]
}

function allRow(rounds: readonly Round[]): string[] {
  const { cells, ratio } = loadCells(rounds, ({ all }) => all.load)
  const runs = rounds.map(({ all }) => all)
  const percent = ({ delivered, events }: DeliveringFigures) =>
    (100 * delivered) / Math.max(1, events)
  return [
    'npm start',
    ...cells,
    '',
    middleText(runs, 0, ({ memory }) => memory?.peakMegabytes ?? null),
    `${middleText(runs, 0, percent)} %`,
    formatAim({ limit: AIMS.all, direction: 'at least' }, ratio),
  ]
}

/** The measures of every program: speed, ratio to bare HTTP, and latency. */
function loadCells(rounds: readonly Round[], loadOf: (round: Round) => LoadResult) {
  const loads = rounds.map(loadOf)
  const ratio = middleOf(rounds.map(round => ratioOf(loadOf(round), round)))
  const cells = [
    middleText(loads, 0, ({ eventsPerSecond }) => eventsPerSecond),
    formatFigure(ratio, 2),
    middleText(loads, 1, ({ p50Milliseconds }) => p50Milliseconds),
    middleText(loads, 1, ({ p99Milliseconds }) => p99Milliseconds),
  ]
  return { cells, ratio }
}

function middleText<Run>(
  runs: readonly Run[],
  digits: number,
  read: (run: Run) => number | null,
): string {
  return formatFigure(middleOf(runs.map(read)), digits)
}

function ratioOf(load: LoadResult, { bare }: Round): number {
  return load.eventsPerSecond / bare.load.eventsPerSecond
}

function middleOf(figures: readonly (number | null)[]): number | null {
  const known = figures.filter(figure => figure !== null)
  return known.length === 0 ? null : median(known)
}

function findFaults({ bare, serve, all }: Round): string[] {
  const faults = [bare.load, ...serve.map(({ load }) => load), all.load].flatMap(load => {
    const total = Object.values(load.answers).reduce((sum, count) => sum + count, 0)
    if (total > 0 && total === countAccepted(load) && load.brokenCount === 0) return []
    const answers = JSON.stringify(load.answers)
    return [`Not every response was 202: ${answers}, ${load.brokenCount} connections broke.`]
  })
  if (all.events === all.accepted) return faults
  return [...faults, `npm start stored ${all.events} for ${all.accepted} answers of 202.`]
}
