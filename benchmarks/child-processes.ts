import { type ChildProcess, fork, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { BenchStore } from './bench-store.ts'

/** The service as a user starts it, in one of its roles. */
export interface ServiceProcess {
  processId: number
  /** The address in the line that the role prints when it is ready. */
  url: string
  stop(): Promise<void>
}

interface ServiceRequest {
  role: 'all' | 'serve' | 'deliver'
  dataDirectory: string
  /** Settings beside the data folder; nothing of our own environment gets in. */
  settings?: Record<string, string>
}

const MAIN = join(import.meta.dirname, '..', 'service', 'main.ts')
const NO_LIMIT = { SIGNALBOX_TRACKER_RATE_PER_SECOND: '0' }
const READY_LINE = /^Signalbox (?:is ready at|serves at|delivers to) (\S+)$/
const COMPLAINT_CHARACTERS_MAX = 2_000

/** Starts `node service/main.ts ROLE` and waits until it says that it is ready. */
export async function startServiceProcess(request: ServiceRequest): Promise<ServiceProcess> {
  const { role, dataDirectory, settings } = request
  const child = spawn(process.execPath, [MAIN, role], {
    // One tracker sends all there is; no limit stands between it and what the service can do.
    env: { ...NO_LIMIT, PORT: '0', SIGNALBOX_DATA_DIR: dataDirectory, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let lastWords = ''
  const listen = (chunk: Buffer) => {
    lastWords = `${lastWords}${chunk}`.slice(-COMPLAINT_CHARACTERS_MAX)
  }
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  const url = await Promise.race([readyUrl(child.stderr), ended])
  if (!url) {
    await ended
    throw new Error(`The role ${role} did not start: ${lastWords.trim()}`)
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

/** Starts `node service/main.ts deliver` on this store; all but these settings are the default. */
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
  /** The program's first message. */
  message: unknown
  stop(): Promise<void>
}

interface ForkRequest {
  /** A file of this folder. */
  program: string
  /** The message sent to it at its start, if any. */
  order?: object
  answerSecondsMax: number
}

/**
 * Starts one of the benchmarks' own programs and waits for its first message. The channel ends
 * with this process, and with the channel the program, so nothing is left over.
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
