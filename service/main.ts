import closeWithGrace from 'close-with-grace'
import { EmbeddedPostgresError } from './db/embedded-postgres-error.ts'
import { SchemaError } from './db/migrate.ts'
import { ErasureKeyError } from './erasure/erasure-key.ts'
import type { ServiceLogger } from './http/service-app.ts'
import { ContractKeyError } from './provisioning/contract-key.ts'
import { CredentialKeyError } from './provisioning/credential-key.ts'
import { CredentialsFileError } from './provisioning/credentials-file.ts'
import { PlatformTokenError } from './provisioning/read-platform-token.ts'
import type { RoleContext, RunningRole } from './roles/role.ts'
import { runAll } from './roles/run-all.ts'
import { runClient } from './roles/run-client.ts'
import { runCredential } from './roles/run-credential.ts'
import { runDeliver } from './roles/run-deliver.ts'
import { runKey } from './roles/run-key.ts'
import { runMigrate } from './roles/run-migrate.ts'
import { runPeople } from './roles/run-people.ts'
import { runProvision } from './roles/run-provision.ts'
import { runReport } from './roles/run-report.ts'
import { runServe } from './roles/run-serve.ts'
import { serviceLog } from './roles/service-log.ts'
import { refuseArguments, StartError } from './roles/start-error.ts'
import { readSettings, SettingsError } from './settings/read-settings.ts'

const SHUTDOWN_MILLISECONDS_MAX = 30_000

/** One program, several roles; `all` runs everything that one machine needs. */
const RUNNING_ROLES = new Map<string, (context: RoleContext) => Promise<RunningRole>>([
  ['all', runAll],
  ['serve', runServe],
  ['deliver', runDeliver],
])
const ONE_OFF_ROLES = new Map<string, (context: RoleContext, rest: string[]) => Promise<void>>([
  ['migrate', runMigrate],
  ['provision', runProvision],
  ['credential', runCredential],
  ['key', runKey],
  ['client', runClient],
  ['people', runPeople],
  ['report', runReport],
])

let isFatal = false

const [role = 'all', ...rest] = process.argv.slice(2)
await run(role, rest).catch(fail)

async function run(name: string, rest: string[]): Promise<void> {
  const settings = readSettings(process.env)
  const logger = serviceLog(settings.logLevel)
  for (const warning of settings.warnings) logger.warn(warning)
  const context: RoleContext = {
    settings,
    logger,
    now: () => new Date(),
    tell: text => process.stderr.write(text),
    print: text => process.stdout.write(text),
    onFatal: sentence => {
      logger.fatal(sentence)
      if (isFatal) return
      isFatal = true
      process.kill(process.pid, 'SIGTERM')
    },
  }
  const oneOff = ONE_OFF_ROLES.get(name)
  const start = RUNNING_ROLES.get(name)
  if (oneOff) return oneOff(context, rest)
  if (start) {
    refuseArguments(name, rest)
    return runUntilSignal(start(context), logger)
  }
  const known = [...RUNNING_ROLES.keys(), ...ONE_OFF_ROLES.keys()].join(', ')
  throw new StartError(`There is no role ${name}; use one of ${known}.`)
}

/** A signal during the start waits for its end, so that nothing half-open is left behind. */
async function runUntilSignal(starting: Promise<RunningRole>, logger: ServiceLogger) {
  closeWithGrace(
    {
      delay: SHUTDOWN_MILLISECONDS_MAX,
      logger: false,
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
  await starting.catch(fail)
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
    error instanceof PlatformTokenError
  if (isExpected) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
