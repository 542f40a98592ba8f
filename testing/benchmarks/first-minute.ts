import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { clusterPath } from '@signalbox/embedded-postgres/cluster.ts'
import { findPostmaster } from '@signalbox/embedded-postgres/postmaster.ts'
import type { BenchFindings, Closers } from './bench-plan.ts'
import { readMemoryByProgram } from './process-cost.ts'
import { formatTable } from './report-format.ts'

const ROOT = join(import.meta.dirname, '../..')
/** On a disk, as the clone of a newcomer, and not in memory as a temporary folder may be. */
const PARENT = join(ROOT, '.data')
const START_SECONDS_MAX = 120
const DELIVERY_SECONDS_MAX = 30
/** Until the backends of PostgreSQL that worked for the start have ended. */
const IDLE_SECONDS = 30
const AIM_SECONDS = 120
const AIM_MEGABYTES = 300

const run = promisify(execFile)

interface Step {
  name: string
  seconds: number
}

/**
 * What a newcomer does: clones the repository, installs, starts, and sends the printed purchase
 * until its delivery is accepted. npm's cache is warm when it was filled before. Then the memory of
 * the programs, idle again.
 */
export async function measureFirstMinute(closers: Closers): Promise<BenchFindings> {
  mkdirSync(PARENT, { recursive: true })
  const folder = mkdtempSync(join(PARENT, 'first-minute-'))
  closers.push(async () => rmSync(folder, { recursive: true, force: true }))
  const steps: Step[] = []
  const timed = async <Result>(name: string, step: () => Promise<Result>): Promise<Result> => {
    const startedAt = performance.now()
    const result = await step()
    steps.push({ name, seconds: (performance.now() - startedAt) / 1_000 })
    return result
  }
  const clone = join(folder, 'signalbox')
  const options = { cwd: clone, env: newcomerEnvironment(), maxBuffer: 1e8 }
  await timed('git clone', () => run('git', ['clone', '--quiet', ROOT, clone]))
  await timed('npm ci', () => run('npm', ['ci'], options))
  const service = startService(options, closers)
  const commands = await timed('npm start', () => service.printedCommands())
  const [send = '', read = ''] = commands
  await timed('send the purchase', () => run('bash', ['-c', send], options))
  await timed('until it is delivered', () => waitUntilAccepted(read))
  await delay(IDLE_SECONDS * 1_000)
  const memory = readIdleMemory(service.process, join(clone, '.data'))
  return report(steps, memory)
}

/** Without the variables and paths that npm gives to the scripts of this repository. */
function newcomerEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  const path = PATH.split(':').filter(entry => !entry.includes('node_modules'))
  return { PATH: path.join(':'), HOME, PORT: '0', SIGNALBOX_HTTP_WORKERS: '1' }
}

interface StartedService {
  process: ChildProcess
  /** Resolves when the service is ready, with the commands that it prints to copy. */
  printedCommands(): Promise<string[]>
}

function startService(
  options: { cwd: string; env: Record<string, string> },
  closers: Closers,
): StartedService {
  const child = spawn('npm', ['start'], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
    })
  }
  closers.push(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const printedCommands = async () => {
    const deadline = AbortSignal.timeout(START_SECONDS_MAX * 1_000)
    for (;;) {
      const commands = [...output.matchAll(/^ {2}(curl(?:.*\\\n)*.*)$/gm)].map(([, text]) => text)
      if (commands.length === 2 && output.endsWith('\n')) return commands as string[]
      if (deadline.aborted || child.exitCode !== null) {
        throw new Error(`npm start did not become ready: ${output.slice(-2_000)}`)
      }
      await delay(50)
    }
  }
  return { process: child, printedCommands }
}

async function waitUntilAccepted(command: string): Promise<void> {
  const deadline = AbortSignal.timeout(DELIVERY_SECONDS_MAX * 1_000)
  for (;;) {
    const { stdout } = await run('bash', ['-c', command])
    const { deliveries } = JSON.parse(stdout) as { deliveries: { status: string }[] }
    if (deliveries[0]?.status === 'accepted') return
    if (deadline.aborted) throw new Error(`The purchase was not delivered: ${stdout}`)
    await delay(50)
  }
}

/** npm started the service, and the service the rest; PostgreSQL is a process group of its own. */
export function readIdleMemory({ pid }: ChildProcess, dataFolder: string): MemoryByProgram | null {
  const postmaster = findPostmaster(clusterPath(dataFolder))
  return readMemoryByProgram([pid as number, ...(postmaster ? [postmaster.processId] : [])])
}

type MemoryByProgram = ReadonlyMap<string, number>

function report(steps: Step[], memory: MemoryByProgram | null): BenchFindings {
  const total = steps.reduce((sum, { seconds }) => sum + seconds, 0)
  const rows = [...steps, { name: 'total', seconds: total }]
  const times = formatTable([
    ['step', 'seconds'],
    ...rows.map(({ name, seconds }) => [name, seconds.toFixed(1)]),
  ])
  const hit = total <= AIM_SECONDS ? 'met' : 'missed'
  const text = [times, `The target of ${AIM_SECONDS} s is ${hit}.`]
  if (memory) text.push('', ...reportMemory(memory))
  return { text: `${text.join('\n')}\n`, faults: [] }
}

function reportMemory(memory: MemoryByProgram): string[] {
  const total = [...memory.values()].reduce((sum, megabytes) => sum + megabytes, 0)
  const table = formatTable([
    ['idle', 'MB (PSS)'],
    ...[...memory, ['total', total] as const].map(([name, value]) => [name, value.toFixed(0)]),
  ])
  const hit = total < AIM_MEGABYTES ? 'met' : 'missed'
  return [table, `The target of ${AIM_MEGABYTES} MB is ${hit}.`]
}
