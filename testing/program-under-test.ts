import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { clusterPath } from '@signalbox/embedded-postgres/cluster.ts'
import { findPostmaster, stopServer } from '@signalbox/embedded-postgres/postmaster.ts'
import type { Credentials } from '../service/provisioning/credentials-file.ts'

const MAIN = join(import.meta.dirname, '..', 'service', 'main.ts')
const SECONDS_MAX = 60

/** A data folder below a private one, and the programs that were started on it. */
export interface Installation {
  dataFolder: string
  start(options?: StartOptions): ProgramUnderTest
  /** Starts `all` and waits until `/readyz` says so. */
  startReady(options?: StartOptions): Promise<ReadyProgram>
  /** What stands in credentials.json now. */
  credentials(): Credentials
  /** The process of the embedded PostgreSQL, or null when none runs. */
  postgresProcessId(): number | null
}

export interface StartOptions {
  /** `all` by default. */
  role?: string
  arguments?: string[]
  /** What it reads from standard input; nothing without it. */
  input?: string
  /** On top of PATH, a free PORT and the data folder. Nothing else of ours is handed on. */
  environment?: Record<string, string>
}

/** How a program ended, as a shell would see it. */
export interface Ending {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface ProgramUnderTest {
  process: ChildProcess
  /** Standard output so far: the log. */
  log(): string
  /** Standard error so far: words for a person. */
  terminal(): string
  /** Waits until the terminal shows the pattern; fails when the program ends without it. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves when the program has ended and everything it said is there. */
  ended: Promise<Ending>
  end(signal: NodeJS.Signals): Promise<Ending>
}

export interface ReadyProgram extends ProgramUnderTest {
  url: string
}

/** An installation of its own for one test; programs, PostgreSQL and folder go with the test. */
export function installation(test: TestContext, folderName = 'data'): Installation {
  const home = mkdtempSync(join(tmpdir(), 'signalbox-program-'))
  const dataFolder = join(home, folderName)
  const programs: ProgramUnderTest[] = []
  test.after(async () => {
    for (const program of programs) await program.end('SIGKILL')
    await endOrphan(dataFolder)
    rmSync(home, { recursive: true, force: true })
  })

  const start = ({ role = 'all', environment = {}, ...options }: StartOptions = {}) => {
    const program = spawnProgram(
      [MAIN, role, ...(options.arguments ?? [])],
      { PORT: '0', SIGNALBOX_DATA_DIR: dataFolder, ...environment },
      options.input,
    )
    programs.push(program)
    return program
  }
  return {
    dataFolder,
    start,
    startReady: async options => whenReady(start(options)),
    credentials: () => JSON.parse(readFileSync(join(dataFolder, 'credentials.json'), 'utf8')),
    postgresProcessId: () => findPostmaster(clusterPath(dataFolder))?.processId ?? null,
  }
}

/** Starts any program of this repository under the pinned Node and captures what it says. */
export function spawnProgram(
  argumentList: string[],
  environment: Record<string, string> = {},
  input = '',
): ProgramUnderTest {
  const child = spawn(process.execPath, argumentList, {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}).end(input)
  const log = textOf(child.stdout)
  const terminal = textOf(child.stderr)
  const ended = new Promise<Ending>(resolve =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  )
  let isOver = false
  ended.then(() => {
    isOver = true
  })
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return ended
  }
  const says = async (pattern: RegExp) => {
    const deadline = AbortSignal.timeout(SECONDS_MAX * 1_000)
    for (;;) {
      const isLast = deadline.aborted || isOver
      const found = pattern.exec(terminal())
      if (found) return found
      if (isLast) throw silence(pattern, { log, terminal })
      await delay(10)
    }
  }
  return { process: child, log, terminal, says, ended, end }
}

/** Runs a program to its end. */
export async function runProgram(
  argumentList: string[],
  environment: Record<string, string> = {},
): Promise<Ending & { log: string; terminal: string }> {
  const program = spawnProgram(argumentList, environment)
  const ending = await program.ended
  return { ...ending, log: program.log(), terminal: program.terminal() }
}

/** Asks until the answer is yes; fails with `what` when patience ends. */
export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  secondsMax = SECONDS_MAX,
): Promise<void> {
  const deadline = AbortSignal.timeout(secondsMax * 1_000)
  while (!(await isSo())) {
    if (deadline.aborted) throw new Error(`Not within ${secondsMax} seconds: ${what}`)
    await delay(20)
  }
}

/** Whether somebody still listens there. */
export async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  )
}

async function whenReady(program: ProgramUnderTest): Promise<ReadyProgram> {
  const [, url = ''] = await program.says(/^Signalbox is ready at (\S+)$/m)
  const readiness = await fetch(`${url}/readyz`)
  if (readiness.status !== 200) throw new Error(`/readyz answered ${await readiness.text()}`)
  return { ...program, url }
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  return () => text
}

function silence(pattern: RegExp, said: Pick<ProgramUnderTest, 'log' | 'terminal'>): Error {
  return new Error(`The program never said ${pattern}:\n${said.terminal()}\n${said.log()}`)
}

/** PostgreSQL outlives a service that was killed, as it should; not the test, though. */
async function endOrphan(dataFolder: string): Promise<void> {
  const orphan = findPostmaster(clusterPath(dataFolder))
  if (orphan) await stopServer(orphan)
}
