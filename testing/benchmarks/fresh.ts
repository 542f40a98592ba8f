import { readBacklog } from '../../service/signals/delivery/backlog-store.ts'
import { countAccepted } from './acceptance-round.ts'
import { countStored, startAllRole } from './all-role.ts'
import type { BenchFindings, BenchPlan, Closers } from './bench-plan.ts'
import { storeListedEvents } from './listed-events.ts'
import { describeMachine } from './machine.ts'
import { type ProcessMemory, readProcessMemory } from './process-cost.ts'
import { type Aim, formatAim, formatFigure, formatTable } from './report-format.ts'
import { type LoadResult, runLoad } from './run-load.ts'

interface FreshFigures {
  machine: string
  connections: number
  /** The maximum speed of `npm start` on a new store. */
  topPerSecond: number
  runs: FreshRun[]
}

/** One load on a separate store, at half of the maximum speed. */
interface FreshRun {
  /** Events already in the store; the benchmark never analyzes them. */
  history: number
  load: LoadResult
  accepted: number
  /** Rows stored by the load. */
  stored: number
  /** Those that the simulator had accepted when the load ended. */
  delivered: number
  backlog: BacklogSample[]
  memory: ProcessMemory | null
}

interface BacklogSample {
  /** Seconds since the load began. */
  seconds: number
  oldestDueSeconds: number
}

const HALF = 0.5
const SAMPLE_MILLISECONDS = 500

/**
 * `npm start` on a new store, and on one with history: it accepts and delivers concurrently from
 * the first second, when PostgreSQL has no statistics yet. The age of the oldest due delivery shows
 * whether delivery falls behind.
 */
export async function measureFresh(plan: BenchPlan, closers: Closers): Promise<FreshFigures> {
  const connections = plan.connections.at(-1) as number
  const first = await startFresh(closers)
  const machine = await first.describe()
  const top = await first.load({ ...plan, connections, seconds: plan.seconds })
  await first.stop()
  const perSecondMax = Math.max(1, Math.round(top.eventsPerSecond * HALF))
  const runs: FreshRun[] = []
  for (const history of plan.fresh.history) {
    const seconds = plan.fresh.seconds
    runs.push(await runOnce(closers, { history, ...plan, connections, seconds, perSecondMax }))
  }
  return { machine, connections, topPerSecond: top.eventsPerSecond, runs }
}

interface Load {
  connections: number
  warmUpSeconds: number
  seconds: number
  perSecondMax?: number
}

async function runOnce(closers: Closers, load: Load & { history: number }): Promise<FreshRun> {
  const { history } = load
  const program = await startFresh(closers)
  if (history > 0) await program.addHistory(history)
  const before = await program.counts()
  // No warm-up, because the first seconds are measured.
  const running = program.load({ ...load, warmUpSeconds: 0 })
  const backlog = await program.watchBacklog(running)
  const result = await running
  const after = await program.counts()
  const memory = program.memory()
  await program.stop()
  return {
    history,
    load: result,
    accepted: countAccepted(result),
    stored: after.events - before.events,
    delivered: after.delivered - before.delivered,
    backlog,
    memory,
  }
}

/** The program as started by `npm start` on a new store, and connections to observe it. */
async function startFresh(closers: Closers) {
  const { service, dataDirectory, database, target, stop } = await startAllRole(closers)
  return {
    describe: () => describeMachine(database, dataDirectory),
    memory: () => readProcessMemory(service.processId),
    load: ({ connections, warmUpSeconds, seconds, perSecondMax }: Load) =>
      runLoad({
        ...target,
        connections,
        warmUpSeconds,
        seconds,
        ...(perSecondMax !== undefined && { perSecondMax }),
      }),
    addHistory: async (count: number) => {
      const { rows } = await database.pool.query('select tracker_id, id from destinations')
      const [{ tracker_id: trackerId, id: destinationId }] = rows
      await storeListedEvents(database, { trackerId, destinationId }, { count })
    },
    counts: () => countStored(database),
    watchBacklog: async (load: Promise<unknown>) => {
      const samples: BacklogSample[] = []
      const startedAt = performance.now()
      let isOver = false
      void load.finally(() => {
        isOver = true
      })
      while (!isOver) {
        await new Promise(resolve => setTimeout(resolve, SAMPLE_MILLISECONDS))
        const { active } = await readBacklog(database, new Date())
        const seconds = (performance.now() - startedAt) / 1_000
        samples.push({ seconds, oldestDueSeconds: active.oldestDueSeconds })
      }
      return samples
    },
    stop,
  }
}

/** The target for the age of the oldest due delivery, after the first seconds. */
const BACKLOG_AIM: Aim = { limit: 2, direction: 'at most' }
const SETTLING_SECONDS = 10

/** A table with a column for each size of history. */
export function reportFresh({
  machine,
  connections,
  topPerSecond,
  runs,
}: FreshFigures): BenchFindings {
  const row = (name: string, digits: number, read: (run: FreshRun) => number | null) => [
    name,
    ...runs.map(run => formatFigure(read(run), digits)),
  ]
  const text = [
    machine,
    `npm start on a store of its own for each column, ${connections} connections, at half of the ` +
      `top speed of ${formatFigure(topPerSecond, 0)} events/s`,
    '',
    formatTable([
      ['events of history', ...runs.map(({ history }) => formatFigure(history, 0))],
      row('accepted, events/s', 0, ({ load }) => load.eventsPerSecond),
      row('    p50 ms', 1, ({ load }) => load.p50Milliseconds),
      row('    p99 ms', 1, ({ load }) => load.p99Milliseconds),
      row('delivered when the load ended, %', 1, ({ delivered, stored }) =>
        stored === 0 ? null : (delivered * 100) / stored,
      ),
      row('oldest due delivery, s: first 10 s', 2, ({ backlog }) => findOldest(backlog, isEarly)),
      row('    then, at most', 2, ({ backlog }) => findOldest(backlog, isLate)),
      ['', ...runs.map(({ backlog }) => formatAim(BACKLOG_AIM, findOldest(backlog, isLate)))],
      row('memory, MB', 0, ({ memory }) => memory?.megabytes ?? null),
    ]),
    '',
    ...runs.map(({ history, stored, accepted }) => {
      const place = `${formatFigure(history, 0)} events of history`
      return `rows ${stored}, 2xx answers ${accepted} (${place})`
    }),
  ].join('\n')
  return { text, faults: runs.flatMap(findFaults) }
}

const isEarly = ({ seconds }: BacklogSample) => seconds <= SETTLING_SECONDS
const isLate = (sample: BacklogSample) => !isEarly(sample)

function findOldest(
  samples: readonly BacklogSample[],
  isMeant: (sample: BacklogSample) => boolean,
): number | null {
  const ages = samples.filter(isMeant).map(({ oldestDueSeconds }) => oldestDueSeconds)
  return ages.length === 0 ? null : Math.max(...ages)
}

function findFaults({ load, stored, accepted }: FreshRun): string[] {
  const refused = Object.keys(load.answers).filter(status => status !== '202')
  return [
    ...(refused.length === 0 ? [] : [`Some responses were ${refused.join(', ')}.`]),
    ...(stored === accepted ? [] : [`${accepted} were accepted and ${stored} are stored.`]),
  ]
}
