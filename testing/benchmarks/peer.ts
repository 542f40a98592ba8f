import type { BenchFindings, BenchPlan, Closers, PeerPlan } from './bench-plan.ts'
import { openBenchStore } from './bench-store.ts'
import { startServiceProcess } from './child-processes.ts'
import { describeMachine } from './machine.ts'
import {
  findListeningProcess,
  perThousand,
  readProcessMemory,
  readProcessTreeSeconds,
} from './process-cost.ts'
import { formatFigure, formatTable, median } from './report-format.ts'
import { type LoadPlan, type LoadResult, runLoad } from './run-load.ts'

/** One of the two sides. */
interface Side {
  name: string
  target: Pick<LoadPlan, 'origin' | 'trackerSecret' | 'peer'>
  /** Null where the process is not on this machine, or not ours to look at. */
  processId: number | null
  storeProcessId: number | null
  runs: Run[]
}

interface Run {
  load: LoadResult
  answered: number
  cpuSeconds: number | null
  storeCpuSeconds: number | null
}

const LOCAL_HOSTS = new Set(['127.0.0.1', 'localhost', '[::1]'])

/**
 * This service and a given endpoint of another program, in alternation and under the same load, so
 * that anyone can repeat a comparison. It starts and builds nothing of the other program.
 */
export async function measurePeer(plan: BenchPlan, closers: Closers): Promise<BenchFindings> {
  const peer = plan.peer as PeerPlan
  const { hostname, port, origin } = new URL(peer.url)
  const isLocal = LOCAL_HOSTS.has(hostname)
  if (!isLocal) warnOfRemote(hostname)
  const store = await openBenchStore()
  closers.push(store.close)
  const machine = await describeMachine(store.database, store.dataDirectory)
  const service = await startServiceProcess({ role: 'serve', dataDirectory: store.dataDirectory })
  closers.push(service.stop)
  const { trackerSecret } = store.tracker
  const ours: Side = {
    name: 'Signalbox',
    target: { origin: service.url, trackerSecret },
    processId: service.processId,
    storeProcessId: store.processId,
    runs: [],
  }
  const theirs: Side = {
    name: 'the endpoint',
    target: { origin, trackerSecret: 'none', peer },
    processId: isLocal ? findListeningProcess(Number(port || 80)) : null,
    storeProcessId: null,
    runs: [],
  }
  for (let round = 0; round < plan.rounds; round += 1) {
    // The order changes, so that neither side always runs on a machine that the other has warmed.
    const sides = round % 2 === 0 ? [ours, theirs] : [theirs, ours]
    for (const side of sides) side.runs.push(await measureSide(plan, side))
  }
  const text = `${machine}\n\n${report(plan, [ours, theirs])}`
  return { text, faults: [...findFaults(ours), ...findFaults(theirs)] }
}

function warnOfRemote(hostname: string): void {
  process.stderr.write(
    `${hostname} is another machine: send this load only to one that is yours, ` +
      'and mind the network between the two.\n',
  )
}

async function measureSide(plan: BenchPlan, side: Side): Promise<Run> {
  const { target, processId, storeProcessId } = side
  const read = (id: number | null) => (id === null ? null : readProcessTreeSeconds(id))
  const before = { own: read(processId), store: read(storeProcessId) }
  const connections = plan.connections.at(-1) as number
  const load = await runLoad({ ...plan, ...target, connections, peer: target.peer })
  const answered = countSuccesses(load)
  return {
    load,
    answered,
    cpuSeconds: perThousand(before.own, read(processId), answered),
    storeCpuSeconds: perThousand(before.store, read(storeProcessId), answered),
  }
}

function countSuccesses({ answers }: LoadResult): number {
  const successes = Object.entries(answers).filter(([status]) => status.startsWith('2'))
  return successes.reduce((sum, [, count]) => sum + count, 0)
}

/** Sentences about responses that are no successes, and about connections that broke. */
function findFaults({ name, runs }: Side): string[] {
  const faults: string[] = []
  const counts = new Map<string, number>()
  for (const { load } of runs) {
    for (const [status, count] of Object.entries(load.answers)) {
      if (!status.startsWith('2')) counts.set(status, (counts.get(status) ?? 0) + count)
    }
  }
  for (const [status, count] of counts) {
    faults.push(`${count} requests to ${name} were answered with ${status}.`)
  }
  const broken = runs.reduce((sum, { load }) => sum + load.brokenCount, 0)
  if (broken > 0) faults.push(`${broken} connections to ${name} broke.`)
  return faults
}

function report(plan: BenchPlan, sides: readonly Side[]): string {
  const [ours, theirs] = sides.map(({ runs }) => median(runs.map(speedOf))) as [number, number]
  const rows = sides.map(({ name, runs, processId }) => [
    name,
    formatFigure(median(runs.map(speedOf)), 0),
    formatFigure(median(runs.map(({ load }) => load.p50Milliseconds)), 1),
    formatFigure(median(runs.map(({ load }) => load.p99Milliseconds)), 1),
    formatFigure(medianOfKnown(runs.map(({ cpuSeconds }) => cpuSeconds)), 3),
    formatFigure(medianOfKnown(runs.map(({ storeCpuSeconds }) => storeCpuSeconds)), 3),
    formatFigure(processId === null ? null : (readProcessMemory(processId)?.megabytes ?? null), 0),
  ])
  const head = ['', 'events/s', 'p50 ms', 'p99 ms', 'CPU s per 1,000', 'PostgreSQL', 'RSS MB']
  const bytes = sides.map(({ runs }) => formatFigure(runs[0]?.load.requestBytes ?? null, 0))
  return [
    `${plan.connections.at(-1)} connections, ${plan.rounds} rounds of ${plan.seconds} s in turn; ` +
      `requests of ${bytes.join(' and ')} bytes`,
    '',
    formatTable([head, ...rows]),
    '',
    `ratio of the speeds: ${formatFigure(ours / theirs, 2)}`,
  ].join('\n')
}

function speedOf({ load }: Run): number {
  return load.eventsPerSecond
}

function medianOfKnown(seconds: readonly (number | null)[]): number | null {
  const known = seconds.filter(one => one !== null)
  return known.length === 0 ? null : median(known)
}
