import type { TestContext } from 'node:test'
import type { ProvisionedTracker } from '../../service/program/provisioning/provision-tracker.ts'
import { startDeliveryWorker } from '../../service/signals/delivery/worker.ts'
import type { TestService } from '../fixtures/service.ts'

/** Delivers what is due until the test ends. Returns its errors. */
export function startWorker(test: TestContext, service: TestService): unknown[] {
  const errors: unknown[] = []
  const worker = startDeliveryWorker({
    context: service.delivery,
    limits: { requestsMax: 8, destinationRequestsMax: 2, pollSeconds: 0.1 },
    onError: error => errors.push((error as Error).stack),
  })
  test.after(() => worker.stop())
  return errors
}

/** Whether no delivery of these trackers waits, asked at their nodes. */
export async function isDelivered(
  { delivery: { nodes } }: TestService,
  trackers: readonly ProvisionedTracker[],
): Promise<boolean> {
  for (const { trackerId } of trackers) {
    const node = await nodes?.findNode(trackerId)
    const answer = await node?.pool.query(
      'select 1 from delivery_queue where tracker_id = $1::uuid limit 1',
      [trackerId],
    )
    if (answer?.rows.length !== 0) return false
  }
  return true
}

/** The log lines about refused requests. */
export function refusals(service: TestService): string {
  const lines = service.logged().split('\n')
  return lines
    .filter(line => /"err"|unavailable/.test(line))
    .join('\n')
    .slice(0, 4_000)
}
