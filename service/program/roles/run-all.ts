import { join } from 'node:path'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { EmbeddedPostgres } from '@signalbox/embedded-postgres'
import type { GivenVariable, Settings } from '../../runtime/settings/settings.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { listAddresses } from '../../signals/platforms/plug-ins.ts'
import type { PlatformRegistry } from '../../signals/platforms/registry.ts'
import { outboxFolder } from '../../workspaces/users/mail/client.ts'
import { registerDestinationMetrics, withPlatformMetrics } from '../metrics/delivery-metrics.ts'
import { loadStoreKeys } from '../provisioning/installation-keys.ts'
import { provisionDemo } from '../provisioning/provision-demo.ts'
import { checkAuthAdapter } from './http-worker-supervisor.ts'
import { type HttpWorkers, prepareHttpWorkers } from './http-workers.ts'
import { migrateStore } from './migrate-command.ts'
import { openStore, type Store } from './open-store.ts'
import { closeAll, type RoleContext, type RunningRole, releaseStartMemory } from './role.ts'
import { startSimulatorProcess } from './simulator-process.ts'
import {
  createDeliveryContext,
  platformsOf,
  preparePartitions,
  startDelivery,
} from './start-delivery.ts'
import type { HttpService } from './start-http.ts'
import { startJobs } from './start-jobs.ts'
import { type RunningMetrics, startMetrics, startTracing } from './start-observability.ts'

/**
 * `npm start`: the store and its migrations, the HTTP service, a delivery worker, the jobs and,
 * unless a platform has an address, the simulator. An empty store of its own, or one whose
 * operator asks for it, gets a demo tracker.
 */
export async function runAll(context: RoleContext): Promise<RunningRole> {
  const { settings, logger, now } = context
  const closers: (() => Promise<void>)[] = []
  const adapterCheck = checkAuthAdapter()
  // Awaited below, unless the start fails before.
  adapterCheck.catch(() => {})
  try {
    const workers = await prepareHttpWorkers(context, 'all')
    if (workers) closers.push(workers.close)
    const store = await openStore({ settings, logger, role: 'all', embedded: 'start' })
    closers.push(store.close)
    store.embedded?.exited.then(context.onFatal)
    warnOfBundledPostgres(context, store)
    const metrics = await startMetrics(context, store)
    closers.push(metrics.close)
    await adapterCheck
    await migrateStore(context, store)
    await preparePartitions(store, context)

    const simulator = await startSimulator(context)
    if (simulator) closers.push(simulator.stop)
    simulator?.exited.then(context.onFatal)
    const simulatorUrl = simulator?.url ?? null
    const platforms = withPlatformMetrics(metrics.registry, platformsOf(context, simulatorUrl))
    const keys = await loadStoreKeys(settings, store.database)

    const common = { platforms, simulatorUrl, metrics, workers, closers }
    const dependencies = { ...common, credentialKeys: keys }
    const service = await startServiceAndWorker(context, store, dependencies)
    const credentialsPath = join(settings.dataDirectory, 'credentials.json')
    const hasCredentials = await provisionDemo(store.database, {
      path: credentialsPath,
      baseUrl: `${service.origin}${BASE_PATH}`,
      simulatorUrl: simulator?.url ?? null,
      at: now(),
      credentialKeys: keys,
      logger: context.logger,
      isOwnDatabase: store.embedded !== null,
      demo: settings.demo,
    })
    await releaseStartMemory()
    await service.markReady()
    context.printStatus(
      formatStartSummary({
        origin: service.origin,
        store: formatStore(settings, store),
        metricsUrl: metrics.url,
        platform: formatPlatform(settings, simulatorUrl),
        outboxFolder: findOutboxFolder(settings),
        credentialsPath: hasCredentials ? credentialsPath : null,
        at: now(),
        given: settings.given,
      }),
    )
    return { close: () => closeAll(closers) }
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}

/**
 * The PostgreSQL from npm gets security fixes later than that of an operating system, so it is for
 * trying and development.
 */
export function warnOfBundledPostgres(
  {
    settings: { publicOrigin, postgresBinariesFolder },
    logger,
  }: {
    settings: Pick<Settings, 'publicOrigin' | 'postgresBinariesFolder'>
    logger: Pick<RoleContext['logger'], 'warn'>
  },
  { embedded }: { embedded: Pick<EmbeddedPostgres, 'version'> | null },
): void {
  if (!embedded || postgresBinariesFolder !== undefined || publicOrigin === undefined) return
  if (LOOPBACK_HOST.test(new URL(publicOrigin).hostname)) return
  logger.warn(
    { postgres: embedded.version, public_origin: publicOrigin },
    'the PostgreSQL from npm serves a public origin without current security fixes: set ' +
      'DATABASE_URL, or SIGNALBOX_POSTGRES_BIN to a maintained PostgreSQL 18',
  )
}

const LOOPBACK_HOST = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/

interface ServiceDependencies {
  platforms: PlatformRegistry
  simulatorUrl: string | null
  credentialKeys: CredentialKeys
  metrics: RunningMetrics
  /** Null where the main thread serves HTTP. */
  workers: HttpWorkers | null
  closers: (() => Promise<void>)[]
}

/** The delivery worker first: the service wakes it, and shows the state of its circuits. */
async function startServiceAndWorker(
  context: RoleContext,
  store: Store,
  { platforms, simulatorUrl, credentialKeys, metrics, workers, closers }: ServiceDependencies,
): Promise<HttpService> {
  const { registry } = metrics
  const tracer = await startTracing(context, 'all')
  if (tracer) closers.push(tracer.close)
  const onMoved = registerDestinationMetrics(registry)
  const options = { platforms, credentialKeys, onMoved, tracer }
  const worker = await startDelivery(context, store, { ...options, registry })
  closers.push(worker.stop)
  const delivery = createDeliveryContext(context, store, options)
  closers.push(startJobs(context, store, { registry, delivery }).stop)
  const { wake: onPlanned, countCircuits: circuits } = worker
  if (workers) {
    metrics.addWorkerSnapshots(workers.snapshots)
    const service = await workers.start({
      store,
      credentialKeys,
      simulatorUrl,
      onPlanned,
      circuits,
    })
    closers.push(service.close)
    return service
  }
  const { database, connectionString, nodes } = store
  const { startHttp } = await import('./start-http.ts')
  const service = await startHttp(context, {
    database,
    connectionString,
    nodes,
    platforms,
    delivery,
    credentialKeys,
    onPlanned,
    circuits,
    registry,
    tracer,
  })
  closers.push(service.close)
  return service
}

async function startSimulator({ settings, logger }: RoleContext) {
  if (listAddresses(settings).length > 0) return null
  const nextPort = settings.port === 0 ? 0 : settings.port + 1
  return startSimulatorProcess(settings.simulatorPort || nextPort, logger)
}

function formatStore(settings: Settings, { embedded }: Store): string {
  if (!embedded) return 'PostgreSQL at DATABASE_URL'
  const origin = embedded.isAdopted ? 'adopted from an earlier run' : 'started'
  return `embedded PostgreSQL in ${settings.dataDirectory} (${origin})`
}

function formatPlatform(settings: Settings, simulatorUrl: string | null): string {
  if (simulatorUrl !== null) return `simulator at ${simulatorUrl}`
  return listAddresses(settings)
    .map(({ url }) => url)
    .join(', ')
}

/** Null where a mail server sends emails. */
function findOutboxFolder({ mailUrl, dataDirectory }: Settings): string | null {
  return mailUrl === undefined ? outboxFolder(dataDirectory) : null
}

export interface StartSummary {
  origin: string
  store: string
  platform: string
  metricsUrl: string
  /** Null where a mail server sends emails. */
  outboxFolder: string | null
  /** Null without a demo: the store has other trackers, or none yet. */
  credentialsPath: string | null
  /** The consent time of the example purchase. */
  at: Date
  given: readonly GivenVariable[]
}

/** The banner of a service that is ready. Of a secret it shows only that it is set. */
export function formatStartSummary(summary: StartSummary): string {
  const { origin, credentialsPath, outboxFolder, given } = summary
  const emails = outboxFolder ? `written to ${outboxFolder}` : 'sent by SIGNALBOX_MAIL_URL'
  const lines = [
    `Signalbox is ready at ${origin}`,
    '',
    `  dashboard    ${origin}/`,
    `  credentials  ${credentialsPath ?? NO_CREDENTIALS}`,
    `  store        ${summary.store}`,
    `  platform     ${summary.platform}`,
    `  metrics      ${summary.metricsUrl}`,
    `  emails       ${emails}`,
  ]
  if (given.length > 0) lines.push(`  settings     ${formatSettings(given)}`)
  if (credentialsPath !== null) {
    lines.push(
      '',
      formatOwnerHint(origin, credentialsPath),
      '',
      ...formatExampleRequests(summary, credentialsPath),
    )
  }
  return `${lines.join('\n')}\n`
}

const NO_CREDENTIALS = 'none here; "signalbox-server provision --out FILE" creates a tracker'

function formatOwnerHint(origin: string, credentialsPath: string): string {
  const file = `owner_email and owner_password in ${credentialsPath}`
  return `Open ${origin}/ in a browser. The owner signs in with ${file}.`
}

function formatSettings(given: readonly GivenVariable[]): string {
  return given.map(({ variable, value }) => `${variable}=${value ?? '(set)'}`).join(' ')
}

/** To copy and paste: the secret is read from the file, so the shell's history does not show it. */
function formatExampleRequests({ origin, at }: StartSummary, credentialsPath: string): string[] {
  return [
    'Send a first purchase:',
    '',
    `  curl -i ${quoteForShell(`${origin}/api/v1/events`)} \\`,
    `    -H "Authorization: Bearer $(${formatSecretCommand(credentialsPath)})" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d ${quoteForShell(JSON.stringify(buildExamplePurchase(at)))}`,
    '',
    'Then read its deliveries:',
    '',
    `  curl -s ${quoteForShell(`${origin}/api/v1/events/order-1001`)} \\`,
    `    -H "Authorization: Bearer $(${formatSecretCommand(credentialsPath)})"`,
  ]
}

function buildExamplePurchase(at: Date) {
  return {
    event_id: 'order-1001',
    event_name: 'Purchase',
    consent_basis: 'consent',
    consent: { advertising: 'granted', captured_at: at.toISOString() },
    user_data: { em: 'jane@example.com' },
    value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
  }
}

/** sed is installed everywhere; jq is not. */
function formatSecretCommand(path: string): string {
  return `sed -n 's/.*"tracker_secret": "\\(.*\\)".*/\\1/p' ${quoteForShell(path)}`
}

/** A folder name may contain spaces, `$` or a quote. */
function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
