import type { TestContext } from 'node:test'
import { endLeasesOf } from './delivery-audit.ts'
import { installation, type ProgramUnderTest } from './program-under-test.ts'
import type { ServiceUnderTest } from './service-under-test.ts'

/** A real process of the role `deliver`. The store knows it by its name. */
export interface WorkerProcess extends ProgramUnderTest {
  name: string
}

export interface WorkerProcessOptions {
  name: string
  environment?: Record<string, string>
}

/** The least that the service allows; nobody waits for it, see `endLeasesOf`. */
const LEASE_SECONDS = 15

/** Starts a worker on the service's store and platform, and waits until it delivers. */
export async function workerProcess(
  test: TestContext,
  service: ServiceUnderTest,
  { name, environment = {} }: WorkerProcessOptions,
): Promise<WorkerProcess> {
  const program = installation(test).start({
    role: 'deliver',
    environment: {
      DATABASE_URL: namedUrl(service.connectionString, name),
      SIGNALBOX_PLATFORM_URL: service.simulatorUrl,
      SIGNALBOX_CREDENTIAL_KEY: service.delivery.credentialKeys.current.toString('hex'),
      SIGNALBOX_DELIVERY_LEASE_SECONDS: String(LEASE_SECONDS),
      SIGNALBOX_DELIVERY_POLL_SECONDS: '1',
      ...environment,
    },
  })
  await program.says(/Signalbox delivers to/)
  return { ...program, name }
}

/** What stands in the address wins over the name that the service gives its connections. */
function namedUrl(connectionString: string, name: string): string {
  const url = new URL(connectionString)
  url.searchParams.set('application_name', name)
  return url.href
}

/** Workers of a test that are killed and replaced. */
export class WorkerProcesses {
  readonly killed = new Set<string>()
  readonly #test: TestContext
  readonly #service: ServiceUnderTest
  readonly #living: WorkerProcess[] = []
  #started = 0

  constructor(test: TestContext, service: ServiceUnderTest) {
    this.#test = test
    this.#service = service
  }

  async start(): Promise<void> {
    this.#started += 1
    const name = `worker-${this.#started}`
    this.#living.push(await workerProcess(this.#test, this.#service, { name }))
  }

  /** As a machine does that loses its power: nothing is said and nothing is put away. */
  async kill(): Promise<void> {
    const worker = this.#living.shift()
    if (!worker) return
    this.killed.add(worker.name)
    await worker.end('SIGKILL')
  }

  endLeasesOfKilled(): Promise<void> {
    return endLeasesOf(this.#service.database, [...this.killed])
  }

  /** Lets the others settle what is under way. */
  async stop(): Promise<void> {
    for (const worker of this.#living.splice(0)) await worker.end('SIGTERM')
  }
}
