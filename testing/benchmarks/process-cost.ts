import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** The memory of a process, read from /proc; null without /proc. */
export interface ProcessMemory {
  megabytes: number
  /** Peak resident memory. */
  peakMegabytes: number
}

/** Linux counts CPU time in ticks of this length on all common architectures. */
const TICK_SECONDS = 0.01
const KIBIBYTES_PER_MEGABYTE = 1_000_000 / 1_024

export function readProcessMemory(processId: number): ProcessMemory | null {
  const status = readProc(`${processId}/status`)
  const megabytes = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status ?? '')?.[1]) / KIBIBYTES_PER_MEGABYTE
  return status === null
    ? null
    : { megabytes: megabytes('VmRSS'), peakMegabytes: megabytes('VmHWM') }
}

/** CPU seconds of a process since its start. */
export function readProcessSeconds(processId: number): number | null {
  const fields = statFields(processId)
  return fields && (Number(fields[UTIME]) + Number(fields[UTIME + 1])) * TICK_SECONDS
}

/** CPU seconds of a process and of its running and ended children. */
export function readProcessTreeSeconds(processId: number): number | null {
  const own = statFields(processId)
  if (!own) return null
  const ticks = [UTIME, UTIME + 1, UTIME + 2, UTIME + 3].map(index => Number(own[index]))
  const ended = ticks.reduce((sum, count) => sum + count, 0) * TICK_SECONDS
  const living = childrenOf(processId).map(child => readProcessSeconds(child) ?? 0)
  return living.reduce((sum, seconds) => sum + seconds, ended)
}

/** CPU seconds between two readings for a thousand events; null without /proc. */
export function perThousand(
  before: number | null,
  after: number | null,
  events: number,
): number | null {
  return before === null || after === null ? null : ((after - before) * 1_000) / events
}

/** proc_pid_stat(5): the fields after the command's name, the first of which is the state. */
const PARENT = 1
const UTIME = 11

function statFields(processId: number): string[] | null {
  const text = readProc(`${processId}/stat`)
  return text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? null
}

function childrenOf(parent: number): number[] {
  const processes = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return processes.map(Number).filter(id => Number(statFields(id)?.[PARENT]) === parent)
}

/** The state LISTEN in proc_net_tcp(5). */
const LISTENING = '0A'

/** The process that listens on a port of this machine; null when it is not found. */
export function findListeningProcess(port: number): number | null {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  const sockets = ['net/tcp', 'net/tcp6']
    .flatMap(name => readProc(name)?.split('\n') ?? [])
    .map(line => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === LISTENING && local?.endsWith(`:${hexPort}`))
    .map(fields => `socket:[${fields[9]}]`)
  if (sockets.length === 0) return null
  const processes = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return processes.map(Number).find(id => listOpenFiles(id).some(isOneOf(sockets))) ?? null
}

const isOneOf = (known: readonly string[]) => (name: string) => known.includes(name)

/** None of a process of another user, or that has ended; files are closed meanwhile. */
function listOpenFiles(processId: number): string[] {
  const folder = `/proc/${processId}/fd`
  const names = attempt(() => readdirSync(folder)) ?? []
  return names.flatMap(name => attempt(() => readlinkSync(`${folder}/${name}`)) ?? [])
}

function readProc(path: string): string | null {
  return attempt(() => readFileSync(`/proc/${path}`, 'utf8'))
}

function attempt<Result>(read: () => Result): Result | null {
  try {
    return read()
  } catch {
    return null
  }
}

/** CPU seconds so far; null without /proc. */
interface CpuReading {
  worker: number | null
  store: number | null
}

export interface DeliveryCost {
  /** CPU time of a thousand deliveries. */
  workerCpuSeconds: number | null
  storeCpuSeconds: number | null
  /** Memory of the worker. */
  memory: ProcessMemory | null
}

interface DeliveryPrograms {
  storeProcessId: number
  /** Null before the worker starts, so that its startup is included. */
  workerProcessId: number | null
}

export function readCpu({ storeProcessId, workerProcessId }: DeliveryPrograms): CpuReading {
  return {
    worker: workerProcessId === null ? 0 : readProcessSeconds(workerProcessId),
    store: readProcessTreeSeconds(storeProcessId),
  }
}

export function computeDeliveryCost(
  programs: DeliveryPrograms & { workerProcessId: number },
  before: CpuReading,
  events: number,
): DeliveryCost {
  const now = readCpu(programs)
  return {
    workerCpuSeconds: perThousand(before.worker, now.worker, events),
    storeCpuSeconds: perThousand(before.store, now.store, events),
    memory: readProcessMemory(programs.workerProcessId),
  }
}

/** Program names and how their command lines are known, the first match counts. */
const PROGRAMS: [string, RegExp][] = [
  ['PostgreSQL', /^postgres:|\/postgres\b/],
  ['simulator', /graph-simulator\/main\.ts/],
  ['service', /service\/main\.ts/],
  ['npm', /./],
]

/**
 * Megabytes of memory of these processes and all their descendants, by program. Pages that several
 * processes share are divided among them (PSS), so the sum is what the machine spends. Null without
 * /proc.
 */
export function readMemoryByProgram(processIds: readonly number[]): Map<string, number> | null {
  const memory = new Map<string, number>()
  const pending = [...processIds]
  const seen = new Set<number>()
  for (const id of pending) {
    if (seen.has(id)) continue
    seen.add(id)
    const rollup = readProc(`${id}/smaps_rollup`)
    if (rollup === null) continue
    const command = readProc(`${id}/cmdline`)?.replaceAll('\0', ' ') ?? ''
    const [name] = PROGRAMS.find(([, pattern]) => pattern.test(command)) ?? ['npm']
    const kibibytes = Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1])
    memory.set(name, (memory.get(name) ?? 0) + kibibytes / KIBIBYTES_PER_MEGABYTE)
    pending.push(...childrenOf(id))
  }
  return memory.size === 0 ? null : memory
}
