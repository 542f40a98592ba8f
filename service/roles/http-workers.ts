import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { allocateLimitMemory } from '../access/request-limits.ts'
import type { CircuitCounts } from '../delivery/circuit-breaker.ts'
import { allocateChangeCounter } from '../delivery/plan-store.ts'
import type { CredentialKeys } from '../delivery/sealed-credential.ts'
import { verifyErasureKey } from '../erasure/erasure-key-store.ts'
import { type MetricsSnapshot, mergeEndedThread } from '../metrics/metrics-registry.ts'
import { loadContractKeys } from '../provisioning/installation-keys.ts'
import type { Settings } from '../settings/settings.ts'
import type { HttpWorkerConfig } from './http-worker-messages.ts'
import { HttpWorker } from './http-worker-supervisor.ts'
import { createListenError } from './listen-address.ts'
import type { Store } from './open-store.ts'
import type { RoleContext } from './role.ts'
import type { HttpService } from './start-http.ts'

/** Beyond this, more workers only make smaller commits. */
const DEFAULT_MAX = 8
/** What the smallest pool needs: a commit, and reads beside it. */
const CONNECTIONS_MIN = 4

/**
 * How many HTTP workers a role has beside its main thread. 0: everything is one thread, as it is on
 * one core.
 */
export function countHttpWorkers(
  { httpWorkers }: Pick<Settings, 'httpWorkers'>,
  { cores, canReusePort }: { cores: number; canReusePort: boolean },
): number {
  if (cores <= 1) return 0
  const wanted = httpWorkers ?? Math.min(DEFAULT_MAX, Math.max(1, cores - 1))
  return canReusePort ? wanted : Math.min(1, wanted)
}

/**
 * Threads for the HTTP workers, or null where the main thread is to serve by itself. They load the
 * program while the caller opens the store.
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
    logger.info({ wanted }, 'this system cannot share a port between threads: one of them listens')
  }
  return count === 0 ? null : new HttpWorkers(context, role, count)
}

export interface HttpWorkersOptions {
  store: Store
  credentialKeys: CredentialKeys
  platformUrl: string | undefined
  /** Deliveries were planned by some worker. */
  onPlanned: () => void
  /** How the circuits of the main thread are; left out where it delivers nothing. */
  circuits?: () => CircuitCounts
}

/**
 * The HTTP workers of one process (docs/decisions/0021). Each listens on the same port, and the
 * system deals connections out to them. One that ends is started again; the others go on.
 */
export class HttpWorkers {
  readonly #context: RoleContext
  readonly #role: string
  readonly #workers: HttpWorker[]
  #ended: Promise<MetricsSnapshot> = Promise.resolve([])

  constructor(context: RoleContext, role: string, count: number) {
    this.#context = context
    this.#role = role
    const onEnded = (last: MetricsSnapshot) => {
      this.#ended = this.#ended.then(ended => mergeEndedThread(ended, last))
    }
    const { logger } = context
    this.#workers = Array.from(
      { length: count },
      (_, index) => new HttpWorker({ id: index + 1, logger, onEnded }),
    )
  }

  /** Starts to listen. Throws what `startHttp` throws. */
  async start(options: HttpWorkersOptions): Promise<HttpService> {
    const { settings } = this.#context
    // Made here once, not by all workers at once.
    await loadContractKeys(settings)
    await verifyErasureKey(options.store.database, options.credentialKeys)
    const port = await findPort(settings)
    const orders = this.#orders(options, port)
    await Promise.all(this.#workers.map((worker, index) => worker.start(orders(index), options)))
    return {
      origin: this.#workers[0]?.origin ?? '',
      markReady: () => {
        for (const worker of this.#workers) worker.markReady()
      },
      close: this.close,
    }
  }

  #orders({ store, platformUrl, circuits }: HttpWorkersOptions, port: number) {
    const { settings } = this.#context
    const count = this.#workers.length
    const share = {
      port,
      databaseConnectionsMax: divideConnections(settings.databaseConnectionsMax, count),
      ingestQueueMax: Math.ceil(settings.ingestQueueMax / count),
    }
    const shared = { limits: allocateLimitMemory(), destinationChanges: allocateChangeCounter() }
    return (index: number): HttpWorkerConfig => ({
      id: index + 1,
      role: this.#role,
      settings: { ...settings, ...share },
      connectionString: store.connectionString,
      platformUrl,
      isDelivering: circuits !== undefined,
      reusePort: count > 1,
      shared,
    })
  }

  /** The figures of all workers, those that ended among them. */
  snapshots = async (): Promise<MetricsSnapshot[]> => {
    const living = await Promise.all(this.#workers.map(worker => worker.snapshot()))
    return [...living, await this.#ended]
  }

  /** Every worker answers what was asked, commits what was accepted, and ends. */
  close = async (): Promise<void> => {
    const endings = await Promise.allSettled(this.#workers.map(worker => worker.close()))
    const failures = endings.flatMap(ending => (ending.status === 'rejected' ? ending.reason : []))
    if (failures.length > 0) throw new AggregateError(failures, 'an HTTP worker did not end well')
  }
}

/**
 * Checks that the address can be had by nobody but us, since workers that share a port would also
 * share it with another program of this user. Returns the port, a free one for 0.
 */
async function findPort({ host, port }: Settings): Promise<number> {
  const server = createServer()
  try {
    server.listen({ host, port })
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  } catch (cause) {
    const place = { host, port, variables: { host: 'HOST', port: 'PORT' } } as const
    throw createListenError(cause, place)
  } finally {
    await new Promise(resolve => server.close(resolve))
  }
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

/** The connections of one process, dealt out to its workers. */
export function divideConnections(connectionsMax: number, workers: number): number {
  return Math.max(CONNECTIONS_MIN, Math.ceil(connectionsMax / workers))
}
