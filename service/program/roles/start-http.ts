import type { AddressInfo } from 'node:net'
import type { Database } from '../../runtime/db/database.ts'
import { type RunningReplica, startReadReplica } from '../../runtime/db/replica/worker.ts'
import type { StoreNodes } from '../../runtime/db/store-nodes.ts'
import type { Tracer } from '../../runtime/tracing/tracer.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { monotonicSeconds } from '../../runtime/util/time.ts'
import type { CircuitCounts } from '../../signals/delivery/circuit-breaker.ts'
import type { DeliveryContext } from '../../signals/delivery/delivery-context.ts'
import { verifyErasureKey } from '../../signals/erasure/erasure-store.ts'
import type { PlatformRegistry } from '../../signals/platforms/registry.ts'
import { MailQueue } from '../../workspaces/users/mail/mail-queue.ts'
import { registerReplicaMetrics } from '../metrics/database-metrics.ts'
import {
  registerCommitFailureMetrics,
  registerCommitMetrics,
  registerCommitQueueMetrics,
  registerHttpMetrics,
  registerRateLimitMetrics,
} from '../metrics/ingestion-metrics.ts'
import type { MetricsRegistry } from '../metrics/metrics-registry.ts'
import { loadContractKeys } from '../provisioning/installation-keys.ts'
import type { ServerOptions } from '../server/server.ts'
import { createServer } from '../server/server.ts'
import { createEmailTransport } from './email-transport.ts'
import type { RoleContext } from './role.ts'
import { createListenError, formatUrlHost } from './role.ts'

export interface HttpService {
  origin: string
  /** Resolves when `/readyz` answers 200. */
  markReady(): Promise<void>
  /** Answers open requests and commits accepted events; stalled clients are disconnected. */
  close(): Promise<void>
}

/** A body has at most 64 KiB, so one that takes longer will not arrive. */
const DRAIN_TIMEOUT_MILLISECONDS = 5_000

export interface HttpOptions {
  database: Database
  connectionString: string
  nodes: StoreNodes
  platforms: PlatformRegistry
  /** Null where the platform is not known. */
  delivery: DeliveryContext | null
  credentialKeys: CredentialKeys
  onPlanned: () => void
  registry: MetricsRegistry
  tracer: Tracer | null
  /** The state of the circuits; left out where this process delivers nothing. */
  circuits?: () => CircuitCounts | Promise<CircuitCounts>
  /** Other threads of this process listen on the same port. */
  reusePort?: boolean
  /** Memory that they share. */
  shared?: NonNullable<ServerOptions['shared']>
}

/** Starts to listen. Throws a StartError, ContractKeyError or ErasureKeyError when it cannot. */
export async function startHttp(
  context: RoleContext,
  { registry, reusePort = false, ...options }: HttpOptions,
): Promise<HttpService> {
  const { settings, logger, now } = context
  const mailer = createEmailQueue(context)
  await verifyErasureKey(options.database, options.credentialKeys)
  const reads = startReads(context, options.database, registry)
  let origin = settings.publicOrigin ?? ''
  const server = createServer({
    ...options,
    ...(reads && { readDatabase: reads.replica }),
    settings,
    contractKeys: await loadContractKeys(settings),
    logger,
    now,
    publicOrigin: () => origin,
    mailer,
    onAnswered: registerHttpMetrics(registry),
    onCommitted: registerCommitMetrics(registry),
    ...registerRateLimitMetrics(registry),
  })
  registerCommitQueueMetrics(registry, server.commitQueue, settings.ingestQueueMax)
  registerCommitFailureMetrics(registry, server.commitHealth)
  const { host } = settings
  const address = { host, port: settings.port, reusePort }
  try {
    await server.app.listen(address)
  } catch (cause) {
    const variables = { host: 'HOST', port: 'PORT' } as const
    throw createListenError(cause, { host, port: settings.port, variables })
  }
  const { port } = server.app.server.address() as AddressInfo
  origin ||= `http://${formatUrlHost(host)}:${port}`
  const close = async () => {
    const timeout = AbortSignal.timeout(DRAIN_TIMEOUT_MILLISECONDS)
    timeout.addEventListener('abort', () => server.app.server.closeAllConnections())
    await server.close()
    await reads?.close()
    await mailer.drain()
  }
  return { origin, markReady: async () => server.markReady(), close }
}

/** Null without a replica. One that is away is no reason not to start. */
function startReads(
  { settings, logger }: RoleContext,
  database: Database,
  registry: MetricsRegistry,
): RunningReplica | null {
  const { replicaUrl, databaseConnectionsMax, replicaLagSecondsMax } = settings
  let running: RunningReplica | null = null
  const onRead = registerReplicaMetrics(registry, () => running?.replica.lagSeconds ?? null)
  if (replicaUrl === undefined) return null
  const options = {
    connectionString: replicaUrl,
    connectionsMax: databaseConnectionsMax,
    applicationName: 'signalbox reads',
    onIdleError: (err: Error) => logger.warn({ err }, 'a connection to the replica failed'),
  }
  running = startReadReplica(database, options, {
    lagSecondsMax: replicaLagSecondsMax,
    monotonicSeconds,
    onRead,
    onChange: (problem, err) => {
      if (problem === null) logger.info('lists and reports read from the replica')
      else logger.warn({ problem, err }, 'lists and reports read from the primary')
    },
  })
  return running
}

function createEmailQueue(context: RoleContext): MailQueue {
  const onFailure = (code: string) => context.logger.error({ code }, 'an email was not sent')
  return new MailQueue({ transport: createEmailTransport(context), onFailure })
}
