import { parentPort } from 'node:worker_threads'
import { openDatabase } from '../../runtime/db/database.ts'
import { openStoreNodes } from '../../runtime/db/store-nodes.ts'
import { createLogger, openLogStream } from '../../runtime/http/logger.ts'
import { monotonicSeconds } from '../../runtime/util/time.ts'
import type { CircuitCounts } from '../../signals/delivery/circuit-breaker.ts'
import { listAddresses } from '../../signals/platforms/plug-ins.ts'
import { registerConnectionMetrics } from '../metrics/database-metrics.ts'
import { registerDestinationMetrics, withPlatformMetrics } from '../metrics/delivery-metrics.ts'
import { createMetricsRegistry, takeMetricsSnapshot } from '../metrics/metrics-registry.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { flushCodeCache } from './compile-cache.ts'
import {
  type HttpWorkerConfig,
  type MessageFromWorker,
  type MessageToWorker,
  PendingRequests,
} from './http-worker-messages.ts'
import { closeAll, type RoleContext, releaseStartMemory } from './role.ts'
import { createDeliveryContext, platformsOf } from './start-delivery.ts'
import { type HttpService, startHttp } from './start-http.ts'
import { startTracing } from './start-observability.ts'

/**
 * One HTTP worker: a thread with its own connection pool, group commit and metrics. It is loaded
 * while the main thread opens the store, and starts on a message (`http-workers.ts`). An uncaught
 * error ends this thread only.
 */
const port = parentPort
if (!port) throw new Error('http-worker.ts runs as a worker thread only')
const send = (message: MessageFromWorker) => port.postMessage(message)

const registry = createMetricsRegistry()
const circuitRequests = new PendingRequests<CircuitCounts>()
let running: { service: HttpService; close: () => Promise<void> } | null = null

port.on('message', async (message: MessageToWorker) => {
  switch (message.kind) {
    case 'start':
      running = await start(message.config)
      send({ kind: 'listening', origin: running.service.origin })
      break
    case 'ready':
      await releaseStartMemory()
      await running?.service.markReady()
      send({ kind: 'ready' })
      break
    case 'metrics':
      send({ ...message, snapshot: await takeMetricsSnapshot(registry) })
      break
    case 'circuits':
      circuitRequests.resolve(message.requestId, message.counts)
      break
    case 'close':
      await running?.close()
      process.exit()
  }
})

flushCodeCache()

async function start(config: HttpWorkerConfig) {
  const { settings, connectionString, role, id } = config
  const context = await createWorkerContext(config)
  const options = {
    connectionString,
    connectionsMax: settings.databaseConnectionsMax,
    applicationName: `signalbox ${role} ${id}`,
    onIdleError: (err: Error) => context.logger.warn({ err }, 'a database connection failed'),
    monotonicSeconds,
  }
  const database = openDatabase(options)
  const nodes = await openStoreNodes(database, options)
  registerConnectionMetrics(registry, database.pool)
  const keys = loadCredentialKeys(context.settings)
  const platforms = withPlatformMetrics(registry, platformsOf(context, config.simulatorUrl))
  const onMoved = registerDestinationMetrics(registry)
  const tracer = await startTracing(context, role)
  const deliveryOptions = { platforms, credentialKeys: keys, onMoved, tracer }
  const circuits = () => circuitRequests.send(requestId => send({ kind: 'circuits', requestId }))
  const service = await startHttp(context, {
    database,
    connectionString: config.connectionString,
    nodes,
    platforms,
    delivery:
      config.simulatorUrl !== null || listAddresses(settings).length > 0
        ? createDeliveryContext(context, { database }, deliveryOptions)
        : null,
    credentialKeys: keys,
    onPlanned: () => config.isDelivering && send({ kind: 'planned' }),
    registry,
    tracer,
    reusePort: config.reusePort,
    shared: config.shared,
    ...(config.isDelivering && { circuits }),
  })
  const closeTracer = async () => tracer?.close()
  const closers = [closeTracer, database.close, () => nodes.close(), service.close]
  return { service, close: () => closeAll(closers) }
}

async function createWorkerContext({ settings, id }: HttpWorkerConfig): Promise<RoleContext> {
  const stream = await openLogStream(settings.logFormat)
  return {
    settings,
    logger: createLogger(settings.logLevel, stream).child({ worker: id }),
    now: () => new Date(),
    // The main thread talks to the operator and ends the program.
    printStatus: () => {},
    printOutput: () => {},
    standardInput: process.stdin,
    onFatal: sentence => {
      throw new Error(sentence)
    },
  }
}
