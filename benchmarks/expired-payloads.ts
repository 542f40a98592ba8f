import type { Database } from '../service/db/database.ts'
import { formatUtcDay } from '../service/events/event-record.ts'
import { ensurePartitions } from '../service/events/partition-store.ts'
import type { ProvisionedTracker } from '../service/provisioning/provision-tracker.ts'
import { indexKeyExpression } from './listed-events.ts'

const ROWS_PER_STATEMENT = 100_000

/** So many payloads that were received on one day, in the partition of that day. */
export async function storeExpiredPayloads(
  database: Database,
  { trackerId }: ProvisionedTracker,
  { count, receivedAt }: { count: number; receivedAt: Date },
): Promise<void> {
  await ensurePartitions(database, receivedAt, 1)
  for (let first = 0; first < count; first += ROWS_PER_STATEMENT) {
    const last = Math.min(first + ROWS_PER_STATEMENT, count) - 1
    await database.pool.query(INSERT_PAYLOADS, [trackerId, formatUtcDay(receivedAt), first, last])
  }
}

const INSERT_PAYLOADS = `
  insert into event_payloads
    (tracker_id, event_id, space, created_at, received_on, visitor_id, user_data, click_ids,
     identifier_keys)
  select $1::uuid, md5(number::text), 0, $2::date + number * interval '1 millisecond', $2::date,
    'visitor-' || number,
    json_build_object('digests', json_build_object('em', array[digest], 'ph', array[digest]),
      'plain', json_build_object('client_user_agent', 'Mozilla/5.0')), '{}',
    array[${indexKeyExpression('$1::uuid', 'digest')}]
  from generate_series($3::bigint, $4::bigint) as number
  cross join lateral (select md5(number::text) || md5(number::text) as digest) digested`
