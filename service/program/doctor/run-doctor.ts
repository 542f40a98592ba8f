import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findRunningEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { EmbeddedPostgresError } from '@signalbox/embedded-postgres/embedded-postgres-error.ts'
import type { Database } from '../../runtime/db/database.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { createPlatforms } from '../../signals/platforms/registry.ts'
import { checkDelivery } from './delivery-checks.ts'
import { type DoctorContext, error, type Finding, ok, skipped, warning } from './finding.ts'
import { checkCredentials, checkNetwork, checkPlatform } from './network-checks.ts'
import { checkSettings } from './settings-checks.ts'
import { checkStore, openForReading } from './store-checks.ts'

/** Explains why a connection failed, in one sentence without the password. */
export type ExplainConnectionError = (databaseUrl: string, cause: unknown) => string

/**
 * Examines an installation for the most likely misconfigurations. Reads only: it creates no file,
 * no key and no row, and sends no event and no email. It may run while the service runs or not.
 */
export async function runDoctor(
  context: DoctorContext,
  explainConnectionError: ExplainConnectionError,
): Promise<Finding[]> {
  return [
    ...checkSettings(context.settings),
    ...checkDataFolder(context.settings),
    ...(await checkNetwork(context)),
    ...(await checkPlatform(context)),
    ...(await examineStore(context, explainConnectionError)),
  ]
}

const CHECK = 'store.reachable'

async function examineStore(
  context: DoctorContext,
  explainConnectionError: ExplainConnectionError,
): Promise<Finding[]> {
  const { databaseUrl, dataDirectory } = context.settings
  const found = databaseUrl ?? (await findEmbedded(dataDirectory))
  if (typeof found !== 'string') return [found]
  const database = openForReading(found)
  try {
    await database.ping()
    return await examineOpenStore(context, database)
  } catch (failure) {
    const isAway = (failure as { code?: unknown }).code !== undefined
    if (!isAway) throw failure
    const message = explainConnectionError(found, failure)
    return [error(CHECK, message, 'Start PostgreSQL, or correct DATABASE_URL.')]
  } finally {
    await database.close()
  }
}

async function examineOpenStore(context: DoctorContext, database: Database): Promise<Finding[]> {
  const store = await checkStore(context, database)
  if (store.server === null) {
    const message = 'Keys, destinations, workers and jobs need a current schema.'
    return [...store.findings, skipped('delivery.destinations', message)]
  }
  const delivery = await checkDelivery(context, database, store.server)
  return [
    ...store.findings,
    ...delivery.findings,
    await checkLiveCredentials(context, delivery.opened),
  ]
}

const TIMEOUT_MILLISECONDS = 5_000

async function checkLiveCredentials(
  context: DoctorContext,
  opened: Parameters<typeof checkCredentials>[2],
): Promise<Finding> {
  const { settings, now } = context
  const { platformUrl: baseUrl, platformVersion: version } = settings
  if (baseUrl === undefined) return skipped('platform.credentials', 'No platform is set.')
  const options = { baseUrl, version, now, timeoutMilliseconds: TIMEOUT_MILLISECONDS }
  return checkCredentials(context, createPlatforms(options), opened)
}

/** The address of the embedded server, or why there is none. */
async function findEmbedded(dataDirectory: string): Promise<string | Finding> {
  try {
    const running = await findRunningEmbeddedPostgres(dataDirectory)
    if (running !== null) return running
    const message = `The embedded PostgreSQL of ${dataDirectory} does not run.`
    return warning(
      CHECK,
      message,
      'Run "signalbox-server all", or set DATABASE_URL; then run this again.',
    )
  } catch (failure) {
    if (!(failure instanceof EmbeddedPostgresError)) throw failure
    return error(CHECK, failure.message, 'Follow the sentence above; the data itself is untouched.')
  }
}

/** The folder with the generated secrets and, without `DATABASE_URL`, the store. */
function checkDataFolder({ dataDirectory }: Pick<Settings, 'dataDirectory'>): Finding[] {
  return [
    checkWritable(dataDirectory),
    checkPermissions(dataDirectory),
    checkFreeSpace(dataDirectory),
  ]
}

function checkWritable(folder: string): Finding {
  const check = 'data_folder.writable'
  const existing = nearestExisting(folder)
  try {
    if (!statSync(existing).isDirectory()) throw new Error('not a folder')
    accessSync(existing, constants.W_OK | constants.X_OK)
  } catch {
    return error(
      check,
      `This account cannot write the data folder ${folder}.`,
      'Let the account of the service write it, or set SIGNALBOX_DATA_DIR to another folder.',
    )
  }
  if (existing !== folder) return ok(check, `The first start creates the data folder ${folder}.`)
  return ok(check, `The data folder is ${folder}.`)
}

const SECRETS = ['credentials.json', 'credential-key', 'contract-key', 'outbox']
const OTHERS = 0o077

/** The files hold keys, and emails of the outbox hold links that open accounts. */
function checkPermissions(folder: string): Finding {
  const check = 'data_folder.permissions'
  const open = SECRETS.map(name => join(folder, name)).filter(
    path => existsSync(path) && (statSync(path).mode & OTHERS) !== 0,
  )
  if (open.length === 0) return ok(check, 'Only their owner can read the secrets of the folder.')
  return error(
    check,
    `Other accounts of this machine may read secrets: ${open.join(', ')}.`,
    `Run chmod go= on them, and replace the secrets if other people use this machine.`,
  )
}

const MEGABYTE = 1_048_576
const FREE_MEGABYTES = { error: 256, warning: 2_048 }
const FREE_PERCENT_WARNING = 10

function checkFreeSpace(folder: string): Finding {
  const check = 'data_folder.disk'
  const { blocks, bavail, bsize } = statfsSync(nearestExisting(folder))
  if (blocks === 0) return skipped(check, 'This file system does not say how much is free.')
  const megabytes = Math.floor((bavail * bsize) / MEGABYTE)
  const percent = Math.floor((100 * bavail) / blocks)
  const message = `${megabytes} MB are free on the disk of the data folder (${percent} %).`
  const fix = 'Free space, or move the data folder to a larger disk while the service is stopped.'
  if (megabytes < FREE_MEGABYTES.error) return error(check, message, fix)
  const isLow = megabytes < FREE_MEGABYTES.warning || percent < FREE_PERCENT_WARNING
  return isLow ? warning(check, message, fix) : ok(check, message)
}

/** The folder itself, or the one above it that the first start would create it in. */
function nearestExisting(path: string): string {
  let existing = path
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing)
  return existing
}
