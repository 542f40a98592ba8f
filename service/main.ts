#!/usr/bin/env node
import closeWithGrace from 'close-with-grace'
import { useBundledLibraries } from './program/roles/bundled-libraries.ts'
import {
  CODE_CACHE_FOLDER,
  enableCodeCache,
  flushCodeCache,
} from './program/roles/compile-cache.ts'
import type { RoleContext, RunningRole } from './program/roles/role.ts'
import { createLogger, openLogStream } from './runtime/http/logger.ts'
import { readSettings } from './runtime/settings/read-settings.ts'

const SHUTDOWN_MILLISECONDS_MAX = 30_000
/**
 * npm passes on a signal that the whole process group got, so the same one arrives twice, 2 to 50
 * ms apart. A second signal later than this ends the program immediately.
 */
const SAME_SIGNAL_MILLISECONDS = 1_000
const END_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const

let isFatal = false

// The roles are loaded after this, some of them by threads and processes.
enableCodeCache()
if (CODE_CACHE_FOLDER !== null) process.env.NODE_COMPILE_CACHE ??= CODE_CACHE_FOLDER
useBundledLibraries()
const { formatFailure, runCommandLine } = await import('./program/roles/command-line.ts')
await runCommandLine(process.argv.slice(2), {
  printStatus: text => process.stderr.write(text),
  printOutput,
  createContext,
  runUntilSignal,
}).then(exitCode => {
  process.exitCode = exitCode
}, fail)

/** Opens the stream on the first use: the log writes to the same file, without a stream. */
function printOutput(text: string): void {
  const { stdout } = process
  if (!stdout.listeners('error').includes(ignoreClosedPipe)) stdout.on('error', ignoreClosedPipe)
  stdout.write(text)
}

/** The reader of a pipe, such as `head`, has what it wanted; the command still does its work. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

async function createContext({ isQuiet = false } = {}): Promise<RoleContext> {
  const { PLATFORM_SETTINGS } = await import('./signals/platforms/plug-ins.ts')
  const settings = readSettings(process.env, PLATFORM_SETTINGS)
  const logger = createLogger(settings.logLevel, await openLogStream(settings.logFormat))
  if (!isQuiet) for (const warning of settings.warnings) logger.warn(warning)
  return {
    settings,
    logger,
    now: () => new Date(),
    printStatus: text => process.stderr.write(text),
    printOutput,
    standardInput: process.stdin,
    onFatal: sentence => {
      logger.fatal(sentence)
      if (isFatal) return
      isFatal = true
      process.kill(process.pid, 'SIGTERM')
    },
  }
}

/** A signal during the start waits until the start is over, so that nothing stays half open. */
async function runUntilSignal(
  start: (context: RoleContext) => Promise<RunningRole>,
): Promise<void> {
  const context = await createContext()
  const { logger } = context
  const starting = start(context)
  const { close } = closeWithGrace(
    {
      delay: SHUTDOWN_MILLISECONDS_MAX,
      logger: false,
      skip: [...END_SIGNALS],
      onTimeout: () => logger.fatal('the shutdown timed out; open work is cut off'),
    },
    async ({ err }) => {
      if (err) logger.fatal({ err }, 'the program stops after an unexpected error')
      const running = await starting.catch(fail)
      await running.close().catch(error => {
        logger.error({ err: error }, 'the shutdown was not clean')
        isFatal = true
      })
      // With this exit code a supervisor starts the program again.
      if (isFatal) process.exit(1)
    },
  )
  let signaledAt: number | null = null
  for (const signal of END_SIGNALS) {
    process.on(signal, () => {
      const now = performance.now()
      // The time of the shutdown begins after a start, which takes longer on a slow machine.
      if (signaledAt === null) void starting.then(() => close(), fail)
      else if (now - signaledAt >= SAME_SIGNAL_MILLISECONDS) process.exit(1)
      signaledAt ??= now
    })
  }
  await starting.catch(fail)
  flushCodeCache()
}

function fail(error: unknown): never {
  process.stderr.write(`${formatFailure(error)}\n`)
  process.exit(1)
}
