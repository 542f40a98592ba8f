#!/usr/bin/env node
import { EmbeddedPostgresError } from '@signalbox/embedded-postgres/embedded-postgres-error.ts'
import closeWithGrace from 'close-with-grace'
import { HeadCheckpointsError } from './audit/head-checkpoints.ts'
import { SchemaError } from './db/migrate.ts'
import { ErasureKeyError } from './erasure/erasure-key-store.ts'
import { createLogger } from './http/logger.ts'
import type { ServiceLogger } from './http/service-app.ts'
import { CredentialsFileError } from './provisioning/credentials-file.ts'
import { ContractKeyError, CredentialKeyError } from './provisioning/installation-keys.ts'
import { PlatformTokenError } from './provisioning/platform-token.ts'
import { enableCodeCache, flushCodeCache } from './roles/compile-cache.ts'
import { type RoleContext, type RunningRole, refuseArguments, StartError } from './roles/role.ts'
import { readSettings, SettingsError } from './settings/read-settings.ts'

const SHUTDOWN_MILLISECONDS_MAX = 30_000
/**
 * npm hands a signal on that the whole group was sent, so the same one comes twice, 2 to 50 ms
 * apart. Who wants the program to end at once sends a second one later than this.
 */
const SAME_SIGNAL_MILLISECONDS = 1_000
const END_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const

type StartRole = (context: RoleContext) => Promise<RunningRole>
type RunOnce = (context: RoleContext, rest: string[]) => Promise<void>

/**
 * One program, several roles; `all` runs everything that one machine needs. Each is loaded when it
 * is chosen, so that a command does not wait for the libraries of the whole service.
 */
const RUNNING_ROLES = new Map<string, () => Promise<StartRole>>([
  ['all', async () => (await import('./roles/run-all.ts')).runAll],
  ['serve', async () => (await import('./roles/run-serve.ts')).runServe],
  ['deliver', async () => (await import('./roles/run-deliver.ts')).runDeliver],
])
const ONE_OFF_ROLES = new Map<string, () => Promise<RunOnce>>([
  ['migrate', async () => (await import('./roles/migrate-command.ts')).runMigrate],
  ['provision', async () => (await import('./roles/provision-command.ts')).runProvision],
  ['credential', async () => (await import('./roles/credential-command.ts')).runCredential],
  ['key', async () => (await import('./roles/key-command.ts')).runKey],
  ['client', async () => (await import('./roles/client-command.ts')).runClient],
  ['people', async () => (await import('./roles/people-command.ts')).runPeople],
  ['report', async () => (await import('./roles/report-command.ts')).runReport],
  ['audit', async () => (await import('./roles/audit-command.ts')).runAudit],
  ['campaigns', async () => (await import('./roles/campaigns-command.ts')).runCampaigns],
])

let isFatal = false

// The roles are loaded after this.
enableCodeCache()
const [role = 'all', ...rest] = process.argv.slice(2)
await run(role, rest).catch(fail)

async function run(name: string, rest: string[]): Promise<void> {
  const settings = readSettings(process.env)
  const logger = createLogger(settings.logLevel)
  for (const warning of settings.warnings) logger.warn(warning)
  const context: RoleContext = {
    settings,
    logger,
    now: () => new Date(),
    printStatus: text => process.stderr.write(text),
    printOutput: text => process.stdout.write(text),
    onFatal: sentence => {
      logger.fatal(sentence)
      if (isFatal) return
      isFatal = true
      process.kill(process.pid, 'SIGTERM')
    },
  }
  const loadOneOff = ONE_OFF_ROLES.get(name)
  const loadRunning = RUNNING_ROLES.get(name)
  if (loadOneOff) {
    const runOnce = await loadOneOff()
    return runOnce(context, rest)
  }
  if (loadRunning) {
    refuseArguments(name, rest)
    const start = await loadRunning()
    return runUntilSignal(start(context), logger)
  }
  const known = [...RUNNING_ROLES.keys(), ...ONE_OFF_ROLES.keys()].join(', ')
  throw new StartError(`There is no role ${name}; use one of ${known}.`)
}

/** A signal during the start waits for its end, so that nothing half-open is left behind. */
async function runUntilSignal(starting: Promise<RunningRole>, logger: ServiceLogger) {
  const { close } = closeWithGrace(
    {
      delay: SHUTDOWN_MILLISECONDS_MAX,
      logger: false,
      skip: [...END_SIGNALS],
      onTimeout: () => logger.fatal('not everything ended in time; the rest is cut off'),
    },
    async ({ err }) => {
      if (err) logger.fatal({ err }, 'the program stops on an error')
      const running = await starting.catch(fail)
      await running.close().catch(error => {
        logger.error({ err: error }, 'not everything closed cleanly')
        isFatal = true
      })
      // A supervisor starts a program again that did not end well.
      if (isFatal) process.exit(1)
    },
  )
  let signaledAt: number | null = null
  for (const signal of END_SIGNALS) {
    process.on(signal, () => {
      const now = performance.now()
      if (signaledAt === null) void close()
      else if (now - signaledAt >= SAME_SIGNAL_MILLISECONDS) process.exit(1)
      signaledAt ??= now
    })
  }
  await starting.catch(fail)
  flushCodeCache()
}

function fail(error: unknown): never {
  process.stderr.write(`${sentenceOf(error)}\n`)
  process.exit(1)
}

/** Expected troubles are one sentence; a bug shows where it is. */
function sentenceOf(error: unknown): string {
  const isExpected =
    error instanceof SettingsError ||
    error instanceof StartError ||
    error instanceof SchemaError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof ContractKeyError ||
    error instanceof CredentialKeyError ||
    error instanceof ErasureKeyError ||
    error instanceof CredentialsFileError ||
    error instanceof PlatformTokenError ||
    error instanceof HeadCheckpointsError
  if (isExpected) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
