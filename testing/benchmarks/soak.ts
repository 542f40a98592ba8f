import { setTimeout as delay } from 'node:timers/promises'
import { readBacklog } from '../../service/signals/delivery/backlog-store.ts'
import { type AllRole, countStored, startAllRole } from './all-role.ts'
import type { BenchPlan, Closers } from './bench-plan.ts'
import { readMemoryByProgram } from './process-cost.ts'
import { median } from './report-format.ts'
import { type LoadResult, runLoad } from './run-load.ts'

/** `npm start` under half of its largest load. */
export interface SoakRun {
  load: LoadResult
  perSecond: number
  samples: SoakSample[]
  /** Events stored by the load, and acknowledged. */
  stored: number
  /** Those that the platform had accepted when the load ended. */
  delivered: number
}

interface SoakSample {
  /** Minutes since the load began. */
  minutes: number
  /** Program -> MB, in which shared pages are divided among the processes; null without /proc. */
  megabytes: ReadonlyMap<string, number> | null
  oldestDueSeconds: number
}

const HALF = 0.5
const SAMPLES = 180
/** Reading the pages of PostgreSQL takes CPU time. */
const SAMPLE_SECONDS_MIN = 0.2

export async function measureSoak(plan: BenchPlan, closers: Closers): Promise<SoakRun> {
  const program = await startAllRole(closers)
  const connections = plan.connections[0] as number
  const {
    warmUpSeconds,
    seconds,
    load: { soakSeconds },
  } = plan
  const top = await runLoad({ ...program.target, connections, warmUpSeconds, seconds })
  const perSecond = Math.max(1, Math.round(top.eventsPerSecond * HALF))
  const before = await countStored(program.database)
  const running = runLoad({
    ...program.target,
    connections,
    warmUpSeconds: 0,
    seconds: soakSeconds,
    perSecondMax: perSecond,
  })
  const samples = await watchProgram(program, running, soakSeconds)
  const load = await running
  const after = await countStored(program.database)
  await program.stop()
  return {
    load,
    perSecond,
    samples,
    stored: after.events - before.events,
    delivered: after.delivered - before.delivered,
  }
}

async function watchProgram(
  { service, storeProcessId, database }: AllRole,
  running: Promise<unknown>,
  soakSeconds: number,
): Promise<SoakSample[]> {
  const samples: SoakSample[] = []
  const startedAt = performance.now()
  const isOver = running.then(
    () => true,
    () => true,
  )
  const step = Math.max(SAMPLE_SECONDS_MIN, soakSeconds / SAMPLES) * 1_000
  while (!(await Promise.race([isOver, delay(step, false)]))) {
    const { active } = await readBacklog(database, new Date())
    samples.push({
      minutes: (performance.now() - startedAt) / 60_000,
      megabytes: readMemoryByProgram([service.processId, storeProcessId]),
      oldestDueSeconds: active.oldestDueSeconds,
    })
  }
  return samples
}

/** Parts of the soak that are compared. The first third fills caches and is not judged. */
const PARTS = 3

export interface MemoryTrend {
  program: string
  /** The median of each third of the time. */
  megabytes: number[]
  peak: number
}

/** Memory of each program over time. */
export function summarizeMemory(samples: readonly SoakSample[]): MemoryTrend[] {
  const known = samples.flatMap(({ megabytes }) => megabytes ?? [])
  const programs = [...new Set(known.flatMap(megabytes => [...megabytes.keys()]))]
  return programs.map(program => {
    const series = known.flatMap(megabytes => megabytes.get(program) ?? [])
    const length = Math.ceil(series.length / PARTS)
    const thirds = Array.from({ length: PARTS }, (_, index) =>
      median(series.slice(index * length, (index + 1) * length)),
    )
    return { program, megabytes: thirds, peak: Math.max(...series) }
  })
}
