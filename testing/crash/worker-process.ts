import type { TestContext } from 'node:test'
import { createInstallation, type TestProgram } from '../fixtures/program.ts'
import type { TestService } from '../fixtures/service.ts'
import { expireWorkerLeases } from '../simulation/delivery/history.ts'

/** A real process of the role `deliver`, identified in the store by its name. */
export interface WorkerProcess extends TestProgram {
  name: string
}

export interface WorkerProcessOptions {
  name: string
  environment?: Record<string, string>
}

/** The minimum that the service allows; tests expire leases with `expireWorkerLeases`. */
const LEASE_SECONDS = 15

/** Starts a worker on the service's store and platform, and waits until it delivers. */
export async function startWorkerProcess(
  test: TestContext,
  service: TestService,
  { name, environment = {} }: WorkerProcessOptions,
): Promise<WorkerProcess> {
  const program = createInstallation(test).start({
    role: 'deliver',
    environment: {
      DATABASE_URL: addApplicationName(service.connectionString, name),
      SIGNALBOX_PLATFORM_URL: service.simulatorUrl,
      SIGNALBOX_CREDENTIAL_KEY: service.delivery.credentialKeys.current.toString('hex'),
      SIGNALBOX_DELIVERY_LEASE_SECONDS: String(LEASE_SECONDS),
      SIGNALBOX_DELIVERY_POLL_SECONDS: '1',
      ...environment,
    },
  })
  await program.waitForOutput(/Signalbox delivers to/)
  return { ...program, name }
}

/** The URL's application name overrides the one that the service sets. */
function addApplicationName(connectionString: string, name: string): string {
  const url = new URL(connectionString)
  url.searchParams.set('application_name', name)
  return url.href
}

/** Workers of a test that are killed and replaced. */
export class WorkerProcesses {
  readonly killed = new Set<string>()
  readonly #test: TestContext
  readonly #service: TestService
  readonly #live: WorkerProcess[] = []
  #started = 0

  constructor(test: TestContext, service: TestService) {
    this.#test = test
    this.#service = service
  }

  async start(): Promise<void> {
    this.#started += 1
    const name = `worker-${this.#started}`
    this.#live.push(await startWorkerProcess(this.#test, this.#service, { name }))
  }

  /** Like a power failure: nothing is logged and nothing is cleaned up. */
  async kill(): Promise<void> {
    const worker = this.#live.shift()
    if (!worker) return
    this.killed.add(worker.name)
    await worker.kill('SIGKILL')
  }

  expireLeasesOfKilled(): Promise<void> {
    return expireWorkerLeases(this.#service.database, [...this.killed])
  }

  /** Lets the other workers settle deliveries in progress. */
  async stop(): Promise<void> {
    for (const worker of this.#live.splice(0)) await worker.kill('SIGTERM')
  }
}
