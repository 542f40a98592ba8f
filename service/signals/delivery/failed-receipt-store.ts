import { type Database, inTransaction } from '../../runtime/db/database.ts'
import { arrayLiteral, COUNTER_SHARD, utcDay } from '../../runtime/db/sql-fragments.ts'
import { formatUtcDay } from '../../runtime/util/time.ts'
import { type CountedStage, stageLiteral } from '../events/stage-count-store.ts'
import type { SendError } from '../platforms/platform.ts'
import { ADD_COUNTS, outcomeLiterals } from './delivery-store.ts'
import { countSettledStages, SETTLED_TYPES } from './issue-store.ts'
import {
  type DeliveryKey,
  type ReceiptReading,
  recordReading,
  type StoredReceipt,
  toKeyArrays,
} from './receipt-store.ts'
import { OTHER_NAMES } from './sent-counts-store.ts'
import { COUNT_OUTCOME_ROWS, GROUP_ISSUES, WRITE_ISSUES } from './settlement-store.ts'

/** A delivery of a receipt that is still accepted, and by no later request. */
export interface AcceptedDelivery extends DeliveryKey {
  eventId: string
  space: number
}

/** The deliveries of a receipt that its failure changes, in chunks. */
export async function* findAcceptedDeliveries(
  { pool }: Database,
  { trackerId, id }: Pick<StoredReceipt, 'trackerId' | 'id'>,
): AsyncGenerator<AcceptedDelivery[]> {
  for (let chunk = 0; ; chunk += 1) {
    const found = await pool.query({
      text: `select delivery_ids::text as ids, created_at::text as times
             from request_receipt_deliveries
             where tracker_id = $1::uuid and receipt = $2::uuid and chunk = $3::integer`,
      values: [trackerId, id, chunk],
    })
    const [row] = found.rows
    if (!row) return
    const { rows } = await pool.query({
      text: `select delivery.created_at, delivery.id, delivery.event_id, delivery.space
             from unnest($2::bigint[], $3::timestamptz[]) as given(id, created_at)
             cross join lateral (
               select created_at, id, event_id, space from deliveries
               where tracker_id = $1::uuid and created_at = given.created_at and id = given.id
                 and ${IS_ACCEPTED_BY} = $4::uuid
               limit 1
             ) delivery`,
      values: [trackerId, row.ids, row.times, id],
    })
    yield rows.map(({ created_at, event_id, ...rest }) => ({
      ...rest,
      createdAt: created_at,
      eventId: event_id,
    }))
  }
}

/** The last request of an accepted delivery. */
const IS_ACCEPTED_BY = `case when deliveries.status = 'accepted'
  then deliveries.attempt_ids[cardinality(deliveries.attempt_ids)] end`

/** What is counted of a delivery beside its row. */
export interface FailedDelivery extends DeliveryKey {
  /** The platform's name for it, under which it was counted. */
  eventName: string
  /** The keys with which it was counted. */
  keys: readonly string[]
  /** The UTC day of the event's time as the platform reads it. */
  eventOn: string
  /** As they were counted; null without a value. */
  value: { amount: string; currency: string } | null
  replayableUntil: Date | null
}

export interface FailedReceipt {
  receipt: StoredReceipt
  reading: ReceiptReading
  deliveries: readonly FailedDelivery[]
  error: SendError
  /** As `describeIssue` returns it. */
  issue: string | null
}

const FAILED = outcomeLiterals({ status: 'failed:permanent', reason: 'request_failed' })

const MOVE_FAILED = `
  with moved as (
    update deliveries set status = ${FAILED.status}, status_reason = ${FAILED.reason},
      last_error = $5::json, replayable_until = given.replayable_until,
      updated_at = $6::timestamptz
    from unnest($2::bigint[], $3::timestamptz[], $4::timestamptz[])
      as given(id, created_at, replayable_until)
    where deliveries.tracker_id = $1::uuid and deliveries.created_at = given.created_at
      and deliveries.id = given.id and ${IS_ACCEPTED_BY} = $7::uuid
    returning deliveries.created_at, deliveries.id, deliveries.is_test, deliveries.status,
      deliveries.status_reason, deliveries.event_id, deliveries.space
  )
  select json_agg(settled)::text as settled from (
    select moved.*, null::integer as group_number, 0 as unknown, null::numeric as amount,
      $8::text as issue
    from moved
  ) settled`

const SETTLED_ROWS = (parameter: number) =>
  `json_to_recordset($${parameter}::json) as settled(${SETTLED_TYPES})`

/** They are accepted no longer: the counts of the days and hours under which they were. */
const UNCOUNT_ACCEPTED = `
  insert into delivery_counts (tracker_id, planned_on, slot, planned, accepted)
  select $1::uuid, ${utcDay('created_at')}, ${COUNTER_SHARD}, 0, -count(*)
  from ${SETTLED_ROWS(2)} where not is_test group by 2 order by 2
  ${ADD_COUNTS}`
const ACCEPTED_STAGE: CountedStage = 'platform_accepted'
const UNCOUNT_STAGE = `
  insert into stage_counts (tracker_id, hour, stage, reason, slot, count)
  select $1::uuid, date_trunc('hour', $2::timestamptz, 'UTC'), ${stageLiteral(ACCEPTED_STAGE)}, '',
    ${COUNTER_SHARD}, -count(*)
  from ${SETTLED_ROWS(3)} where not is_test having count(*) > 0
  on conflict (tracker_id, hour, stage, reason, slot) do update set
    count = stage_counts.count + excluded.count`
const COUNT_FAILED_STAGE = countSettledStages(SETTLED_ROWS(3), '$1', '$2')
const COUNTED_NAME = `case when exists (
      select 1 from sent_counts where tracker_id = $1::uuid and destination_id = $2::uuid
        and sent_on = $3::date and event_name = $4::text
    ) then $4::text else '${OTHER_NAMES}' end`
const UNCOUNT_KEYS = `
  insert into sent_key_counts
    (tracker_id, destination_id, sent_on, event_name, match_key, slot, events)
  select $1::uuid, $2::uuid, $3::date, ${COUNTED_NAME}, sent.match_key, ${COUNTER_SHARD},
    -sent.events
  from unnest($5::text[], $6::integer[]) as sent(match_key, events) order by sent.match_key
  on conflict (tracker_id, destination_id, sent_on, event_name, match_key, slot) do update set
    events = sent_key_counts.events + excluded.events`
const UNCOUNT_SENT = `
  insert into sent_counts
    (tracker_id, destination_id, sent_on, event_name, event_on, slot, accepted, test, unknown)
  select $1::uuid, $2::uuid, $3::date, ${COUNTED_NAME}, $5::date, ${COUNTER_SHARD},
    -$6::integer, -$7::integer, 0
  on conflict (tracker_id, destination_id, sent_on, event_name, event_on, slot) do update set
    accepted = sent_counts.accepted + excluded.accepted, test = sent_counts.test + excluded.test
  returning event_name`
const UNCOUNT_VALUES = `
  insert into sent_value_counts
    (tracker_id, destination_id, sent_on, event_name, currency, slot, events, amount)
  select $1::uuid, $2::uuid, $3::date, $4::text, $5::text, ${COUNTER_SHARD},
    -cardinality($6::numeric[]), -(select sum(amount) from unnest($6::numeric[]) amount)
  on conflict (tracker_id, destination_id, sent_on, event_name, currency, slot) do update set
    events = sent_value_counts.events + excluded.events,
    amount = sent_value_counts.amount + excluded.amount`

/**
 * Stores that the platform processed nothing of a request, and fails the deliveries that it had
 * accepted, with their counts, in one transaction. A delivery that another request sent since is
 * left alone. Returns how many failed.
 */
export function failReceipt(database: Database, failed: FailedReceipt): Promise<number> {
  return inTransaction(database, async client => {
    const { receipt, reading, deliveries, error, issue } = failed
    const { trackerId, id, destinationId, acceptedAt } = receipt
    const { rows } = await client.query({
      text: MOVE_FAILED,
      values: [
        trackerId,
        ...toKeyArrays(deliveries),
        arrayLiteral(deliveries.map(each => each.replayableUntil?.toISOString() ?? null)),
        ...[JSON.stringify(error), reading.at, id, issue],
      ],
    })
    await recordReading(client, reading)
    const { settled } = rows[0]
    if (!settled) return 0
    await client.query({ text: UNCOUNT_ACCEPTED, values: [trackerId, settled] })
    await client.query({ text: UNCOUNT_STAGE, values: [trackerId, acceptedAt, settled] })
    await client.query({ text: COUNT_FAILED_STAGE, values: [trackerId, reading.at, settled] })
    const common = [trackerId, reading.at, destinationId]
    await client.query({ text: COUNT_OUTCOME_ROWS, values: [settled, ...common] })
    const grouped = await client.query({ text: GROUP_ISSUES, values: [settled, ...common] })
    const { issues } = grouped.rows[0]
    if (issues) await client.query({ text: WRITE_ISSUES, values: [issues, ...common] })
    const moved: { id: number; is_test: boolean }[] = JSON.parse(settled)
    const ofDay = [trackerId, destinationId, formatUtcDay(acceptedAt)]
    for (const { eventName, eventOn, accepted, test, values } of groupSent(deliveries, moved)) {
      const sent = [...ofDay, eventName, eventOn, accepted, test]
      const counted = await client.query({ text: UNCOUNT_SENT, values: sent })
      const countedName = counted.rows[0].event_name
      for (const [currency, amounts] of values) {
        const own = [...ofDay, countedName, currency, arrayLiteral(amounts)]
        await client.query({ text: UNCOUNT_VALUES, values: own })
      }
    }
    for (const { eventName, keys, counts } of groupKeys(deliveries, moved)) {
      const sent = [formatUtcDay(acceptedAt), eventName, arrayLiteral(keys), arrayLiteral(counts)]
      await client.query({ text: UNCOUNT_KEYS, values: [trackerId, destinationId, ...sent] })
    }
    return moved.length
  })
}

/** In the order of the keys, so that two writers cannot deadlock. */
function groupSent(
  deliveries: readonly FailedDelivery[],
  moved: readonly { id: number; is_test: boolean }[],
) {
  const isTest = new Map(moved.map(({ id, is_test }) => [id, is_test]))
  const own = deliveries.filter(({ id }) => isTest.has(id))
  const groups = Map.groupBy(own, ({ eventName, eventOn }) => `${eventName}\0${eventOn}`)
  return [...groups.entries()]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, each]) => {
      const [eventName = '', eventOn = ''] = key.split('\0')
      const live = each.filter(({ id }) => !isTest.get(id))
      const test = each.length - live.length
      return { eventName, eventOn, accepted: live.length, test, values: groupValues(live) }
    })
}

/** How many of the live events had each key, by event name and in its order. */
function groupKeys(
  deliveries: readonly FailedDelivery[],
  moved: readonly { id: number; is_test: boolean }[],
) {
  const live = new Set(moved.flatMap(({ id, is_test }) => (is_test ? [] : [id])))
  const own = deliveries.filter(({ id, keys }) => live.has(id) && keys.length > 0)
  return [...Map.groupBy(own, ({ eventName }) => eventName)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([eventName, each]) => {
      const counts = new Map<string, number>()
      for (const key of each.flatMap(({ keys }) => keys)) {
        counts.set(key, (counts.get(key) ?? 0) + 1)
      }
      return { eventName, keys: [...counts.keys()], counts: [...counts.values()].map(String) }
    })
}

/** Amounts by currency, in the order of the keys. */
function groupValues(deliveries: readonly FailedDelivery[]): [string, string[]][] {
  const values = deliveries.flatMap(({ value }) => value ?? [])
  const groups = Map.groupBy(values, ({ currency }) => currency)
  return [...groups]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([currency, each]) => [currency, each.map(({ amount }) => amount)])
}
