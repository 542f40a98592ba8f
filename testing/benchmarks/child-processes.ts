import { type ChildProcess, fork, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { BenchStore } from './bench-store.ts'

/** The service in one of its roles, started as a user would. */
export interface ServiceProcess {
  processId: number
  /** The address that the role prints when it is ready. */
  url: string
  stop(): Promise<void>
}

interface ServiceRequest {
  role: 'all' | 'serve' | 'deliver'
  dataDirectory: string
  /** Settings besides the data folder; the environment of this process is not inherited. */
  settings?: Record<string, string>
}

const MAIN = join(import.meta.dirname, '../../service/main.ts')
const NO_LIMIT = {
  SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
  SIGNALBOX_PUBLISHABLE_RATE_PER_SECOND: '0',
  SIGNALBOX_BROWSER_RATE_PER_MINUTE: '0',
}
const READY_LINE = /^Signalbox (?:is ready at|serves at|delivers to) (\S+)$/
const COMPLAINT_CHARACTERS_MAX = 2_000

/** As `npm start` and the files in deploy/ start it. */
const NODE_FLAGS = ['--v8-pool-size=0']

/** Starts `node service/main.ts ROLE` and waits until it reports that it is ready. */
export async function startServiceProcess(request: ServiceRequest): Promise<ServiceProcess> {
  const { role, dataDirectory, settings } = request
  const child = spawn(process.execPath, [...NODE_FLAGS, MAIN, role], {
    // One tracker sends all events, so its rate limit is off.
    env: { ...NO_LIMIT, PORT: '0', SIGNALBOX_DATA_DIR: dataDirectory, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let lastOutput = ''
  const listen = (chunk: Buffer) => {
    lastOutput = `${lastOutput}${chunk}`.slice(-COMPLAINT_CHARACTERS_MAX)
  }
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  const url = await Promise.race([readyUrl(child.stderr), ended])
  if (!url) {
    await ended
    throw new Error(`The role ${role} did not start: ${lastOutput.trim()}`)
  }
  return {
    processId: child.pid as number,
    url,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function readyUrl(output: NodeJS.ReadableStream): Promise<string> {
  const lines = createInterface({ input: output })
  return new Promise(resolve => {
    lines.on('line', line => {
      const [, url] = READY_LINE.exec(line) ?? []
      if (url !== undefined) resolve(url)
    })
  })
}

interface WorkerRequest {
  simulatorUrl: string
  batchEvents: number
}

/** Starts `node service/main.ts deliver` on this store, otherwise with default settings. */
export function startWorker(
  { dataDirectory }: BenchStore,
  { simulatorUrl, batchEvents }: WorkerRequest,
): Promise<ServiceProcess> {
  return startServiceProcess({
    role: 'deliver',
    dataDirectory,
    settings: {
      SIGNALBOX_PLATFORM_URL: simulatorUrl,
      SIGNALBOX_DELIVERY_BATCH_MAX: String(batchEvents),
    },
  })
}

interface ForkedProgram {
  processId: number
  /** The first message of the program. */
  message: unknown
  stop(): Promise<void>
}

interface ForkRequest {
  /** A file in this folder. */
  program: string
  /** The message that the program receives at its start, if any. */
  order?: object
  answerSecondsMax: number
}

/**
 * Starts a program of the benchmarks and waits for its first message. The program ends when its
 * channel to this process closes, so no orphan remains.
 */
export async function forkProgram(request: ForkRequest): Promise<ForkedProgram> {
  const child = fork(join(import.meta.dirname, request.program), { stdio: 'inherit' })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  try {
    if (request.order) child.send(request.order)
    return { processId: child.pid as number, message: await firstMessage(child, request), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function firstMessage(
  child: ChildProcess,
  { program, answerSecondsMax }: ForkRequest,
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const alarm = setTimeout(
    () => reject(new Error(`${program} said nothing for ${answerSecondsMax} seconds`)),
    answerSecondsMax * 1_000,
  )
  child.once('message', resolve)
  child.once('error', reject)
  child.once('exit', code => reject(new Error(`${program} ended with code ${code}`)))
  return promise.finally(() => clearTimeout(alarm))
}
