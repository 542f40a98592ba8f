import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { allocateStreamSlots } from '../../dashboard/live/stream-limit.ts'
import { allocateLimitMemory } from '../../runtime/http/request-limits.ts'
import { countHttpWorkers, divideConnections } from '../../runtime/settings/read-settings.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import type { CredentialKeys } from '../../runtime/util/sealed-credential.ts'
import { allocateChangeCounter } from '../../signals/delivery/destination-store.ts'
import { verifyErasureKey } from '../../signals/erasure/erasure-store.ts'
import { type MetricsSnapshot, mergeEndedThread } from '../metrics/metrics-registry.ts'
import { loadContractKeys } from '../provisioning/installation-keys.ts'
import type { HttpWorkerConfig } from './http-worker-messages.ts'
import { HttpWorker, type HttpWorkerListeners } from './http-worker-supervisor.ts'
import type { Store } from './open-store.ts'
import type { RoleContext } from './role.ts'
import { createListenError } from './role.ts'
import type { HttpService } from './start-http.ts'

/**
 * Starts threads for the HTTP workers, which load the program while the caller opens the store.
 * Null where the main thread serves HTTP.
 */
export async function prepareHttpWorkers(
  context: RoleContext,
  role: 'all' | 'serve',
): Promise<HttpWorkers | null> {
  const { settings, logger } = context
  const canReusePort = await isPortReusable()
  const cores = availableParallelism()
  const count = countHttpWorkers(settings, { cores, canReusePort })
  const wanted = countHttpWorkers(settings, { cores, canReusePort: true })
  if (count < wanted) {
    logger.info(
      { wanted },
      'this system cannot share a port between threads: one HTTP worker listens',
    )
  }
  return count === 0 ? null : new HttpWorkers(context, { role, count, canReusePort })
}

export interface HttpWorkersOptions extends HttpWorkerListeners {
  store: Store
  credentialKeys: CredentialKeys
  simulatorUrl: string | null
}

interface HttpWorkerPool {
  role: string
  count: number
  canReusePort: boolean
}

/**
 * The HTTP workers of one process (docs/decisions/0021). All of them listen on the same port, and
 * the system distributes connections among them. A worker that ends is restarted; the others
 * continue.
 */
export class HttpWorkers {
  readonly #context: RoleContext
  readonly #pool: HttpWorkerPool
  readonly #workers: HttpWorker[]
  #ended: Promise<MetricsSnapshot> = Promise.resolve([])

  constructor(context: RoleContext, pool: HttpWorkerPool) {
    this.#context = context
    this.#pool = pool
    const onEnded = (last: MetricsSnapshot) => {
      this.#ended = this.#ended.then(ended => mergeEndedThread(ended, last))
    }
    const { logger } = context
    this.#workers = Array.from(
      { length: pool.count },
      (_, index) => new HttpWorker({ id: index + 1, logger, onEnded }),
    )
  }

  /** Starts to listen. Throws what `startHttp` throws. */
  async start(options: HttpWorkersOptions): Promise<HttpService> {
    const { settings } = this.#context
    // Created here once, so that the workers do not all create them.
    await loadContractKeys(settings)
    await verifyErasureKey(options.store.database, options.credentialKeys)
    const port = await reservePort(settings, this.#pool)
    try {
      const configs = this.#createConfigs(options, port)
      await Promise.all(this.#workers.map((worker, index) => worker.start(configs(index), options)))
    } finally {
      await port.release()
    }
    return {
      origin: this.#workers[0]?.origin ?? '',
      markReady: async () => {
        await Promise.all(this.#workers.map(worker => worker.markReady()))
      },
      close: this.close,
    }
  }

  #createConfigs({ store, simulatorUrl, circuits }: HttpWorkersOptions, port: ReservedPort) {
    const { settings } = this.#context
    const { role, count } = this.#pool
    const share = {
      port: port.number,
      databaseConnectionsMax: divideConnections(settings.databaseConnectionsMax, count),
      ingestQueueMax: Math.ceil(settings.ingestQueueMax / count),
    }
    const shared = { limits: allocateLimitMemory(), destinationChanges: allocateChangeCounter() }
    const memory = allocateStreamSlots()
    return (index: number): HttpWorkerConfig => ({
      id: index + 1,
      role,
      settings: { ...settings, ...share },
      connectionString: store.connectionString,
      simulatorUrl,
      isDelivering: circuits !== undefined,
      reusePort: port.isShared,
      shared: { ...shared, streamSlots: { memory, index } },
    })
  }

  /** The metrics of all workers, including those that ended. */
  snapshots = async (): Promise<MetricsSnapshot[]> => {
    const running = await Promise.all(this.#workers.map(worker => worker.snapshot()))
    return [...running, await this.#ended]
  }

  /** Every worker answers open requests, commits accepted events, and ends. */
  close = async (): Promise<void> => {
    const endings = await Promise.allSettled(this.#workers.map(worker => worker.close()))
    const failures = endings.flatMap(ending => (ending.status === 'rejected' ? ending.reason : []))
    if (failures.length > 0)
      throw new AggregateError(failures, 'an HTTP worker did not end cleanly')
  }
}

interface ReservedPort {
  number: number
  /** The workers have to listen with `reusePort`. */
  isShared: boolean
  /** To be called when the workers listen. */
  release(): Promise<void>
}

/**
 * A port that no other program listens on. Workers that share a port would also share it with
 * another program of the same user, so a fixed port is tried without `reusePort` first. A free one
 * (PORT=0) stays reserved until the workers listen: they take up to seconds to start, and another
 * program could be given the same port in the meantime.
 */
async function reservePort(
  { host, port }: Settings,
  { count, canReusePort }: HttpWorkerPool,
): Promise<ReservedPort> {
  const isReserved = port === 0 && canReusePort
  const server = createServer(socket => socket.destroy())
  const release = async () => {
    if (server.listening) await new Promise(resolve => server.close(resolve))
  }
  try {
    server.listen({ host, port, reusePort: isReserved })
    await once(server, 'listening')
  } catch (cause) {
    const variables = { host: 'HOST', port: 'PORT' } as const
    throw createListenError(cause, { host, port, variables })
  }
  const { port: number } = server.address() as AddressInfo
  if (!isReserved) await release()
  return { number, isShared: isReserved || count > 1, release }
}

/** Linux, FreeBSD and a few others; not macOS and not Windows. */
async function isPortReusable(): Promise<boolean> {
  const server = createServer()
  try {
    server.listen({ host: '127.0.0.1', port: 0, reusePort: true })
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    await new Promise(resolve => server.close(resolve))
  }
}
