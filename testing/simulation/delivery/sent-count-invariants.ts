import type { TestService } from '../../fixtures/service.ts'
import type { DeliveryHistory } from './history.ts'

/**
 * Where the kept counts of what was sent differ from what truly happened, one line each; empty when
 * they are right. The truth is in the deliveries, in the moves that the store wrote down, and in
 * what the platform received. The story has to have come to its end.
 */
export async function findSentCountErrors(
  service: TestService,
  story: DeliveryHistory,
): Promise<string[]> {
  const accepted = differences(
    await readStoredAccepted(service),
    await countExpectedAccepted(service),
  )
  const unknown = differences(await readStoredUnknown(service), countExpectedUnknown(story))
  const keys = differences(
    await readStoredMatchKeys(service),
    await countExpectedMatchKeys(service, story),
  )
  return [...accepted, ...unknown, ...keys]
}

type Counts = Map<string, number>

function differences(kept: Counts, truth: Counts): string[] {
  const names = new Set([...kept.keys(), ...truth.keys()])
  return [...names]
    .filter(name => (kept.get(name) ?? 0) !== (truth.get(name) ?? 0))
    .map(name => `${name}: counted ${kept.get(name) ?? 0}, truly ${truth.get(name) ?? 0}`)
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
 * Attempts of a delivery without an answer, and workers that died with it. Of several that died in
 * a row one is counted: only the worker that takes a delivery up and settles it writes it down.
 */
function countExpectedUnknown({
  deliveries,
  attempts,
  transitions: moves,
}: DeliveryHistory): Counts {
  const counts: Counts = new Map()
  const movesOf = Map.groupBy(moves, move => `${move.trackerId} ${move.eventId} ${move.id}`)
  for (const { trackerId, eventId, id, eventTime, eventName, attemptIds } of deliveries) {
    const unanswered = attemptIds.filter(id => attempts.get(id)?.outcome === 'unknown').length
    let takenUp = 0
    let isTakenUp = false
    for (const { from, isClaim } of movesOf.get(`${trackerId} ${eventId} ${id}`) ?? []) {
      if (isClaim) isTakenUp = from === 'sent'
      else if (isTakenUp && from === 'sent') {
        takenUp += 1
        isTakenUp = false
      }
    }
    if (unanswered + takenUp === 0) continue
    const name = `unknown ${trackerId} ${eventTime.toISOString().slice(0, 10)} ${eventName}`
    counts.set(name, (counts.get(name) ?? 0) + unanswered + takenUp)
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
  story: DeliveryHistory,
): Promise<Counts> {
  const { events } = await service.received('limit=10000')
  const bodies = new Map(events.map(event => [`${event.request_id} ${event.event_id}`, event]))
  const counts: Counts = new Map()
  for (const { trackerId, eventId, eventName, traceId, status, isTest } of story.deliveries) {
    if (status !== 'accepted' || isTest) continue
    const userData = bodies.get(`${traceId} ${eventId}`)?.user_data
    for (const key of Object.keys(userData ?? {})) {
      const name = `key ${trackerId} ${eventName} ${key}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  return counts
}
