import { parentPort } from 'node:worker_threads'
import { openDatabase } from '../db/database.ts'
import { openStoreNodes } from '../db/store-nodes.ts'
import type { CircuitCounts } from '../delivery/circuit-breaker.ts'
import { createLogger } from '../http/logger.ts'
import { registerConnectionMetrics } from '../metrics/database-metrics.ts'
import { registerDestinationMetrics, withPlatformMetrics } from '../metrics/delivery-metrics.ts'
import { createMetricsRegistry, takeMetricsSnapshot } from '../metrics/metrics-registry.ts'
import { loadCredentialKeys } from '../provisioning/installation-keys.ts'
import { monotonicSeconds } from '../util/monotonic-clock.ts'
import {
  type HttpWorkerConfig,
  type MessageFromWorker,
  type MessageToWorker,
  PendingRequests,
} from './http-worker-messages.ts'
import { closeAll, type RoleContext } from './role.ts'
import { createDeliveryContext, platformsOf } from './start-delivery.ts'
import { type HttpService, startHttp } from './start-http.ts'

/**
 * One HTTP worker: a thread that serves beside others, with a store connection pool, a group commit
 * and figures of its own. It is loaded while the main thread opens the store, and starts when it is
 * told to (`http-workers.ts`). What it does not catch ends this thread alone.
 */
const port = parentPort
if (!port) throw new Error('http-worker.ts runs as a worker thread only')
const send = (message: MessageFromWorker) => port.postMessage(message)

const registry = createMetricsRegistry()
const circuitQuestions = new PendingRequests<CircuitCounts>()
let running: { service: HttpService; close: () => Promise<void> } | null = null

port.on('message', async (message: MessageToWorker) => {
  switch (message.kind) {
    case 'start':
      running = await start(message.order)
      send({ kind: 'listening', origin: running.service.origin })
      break
    case 'ready':
      running?.service.markReady()
      break
    case 'metrics':
      send({ ...message, snapshot: await takeMetricsSnapshot(registry) })
      break
    case 'circuits':
      circuitQuestions.answer(message.question, message.counts)
      break
    case 'close':
      await running?.close()
      process.exit()
  }
})

async function start(order: HttpWorkerConfig) {
  const { settings, connectionString, role, id } = order
  const context = workerContext(order)
  const store = {
    connectionString,
    connectionsMax: settings.databaseConnectionsMax,
    applicationName: `signalbox ${role} ${id}`,
    onIdleError: (err: Error) => context.logger.warn({ err }, 'a store connection broke'),
    monotonicSeconds,
  }
  const database = openDatabase(store)
  const nodes = await openStoreNodes(database, store)
  registerConnectionMetrics(registry, database.pool)
  const keys = loadCredentialKeys(context.settings)
  const platforms = withPlatformMetrics(registry, platformsOf(context, order.platformUrl))
  const onMoved = registerDestinationMetrics(registry)
  const sending = { platforms, credentialKeys: keys, onMoved }
  const circuits = () => circuitQuestions.send(question => send({ kind: 'circuits', question }))
  const service = await startHttp(context, {
    database,
    nodes,
    platforms,
    delivery: order.platformUrl ? createDeliveryContext(context, { database }, sending) : null,
    credentialKeys: keys,
    onPlanned: () => order.isDelivering && send({ kind: 'planned' }),
    registry,
    reusePort: order.reusePort,
    shared: order.shared,
    ...(order.isDelivering && { circuits }),
  })
  return { service, close: () => closeAll([database.close, () => nodes.close(), service.close]) }
}

function workerContext({ settings, id }: HttpWorkerConfig): RoleContext {
  return {
    settings,
    logger: createLogger(settings.logLevel).child({ worker: id }),
    now: () => new Date(),
    // Words for a person and the end of the program are the main thread's.
    printStatus: () => {},
    printOutput: () => {},
    onFatal: sentence => {
      throw new Error(sentence)
    },
  }
}
