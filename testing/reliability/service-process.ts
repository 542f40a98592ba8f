import { type ChildProcess, spawn } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import { waitUntil } from '../fixtures/wait-until.ts'
import { createMemoryLimit, type MemoryLimit } from './memory-limit.ts'
import type { ClockOffsets } from './process-clock.ts'
import type { ProcessName } from './schedule.ts'

const MAIN = join(import.meta.dirname, '../../service/main.ts')
/** Loaded before the program. */
const PRELOADED = ['process-clock.ts', 'webhook-endpoints.ts']
  .map(file => `--import ${pathToFileURL(join(import.meta.dirname, file)).href}`)
  .join(' ')

const MEMORY_BYTES_MAX = 512 * 1_024 * 1_024
/** For the heap alone, where no control group can limit the process. */
const HEAP_MEGABYTES_MAX = 256
/** What a supervisor waits before it starts a process again. */
const RESTART_MILLISECONDS = 300
const SECONDS_TO_START_MAX = 90
const TERMINAL_CHARACTERS_MAX = 1_000
const STARTED = /^Signalbox (is ready at|serves at|delivers to) /m

export interface ServiceProcessOptions {
  name: ProcessName
  environment: Record<string, string>
  /** Holds the file of the clock offsets. */
  folder: string
}

/** A service process and its supervisor, which starts it again whenever it ends. */
export class ServiceProcess {
  readonly name: ProcessName
  readonly #options: ServiceProcessOptions
  readonly #port: number
  readonly #limit: MemoryLimit | null
  #offsets: ClockOffsets = { wallSeconds: 0, monotonicSeconds: 0 }
  #child: ChildProcess | null = null
  /** Standard error: one line for the start, and what ends the program. */
  #terminal = ''
  #hasStarted = false
  #isSupervised = true
  #isEndExpected = false
  /** Ends without a reason: after a start that succeeded, and not by a fault. */
  readonly unexpectedEnds: string[] = []

  private constructor(options: ServiceProcessOptions, port: number) {
    this.#options = options
    this.name = options.name
    this.#port = port
    this.#limit = createMemoryLimit(options.name, MEMORY_BYTES_MAX)
    this.setClock({})
  }

  /** Starts it and waits until it is ready. */
  static async start(options: ServiceProcessOptions): Promise<ServiceProcess> {
    const started = new ServiceProcess(options, await findFreePort())
    started.#spawn()
    await started.waitUntilReady()
    return started
  }

  /** The same port after each start, as in production. Null: it has no HTTP service. */
  get httpPort(): number | null {
    return this.name === 'deliver' ? null : this.#port
  }

  get hasMemoryLimit(): boolean {
    return this.#limit !== null
  }

  get memoryPeakBytes(): number {
    return this.#limit?.peakBytes() ?? 0
  }

  get offsets(): ClockOffsets {
    return this.#offsets
  }

  /** Steps the clocks of the running process within 50 ms, and those of the next ones. */
  setClock(changes: Partial<ClockOffsets>): void {
    this.#offsets = { ...this.#offsets, ...changes }
    const file = this.#clockFile
    writeFileSync(`${file}.new`, JSON.stringify(this.#offsets))
    renameSync(`${file}.new`, file)
  }

  /** Ends the process with a signal; the supervisor starts it again after a pause. */
  async end(signal: 'SIGKILL' | 'SIGTERM', milliseconds: number): Promise<void> {
    if (this.#child === null) return
    this.#isEndExpected = true
    this.#isSupervised = false
    this.#child.kill(signal)
    await waitUntil(`${this.name} has ended`, () => this.#child === null)
    await delay(milliseconds)
    this.#isSupervised = true
    this.#spawn()
  }

  async freeze(milliseconds: number): Promise<void> {
    const child = this.#child
    child?.kill('SIGSTOP')
    await delay(milliseconds)
    child?.kill('SIGCONT')
  }

  async waitUntilReady(): Promise<void> {
    await waitUntil(`${this.name} is ready`, () => this.#isReady(), SECONDS_TO_START_MAX).catch(
      cause => {
        throw new Error(`${this.name} is not ready: ${this.#terminal}`, { cause })
      },
    )
  }

  async close(): Promise<void> {
    this.#isSupervised = false
    this.#child?.kill('SIGKILL')
    await waitUntil(`${this.name} has ended`, () => this.#child === null)
    this.#limit?.remove()
  }

  get #clockFile(): string {
    return join(this.#options.folder, `clock-${this.name}.json`)
  }

  #spawn(): void {
    const heap = this.#limit === null ? ` --max-old-space-size=${HEAP_MEGABYTES_MAX}` : ''
    const command = [process.execPath, MAIN, this.name]
    const limited = ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"']
    const [file = '', ...args] =
      this.#limit === null ? command : [...limited, this.#limit.processesFile, ...command]
    const child = spawn(file, args, {
      env: {
        PATH: process.env.PATH,
        PORT: String(this.#port),
        NODE_OPTIONS: `${PRELOADED}${heap}`,
        RELIABILITY_CLOCK_FILE: this.#clockFile,
        ...this.#options.environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    this.#terminal = ''
    this.#hasStarted = false
    this.#isEndExpected = false
    child.stdout.resume()
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#terminal = (this.#terminal + text).slice(-TERMINAL_CHARACTERS_MAX)
      this.#hasStarted ||= STARTED.test(this.#terminal)
    })
    child.once('close', (code, signal) => {
      this.#child = null
      const end = `${this.name} ended with ${signal ?? code}: ${this.#terminal}`
      if (this.#hasStarted && !this.#isEndExpected) this.unexpectedEnds.push(end)
      void this.#startAgain()
    })
  }

  async #startAgain(): Promise<void> {
    await delay(RESTART_MILLISECONDS)
    if (this.#isSupervised && this.#child === null) this.#spawn()
  }

  async #isReady(): Promise<boolean> {
    if (this.httpPort === null) return this.#child !== null && this.#hasStarted
    const response = await fetch(`http://127.0.0.1:${this.httpPort}/readyz`, {
      signal: AbortSignal.timeout(2_000),
    }).catch(() => null)
    return response?.status === 200
  }
}
