import type { TestContext } from 'node:test'
import type { CircuitChange } from '../service/delivery/circuit-breaker.ts'
import type { DeliveryContext } from '../service/delivery/delivery-context.ts'
import {
  type DeliveryWorker,
  startDeliveryWorker,
  type WorkerLimits,
  type WorkerOptions,
} from '../service/delivery/worker.ts'
import type { ProvisionedTracker } from '../service/provisioning/provision-tracker.ts'
import { eventually } from './program-under-test.ts'
import { samplePurchase } from './sample-purchase.ts'
import type { ServiceUnderTest } from './service-under-test.ts'

export interface WorkerUnderTest extends DeliveryWorker {
  errors: unknown[]
  circuitChanges: CircuitChange[]
}

export interface WorkerChanges {
  limits?: Partial<WorkerLimits>
  context?: Partial<DeliveryContext>
  onPoll?: WorkerOptions['onPoll']
}

/** A worker that never looks by itself again, so that a test sees what wakes it. */
const NEVER_SECONDS = 86_400

/** Starts a worker on the service's store and clock; it is stopped with the test. */
export function workerUnderTest(
  test: TestContext,
  service: ServiceUnderTest,
  { limits = {}, context = {}, onPoll }: WorkerChanges = {},
): WorkerUnderTest {
  const errors: unknown[] = []
  const circuitChanges: CircuitChange[] = []
  const worker = startDeliveryWorker({
    context: { ...service.delivery, ...context },
    limits: { requestsMax: 8, destinationRequestsMax: 2, pollSeconds: NEVER_SECONDS, ...limits },
    onError: error => errors.push(error),
    onCircuitChanged: change => circuitChanges.push(change),
    ...(onPoll && { onPoll }),
  })
  test.after(() => worker.stop())
  return { ...worker, errors, circuitChanges }
}

/** So many purchases for a tracker, named after it. */
export async function submitFor(
  service: ServiceUnderTest,
  { trackerId, trackerSecret: secret }: ProvisionedTracker,
  count: number,
): Promise<void> {
  for (let order = 1; order <= count; order += 1) {
    const body = samplePurchase({ event_id: `${trackerId}-${order}` })
    const { status, text } = await service.request('POST', '/api/v1/events', { secret, body })
    if (status !== 202) throw new Error(`${status} ${text}`)
  }
}

/** How many deliveries are in each status, of one tracker or of all. */
export async function statusCounts(
  { database }: ServiceUnderTest,
  trackerId: string | null = null,
): Promise<Record<string, number>> {
  const { rows } = await database.pool.query(
    `select status, count(*) from all_deliveries
     where $1::uuid is null or tracker_id = $1 group by status order by status`,
    [trackerId],
  )
  return Object.fromEntries(rows.map(row => [row.status, row.count]))
}

/** Waits until so many deliveries have the status. */
export async function eventuallyStatus(
  service: ServiceUnderTest,
  status: string,
  { count, trackerId = null }: { count: number; trackerId?: string | null },
): Promise<void> {
  await eventually(`${count} deliveries are ${status}`, async () => {
    const counts = await statusCounts(service, trackerId)
    return counts[status] === count
  })
}
