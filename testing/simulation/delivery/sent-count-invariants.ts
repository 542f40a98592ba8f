import type { TestService } from '../../fixtures/service.ts'
import type { DeliveryHistory } from './history.ts'

/**
 * Differences between the stored counts of sent events and the counts computed from deliveries,
 * recorded transitions and the platform's receipts, one line each. The run must have finished.
 */
export async function findSentCountErrors(
  service: TestService,
  history: DeliveryHistory,
): Promise<string[]> {
  const accepted = differences(
    await readStoredAccepted(service),
    await countExpectedAccepted(service),
  )
  const unknown = differences(await readStoredUnknown(service), countExpectedUnknown(history))
  const keys = differences(
    await readStoredMatchKeys(service),
    await countExpectedMatchKeys(service, history),
  )
  return [...accepted, ...unknown, ...keys]
}

type Counts = Map<string, number>

function differences(actual: Counts, expected: Counts): string[] {
  const names = new Set([...actual.keys(), ...expected.keys()])
  return [...names]
    .filter(name => (actual.get(name) ?? 0) !== (expected.get(name) ?? 0))
    .map(name => `${name}: counted ${actual.get(name) ?? 0}, truly ${expected.get(name) ?? 0}`)
}

async function queryCounts({ database }: TestService, text: string): Promise<Counts> {
  const { rows } = await database.pool.query({ text, rowMode: 'array' })
  return new Map(rows.map(row => [row.slice(0, -1).join(' '), row.at(-1)]))
}

function readStoredAccepted(service: TestService): Promise<Counts> {
  return queryCounts(
    service,
    `select kind, destination_id, sent_on, event_on, event_name, sum(count)
     from sent_counts cross join lateral (values ('live', accepted), ('test', test)) of(kind, count)
     group by 1, 2, 3, 4, 5`,
  )
}

function countExpectedAccepted(service: TestService): Promise<Counts> {
  return queryCounts(
    service,
    `select case when is_test then 'test' else 'live' end, destination_id,
       (delivery.updated_at at time zone 'UTC')::date,
       (least(event.event_time, event.created_at) at time zone 'UTC')::date,
       event.event_name, count(*)
     from all_deliveries delivery join events event using (tracker_id, event_id)
     where delivery.status = 'accepted' group by 1, 2, 3, 4, 5`,
  )
}

function readStoredUnknown(service: TestService): Promise<Counts> {
  return queryCounts(
    service,
    `select 'unknown', tracker_id, event_on, event_name, sum(unknown) from sent_counts
     group by 2, 3, 4`,
  )
}

/**
 * Attempts without a response, and workers that crashed with the delivery. Several crashes in a row
 * count once, because only the worker that takes a delivery over and settles it stores the count.
 */
function countExpectedUnknown({ deliveries, attempts, transitions }: DeliveryHistory): Counts {
  const counts: Counts = new Map()
  const transitionsOf = Map.groupBy(
    transitions,
    move => `${move.trackerId} ${move.eventId} ${move.id}`,
  )
  for (const { trackerId, eventId, id, eventTime, eventName, attemptIds } of deliveries) {
    const unanswered = attemptIds.filter(id => attempts.get(id)?.outcome === 'unknown').length
    let takeovers = 0
    let isTakeover = false
    for (const { from, isClaim } of transitionsOf.get(`${trackerId} ${eventId} ${id}`) ?? []) {
      if (isClaim) isTakeover = from === 'sent'
      else if (isTakeover && from === 'sent') {
        takeovers += 1
        isTakeover = false
      }
    }
    if (unanswered + takeovers === 0) continue
    const name = `unknown ${trackerId} ${eventTime.toISOString().slice(0, 10)} ${eventName}`
    counts.set(name, (counts.get(name) ?? 0) + unanswered + takeovers)
  }
  return counts
}

function readStoredMatchKeys(service: TestService): Promise<Counts> {
  return queryCounts(
    service,
    `select 'key', tracker_id, event_name, match_key, sum(events) from sent_key_counts
     group by 2, 3, 4`,
  )
}

/** The identifiers in the request that brought the acceptance. */
async function countExpectedMatchKeys(
  service: TestService,
  history: DeliveryHistory,
): Promise<Counts> {
  const { events } = await service.received('limit=10000')
  const bodies = new Map(events.map(event => [`${event.request_id} ${event.event_id}`, event]))
  const counts: Counts = new Map()
  for (const { trackerId, eventId, eventName, traceId, status, isTest } of history.deliveries) {
    if (status !== 'accepted' || isTest) continue
    const userData = bodies.get(`${traceId} ${eventId}`)?.user_data
    for (const key of Object.keys(userData ?? {})) {
      const name = `key ${trackerId} ${eventName} ${key}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  return counts
}
