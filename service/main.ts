import closeWithGrace from 'close-with-grace'
import { EmbeddedPostgresError } from './db/embedded-postgres-error.ts'
import { SchemaError } from './db/migrate.ts'
import { CredentialsFileError } from './provisioning/credentials-file.ts'
import type { RoleContext, RunningRole } from './roles/role.ts'
import { runAll } from './roles/run-all.ts'
import { runDeliver } from './roles/run-deliver.ts'
import { runMigrate } from './roles/run-migrate.ts'
import { runProvision } from './roles/run-provision.ts'
import { runServe } from './roles/run-serve.ts'
import { serviceLog } from './roles/service-log.ts'
import { StartError } from './roles/start-error.ts'
import { readSettings, SettingsError } from './settings/read-settings.ts'

const SHUTDOWN_MILLISECONDS_MAX = 30_000

/** One program, several roles; `all` runs everything that one machine needs. */
const RUNNING_ROLES: Record<string, (context: RoleContext) => Promise<RunningRole>> = {
  all: runAll,
  serve: runServe,
  deliver: runDeliver,
}
const ONE_OFF_ROLES: Record<string, (context: RoleContext, rest: string[]) => Promise<void>> = {
  migrate: runMigrate,
  provision: runProvision,
}

const [role = 'all', ...rest] = process.argv.slice(2)
try {
  await run(role, rest)
} catch (error) {
  process.stderr.write(`${sentenceOf(error)}\n`)
  process.exit(1)
}

let isFatal = false

async function run(name: string, rest: string[]): Promise<void> {
  const settings = readSettings(process.env)
  const logger = serviceLog(settings.logLevel)
  for (const warning of settings.warnings) logger.warn(warning)
  const context: RoleContext = {
    settings,
    logger,
    now: () => new Date(),
    tell: text => process.stderr.write(text),
    onFatal: sentence => {
      logger.fatal(sentence)
      isFatal = true
      process.kill(process.pid, 'SIGTERM')
    },
  }
  const oneOff = ONE_OFF_ROLES[name]
  if (oneOff) return oneOff(context, rest)

  const start = RUNNING_ROLES[name]
  if (!start) {
    const known = [...Object.keys(RUNNING_ROLES), ...Object.keys(ONE_OFF_ROLES)].join(', ')
    throw new StartError(`There is no role ${name}; use one of ${known}.`)
  }
  // A signal during the start waits for its end, so that nothing half-open is left behind.
  const starting = start(context)
  const grace = closeWithGrace(
    { delay: SHUTDOWN_MILLISECONDS_MAX, logger: false },
    async ({ err }) => {
      if (err) logger.fatal({ err }, 'the program stops on an error')
      const running = await starting.catch(() => null)
      await running?.close()
      // A supervisor starts a program again that did not end well.
      if (isFatal) process.exit(1)
    },
  )
  await starting.catch(error => {
    grace.uninstall()
    throw error
  })
}

/** Expected troubles are one sentence; a bug shows where it is. */
function sentenceOf(error: unknown): string {
  const isExpected =
    error instanceof SettingsError ||
    error instanceof StartError ||
    error instanceof SchemaError ||
    error instanceof EmbeddedPostgresError ||
    error instanceof CredentialsFileError
  if (isExpected) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
