import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { ProvisionedTracker } from '../../service/program/provisioning/provision-tracker.ts'
import { samplePurchase } from '../fixtures/sample-events.ts'
import type { TestService } from '../fixtures/service.ts'

/** The responses to the writers of `startEventLoad`. */
export interface EventLoad {
  /** IDs that got 202, by tracker. */
  accepted: Map<string, string[]>
  /** Statuses other than 202, by tracker. */
  refused: Map<string, number[]>
  /** The slowest response in milliseconds, by tracker. */
  slowest: Map<string, number>
  /** Stops the writers, and resolves when all requests have responses. */
  end(): Promise<void>
}

/** The service uses a separate statement for a repeated ID, so every tenth event repeats one. */
const REPEATED_EACH = 10

/** A visitor who withdrew consent, so the optimistic check fails and events are planned again. */
export const WITHDRAWN = 'withdrawn'

export function withdrawalEvent(visitor_id: string) {
  return samplePurchase({
    event_id: `withdrawal of ${visitor_id}`,
    event_name: 'consent_withdrawal',
    visitor_id,
    consent: undefined,
    consent_basis: 'legitimate_interest',
    user_data: undefined,
    value_data: undefined,
  })
}

/** Gives a tracker a withdrawal and an erasure, which every later event must respect. */
export async function withdrawAndErase(service: TestService, secret: string): Promise<void> {
  const body = withdrawalEvent(WITHDRAWN)
  const { status } = await service.request('POST', '/api/v1/events', { secret, body })
  assert.equal(status, 202)
  const erased = await service.request('DELETE', '/api/v1/user-data', {
    secret,
    body: { identifier_hash: hash('sha256', 'erased@example.com') },
  })
  assert.equal(erased.status, 200, erased.text)
}

/** Starts two writers for each tracker, each with one request in flight, until `end`. */
export function startEventLoad(
  service: TestService,
  trackers: readonly ProvisionedTracker[],
): EventLoad {
  let isOver = false
  const accepted = new Map(trackers.map(({ trackerId }) => [trackerId, [] as string[]]))
  const refused = new Map(trackers.map(({ trackerId }) => [trackerId, [] as number[]]))
  const slowest = new Map(trackers.map(({ trackerId }) => [trackerId, 0]))
  const repeat = async (secret: string, event_id: string) => {
    const body = samplePurchase({ event_id, visitor_id: 'another' })
    await service.request('POST', '/api/v1/events', { secret, body })
  }
  const write = async ({ trackerId, trackerSecret: secret }: ProvisionedTracker, n: number) => {
    for (let count = 0; !isOver; count += 1) {
      const event_id = `event-${n}-${count}`
      const visitor_id = count % REPEATED_EACH === 5 ? WITHDRAWN : event_id
      const body = samplePurchase({ event_id, visitor_id })
      const began = performance.now()
      const { status } = await service.request('POST', '/api/v1/events', { secret, body })
      const took = performance.now() - began
      slowest.set(trackerId, Math.max(slowest.get(trackerId) ?? 0, took))
      if (status === 202) accepted.get(trackerId)?.push(event_id)
      else refused.get(trackerId)?.push(status)
      if (status !== 202) await pause(50)
      else if (count % REPEATED_EACH === 0) await repeat(secret, event_id)
    }
  }
  const writers = trackers.flatMap(tracker => [write(tracker, 1), write(tracker, 2)])
  const end = async () => {
    isOver = true
    await Promise.all(writers)
  }
  return { accepted, refused, slowest, end }
}

/** Every acknowledged event is stored once, and no event is stored twice. */
export async function assertStoredOnce(
  { database: { pool } }: TestService,
  load: EventLoad,
): Promise<void> {
  for (const [trackerId, ids] of load.accepted) {
    const { rows } = await pool.query(
      `select event.event_id, event.event_name, count(*) as count,
         (select count(*) from all_deliveries delivery
          where delivery.tracker_id = $1::uuid and delivery.event_id = event.event_id) as deliveries
       from events event where event.tracker_id = $1::uuid group by 1, 2`,
      [trackerId],
    )
    const counts = new Map(rows.map(row => [row.event_id, row]))
    assert.deepEqual(
      ids.filter(id => !counts.has(id)),
      [],
      'acknowledged events are lost',
    )
    assert.deepEqual(
      rows.filter(
        row =>
          row.count !== 1 || row.deliveries !== (row.event_name === 'consent_withdrawal' ? 0 : 1),
      ),
      [],
      'events or deliveries are stored twice',
    )
    const counted = await pool.query(
      'select sum(events)::bigint as events from event_counts where tracker_id = $1::uuid',
      [trackerId],
    )
    assert.equal(counted.rows[0].events, rows.length)
    // A commit whose response was lost is stored without an acknowledgment.
    const unanswered = load.refused.get(trackerId)?.length ?? 0
    assert.ok(rows.length - ids.length <= unanswered + 1)
  }
}

export function summarizeLoad({ accepted, slowest, refused }: EventLoad): string {
  const count = [...accepted.values()].flat().length
  const refusals = [...refused.values()].flat().length
  const most = Math.round(Math.max(...slowest.values()))
  return `${count} accepted, ${refusals} refused, the slowest response took ${most} ms`
}
