import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'

/** The languages of the SDKs. `npm ci` installs that of TypeScript; the others are optional. */
export type Language = 'typescript' | 'python' | 'go'

const CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache', 'generated-clients')
const PYTHONS = ['python3.11', 'python3.12', 'python3.13', 'python3']
const IS_RECENT_PYTHON = 'import sys; sys.exit(sys.version_info < (3, 11))'
const GO_MINOR_MIN = 23
/** An unreachable registry must not block the tests. */
const TOOL_MILLISECONDS_MAX = 300_000
const DOWNLOAD_TRIES = 2
/** `testing/run-report.ts` repeats skips and diagnostics that begin so at the end of a run. */
const NOT_RUN = 'NOT RUN: '

/** A tool or a registry is missing. The message says which. */
export class UnavailableError extends Error {
  override name = 'UnavailableError'
}

/**
 * Returns what `open` returns. If it throws an UnavailableError, skips the test with the reason and
 * returns null; SIGNALBOX_REQUIRE_SDKS makes that a failure.
 */
export function openToolchain<Value>(
  test: TestContext,
  language: Language,
  open: () => Value,
): Value | null {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof UnavailableError) || isRequired(language)) throw error
    const [reason = ''] = error.message.split('\n')
    test.skip(notRun(`${language}: ${reason}`))
    return null
  }
}

/** The reason of a skip that the end of a run repeats. */
export function notRun(reason: string): string {
  return `${NOT_RUN}${reason}`
}

/** A skip or a diagnostic that the end of a run repeats. Null for any other. */
export function notRunLine(text: unknown): string | null {
  return typeof text === 'string' && text.startsWith(NOT_RUN) ? text : null
}

/** Whether a missing tool fails the tests: SIGNALBOX_REQUIRE_SDKS lists the languages. */
export function isRequired(language: Language, environment = process.env): boolean {
  return (environment.SIGNALBOX_REQUIRE_SDKS ?? '').split(',').includes(language)
}

/** The program that a language needs, found on PATH. Throws an UnavailableError without it. */
export function findProgram(language: Language, environment = process.env): string {
  if (language === 'typescript') return process.execPath
  const env = { ...environment, GOTOOLCHAIN: 'local' }
  if (language === 'go') {
    const { status, stdout } = spawnSync('go', ['env', 'GOVERSION'], { env, encoding: 'utf8' })
    if (status !== 0) throw new UnavailableError('Go is not on PATH.')
    const [, minor] = /^go1\.(\d+)/.exec(stdout) ?? []
    if (Number(minor ?? 0) >= GO_MINOR_MIN) return 'go'
    throw new UnavailableError(`Go on PATH is ${stdout.trim()}, older than 1.${GO_MINOR_MIN}.`)
  }
  const isFound = (name: string) => spawnSync(name, ['-c', IS_RECENT_PYTHON], { env }).status === 0
  const program = PYTHONS.find(isFound)
  if (program) return program
  throw new UnavailableError('Python 3.11 or newer is not on PATH.')
}

/**
 * Installs pinned packages of Python once per content of the file, and returns the Python of their
 * virtual environment.
 */
export function installPinnedPython(program: string, requirements: string): string {
  const tools = join(CACHE, `python-packages-${digest([readFileSync(requirements)])}`)
  installPython(program, { tools, requirements })
  return join(tools, 'bin', 'python')
}

interface PythonPackages {
  /** The virtual environment. */
  tools: string
  /** A requirements.txt with hashes. */
  requirements: string
}

export function installPython(program: string, { tools, requirements }: PythonPackages): void {
  installOnce(tools, () => {
    runTool([program, '-m', 'venv', tools], CACHE)
    const options = ['--require-hashes', '--disable-pip-version-check', '--quiet']
    download([join(tools, 'bin/pip'), 'install', ...options, '-r', requirements], CACHE)
  })
}

/** Restarts an interrupted installation. Processes that need the same one wait for each other. */
export function installOnce(tools: string, install: () => void): void {
  const mark = join(tools, '.installed')
  if (existsSync(mark)) return
  mkdirSync(dirname(tools), { recursive: true })
  const lock = `${tools}.lock`
  acquireLock(lock)
  try {
    if (existsSync(mark)) return
    rmSync(tools, { recursive: true, force: true })
    install()
    writeFileSync(mark, '')
  } finally {
    rmSync(lock)
  }
}

const LOCK_POLL_MILLISECONDS = 200

/** Waits while the process that the file names is alive; one that was killed left it behind. */
function acquireLock(path: string): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  const own = `${path}.${process.pid}`
  writeFileSync(own, String(process.pid))
  while (!linkIfMissing(own, path)) {
    if (!removeDeadLock(own, path)) Atomics.wait(sleeper, 0, 0, LOCK_POLL_MILLISECONDS)
  }
  rmSync(own)
}

/**
 * Two processes may find the same dead owner: the slower one must not remove the lock of the faster
 * one, so one at a time looks again and removes. True when it is worth trying again at once.
 */
function removeDeadLock(own: string, path: string): boolean {
  const isDead = () => {
    const owner = readOwner(path)
    return owner !== null && !isAlive(owner)
  }
  const guard = `${path}-removal`
  if (!isDead() || !linkIfMissing(own, guard)) return false
  try {
    if (isDead()) rmSync(path, { force: true })
  } finally {
    rmSync(guard, { force: true })
  }
  return true
}

/** A link, unlike a new file, appears with its content. False if there is a file. */
function linkIfMissing(own: string, path: string): boolean {
  try {
    linkSync(own, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Null when the owner has just removed the file. */
function readOwner(path: string): number | null {
  try {
    return Number(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Runs a program that needs a registry. Throws an UnavailableError when the last try fails. */
export function download(command: string[], folder: string): void {
  for (let tries = 1; ; tries += 1) {
    try {
      runTool(command, folder)
      return
    } catch (cause) {
      const { message } = cause as Error
      if (!DOWNLOAD_FAILURES.test(message)) throw cause
      if (tries === DOWNLOAD_TRIES) throw new UnavailableError(message, { cause })
    }
  }
}

const DOWNLOAD_FAILURES =
  /ETIMEDOUT|ENOTFOUND|ECONNRE|EAI_AGAIN|no such host|dial tcp|handshake timeout|NewConnectionError/

/** Runs a program of a toolchain and returns its output. Throws an error with it on failure. */
export function runTool([program = '', ...parameters]: string[], folder: string, more = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, parameters, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '', ...more },
    maxBuffer: 64 * 1_048_576,
    timeout: TOOL_MILLISECONDS_MAX,
  })
  const output = `${stdout ?? ''}${stderr ?? ''}`
  if (status === 0) return output
  const failure = `${program} ${parameters.slice(0, 3).join(' ')} failed: ${error?.message ?? ''}`
  throw new Error(`${failure}\n${output.slice(-4_000)}`)
}

export function digest(parts: readonly (Buffer | string)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex').slice(0, 16)
}
