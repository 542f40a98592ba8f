import { endLeases } from './end-leases.ts'
import type { ServiceUnderTest } from './service-under-test.ts'
import { restoreTokens, scriptFaults } from './simulator-controls.ts'

const ROUNDS_MAX = 500

/**
 * Heals the platform, ends the leases of the dead, and delivers until nothing waits, moving the
 * clock on to what is due next. Throws when that has no end.
 */
export async function drainDeliveries(
  service: ServiceUnderTest,
  deliver: () => Promise<unknown> = service.deliver,
): Promise<void> {
  await scriptFaults(service.simulatorUrl, [])
  await restoreTokens(service.simulatorUrl)
  await endLeases(service.database)
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    await deliver()
    const dueAt = await nextDue(service)
    if (dueAt === null) return
    const seconds = (dueAt.getTime() - service.clock.now().getTime()) / 1_000
    // What is due now and was not delivered will not be by waiting for no time at all.
    service.clock.forward(Math.max(seconds, 1))
  }
  throw new Error(`deliveries still wait after ${ROUNDS_MAX} rounds`)
}

/** A paused lane is due at its next probe. Never before the whole millisecond is over. */
async function nextDue({ database: { pool } }: ServiceUnderTest): Promise<Date | null> {
  const { rows } = await pool.query(
    `select min(greatest(delivery.next_attempt_at, destination.next_probe_at))
       + interval '1 millisecond' as due_at
     from all_deliveries delivery
     join destinations destination
       on destination.tracker_id = delivery.tracker_id
       and destination.id = delivery.destination_id
     where delivery.next_attempt_at is not null`,
  )
  return rows[0].due_at
}
