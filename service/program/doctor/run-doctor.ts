import { findRunningEmbeddedPostgres } from '@signalbox/embedded-postgres'
import { EmbeddedPostgresError } from '@signalbox/embedded-postgres/embedded-postgres-error.ts'
import type { Database } from '../../runtime/db/database.ts'
import { createPlatforms } from '../../signals/platforms/registry.ts'
import { checkDataFolder } from './data-folder-checks.ts'
import { checkDelivery } from './delivery-checks.ts'
import { type DoctorContext, error, type Finding, skipped, warning } from './finding.ts'
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
