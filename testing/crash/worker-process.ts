import type { TestContext } from 'node:test'
import { createInstallation, type TestProgram } from '../fixtures/program.ts'
import type { TestService } from '../fixtures/service.ts'
import { expireWorkerLeases } from '../simulation/delivery/history.ts'

/** A real process of the role `deliver`. The store knows it by its name. */
export interface WorkerProcess extends TestProgram {
  name: string
}

export interface WorkerProcessOptions {
  name: string
  environment?: Record<string, string>
}

/** The least that the service allows; nobody waits for it, see `expireWorkerLeases`. */
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

/** What stands in the address wins over the name that the service gives its connections. */
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
  readonly #living: WorkerProcess[] = []
  #started = 0

  constructor(test: TestContext, service: TestService) {
    this.#test = test
    this.#service = service
  }

  async start(): Promise<void> {
    this.#started += 1
    const name = `worker-${this.#started}`
    this.#living.push(await startWorkerProcess(this.#test, this.#service, { name }))
  }

  /** As a machine does that loses its power: nothing is said and nothing is put away. */
  async kill(): Promise<void> {
    const worker = this.#living.shift()
    if (!worker) return
    this.killed.add(worker.name)
    await worker.kill('SIGKILL')
  }

  expireLeasesOfKilled(): Promise<void> {
    return expireWorkerLeases(this.#service.database, [...this.killed])
  }

  /** Lets the others settle what is under way. */
  async stop(): Promise<void> {
    for (const worker of this.#living.splice(0)) await worker.kill('SIGTERM')
  }
}
