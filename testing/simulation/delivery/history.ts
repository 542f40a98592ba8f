import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { Database } from '../../../service/runtime/db/database.ts'
import type { SendOutcome } from '../../../service/signals/platforms/platform.ts'
import type { TestService } from '../../fixtures/service.ts'

/** What our store contains, what the platform received, and what happened in between. */
export interface DeliveryHistory {
  deliveries: readonly DeliveryRecord[]
  /** By id. */
  attempts: ReadonlyMap<string, AttemptRecord>
  /** Oldest first. */
  receipts: readonly ReceiptRecord[]
  transitions: readonly DeliveryTransition[]
}

export interface DeliveryRecord {
  trackerId: string
  eventId: string
  id: number
  datasetId: string
  eventName: string
  eventTime: Date
  valueAmount: string | null
  valueCurrency: string | null
  status: DeliveryStatus
  isTest: boolean
  attemptCount: number
  /** In the order of their responses. */
  attemptIds: readonly string[]
  traceId: string | null
  isWaiting: boolean
}

interface AttemptRecord {
  outcome: SendOutcome
  traceId: string | null
  isTest: boolean
}

/** One copy of an event that the platform received. */
export interface ReceiptRecord {
  datasetId: string
  eventId: string
  eventName: string
  eventTimeSeconds: number
  /** With exactly the digits that were sent. */
  value: string | null
  currency: string | null
  testEventCode: string | null
  requestId: string
}

const RECEIPTS_MAX = 10_000

export async function readDeliveryHistory(service: TestService): Promise<DeliveryHistory> {
  const { database, simulatorUrl } = service
  return {
    deliveries: await readDeliveries(database),
    attempts: await readAttempts(database),
    receipts: await readReceipts(simulatorUrl),
    transitions: await readDeliveryTransitions(database),
  }
}

async function readDeliveries({ pool }: Database): Promise<DeliveryRecord[]> {
  const { rows } = await pool.query(
    `select delivery.*, destination.config ->> 'dataset_id' as dataset_id, event.event_name,
       least(event.event_time, event.created_at) as reported_time, event.value_amount,
       event.value_currency
     from all_deliveries delivery
     join events event using (tracker_id, event_id)
     join destinations destination
       on destination.tracker_id = delivery.tracker_id
       and destination.id = delivery.destination_id
     order by delivery.created_at, delivery.tracker_id, delivery.id`,
  )
  return rows.map(row => ({
    trackerId: row.tracker_id,
    eventId: row.event_id,
    id: row.id,
    datasetId: row.dataset_id,
    eventName: row.event_name,
    eventTime: row.reported_time,
    valueAmount: row.value_amount,
    valueCurrency: row.value_currency,
    status: row.status,
    isTest: row.is_test,
    attemptCount: row.attempt_count,
    attemptIds: row.attempt_ids,
    traceId: row.platform_trace_id,
    isWaiting: row.next_attempt_at !== null || row.leased_until !== null,
  }))
}

async function readAttempts({ pool }: Database): Promise<Map<string, AttemptRecord>> {
  const { rows } = await pool.query('select id, outcome, trace_id, is_test from send_attempts')
  return new Map(
    rows.map(row => [row.id, { outcome: row.outcome, traceId: row.trace_id, isTest: row.is_test }]),
  )
}

async function readReceipts(simulatorUrl: string): Promise<ReceiptRecord[]> {
  const response = await fetch(`${simulatorUrl}/_simulator/received?limit=${RECEIPTS_MAX}`)
  const { count, events } = JSON.parse(await response.text(), preserveDecimals)
  if (count !== events.length) throw new Error(`only ${events.length} of ${count} receipts`)
  return events.map((event: SimulatorReceipt) => ({
    datasetId: event.dataset,
    eventId: event.event_id,
    eventName: event.event_name,
    eventTimeSeconds: event.event_time,
    value: event.custom_data?.value ?? null,
    currency: event.custom_data?.currency ?? null,
    testEventCode: event.test_event_code,
    requestId: event.request_id,
  }))
}

interface SimulatorReceipt {
  dataset: string
  event_id: string
  event_name: string
  event_time: number
  custom_data: { value?: string; currency?: string } | null
  test_event_code: string | null
  request_id: string
}

/** Keeps the digits that a JavaScript number would lose. */
function preserveDecimals(
  name: string,
  value: unknown,
  ...context: { source?: string }[]
): unknown {
  return name === 'value' && typeof value === 'number' ? context[0]?.source : value
}

/** One change of a delivery, as recorded by the store. */
export interface DeliveryTransition {
  trackerId: string
  eventId: string
  id: number
  /** The `application_name` of the connection that made it. */
  worker: string
  /** Null when the delivery was created. */
  from: DeliveryStatus | null
  to: DeliveryStatus
  /** This worker claimed it. */
  isClaim: boolean
  /** Claimed before the lease of another claim expired. */
  isPremature: boolean
}

/**
 * Adds triggers that record every status transition and every claim, because the final state cannot
 * show what happened in between. A delivery that moves between queue and history keeps its previous
 * status as `from`. A lease that a test ends is not recorded.
 */
export async function recordDeliveryTransitions({ pool }: Database): Promise<void> {
  await pool.query(
    `create table recorded_transitions (
       position bigint generated always as identity primary key,
       tracker_id uuid not null, event_id text not null, id bigint not null,
       worker text not null, status_before text, status_after text not null,
       is_claim boolean not null, is_premature boolean not null
     )`,
  )
  await pool.query('create index on recorded_transitions (tracker_id, event_id, id, position)')
  await pool.query(
    `create function record_delivery_transition() returns trigger language plpgsql as $$
     begin
       if tg_op = 'INSERT' then
         insert into recorded_transitions (tracker_id, event_id, id, worker, status_before,
           status_after, is_claim, is_premature)
         values (new.tracker_id, new.event_id, new.id, current_setting('application_name'),
           (select status_after from recorded_transitions move
            where move.tracker_id = new.tracker_id and move.event_id = new.event_id
              and move.id = new.id
            order by position desc limit 1),
           new.status, false, false);
       elsif new.status <> old.status or new.attempt_count <> old.attempt_count then
         insert into recorded_transitions (tracker_id, event_id, id, worker, status_before,
           status_after, is_claim, is_premature)
         values (new.tracker_id, new.event_id, new.id, current_setting('application_name'),
           old.status, new.status, new.attempt_count > old.attempt_count,
           new.attempt_count > old.attempt_count
             and coalesce(old.leased_until > statement_timestamp(), false));
       end if;
       return null;
     end $$`,
  )
  for (const table of ['delivery_queue', 'deliveries']) {
    await pool.query(
      `create trigger record_delivery_transition after insert or update on ${table}
       for each row execute function record_delivery_transition()`,
    )
  }
}

/** All recorded transitions, oldest first. */
async function readDeliveryTransitions({ pool }: Database): Promise<DeliveryTransition[]> {
  const { rows } = await pool.query('select * from recorded_transitions order by position')
  return rows.map(row => ({
    trackerId: row.tracker_id,
    eventId: row.event_id,
    id: row.id,
    worker: row.worker,
    from: row.status_before,
    to: row.status_after,
    isClaim: row.is_claim,
    isPremature: row.is_premature,
  }))
}

/** Expires the leases of these workers only. */
export async function expireWorkerLeases(
  { pool }: Database,
  workers: readonly string[],
): Promise<void> {
  await pool.query(
    `update delivery_queue set leased_until = statement_timestamp() - interval '1 second'
     where leased_until is not null and (
       select move.worker from recorded_transitions move
       where move.tracker_id = delivery_queue.tracker_id
         and move.event_id = delivery_queue.event_id and move.id = delivery_queue.id
       order by move.position desc limit 1
     ) = any($1::text[])`,
    [workers],
  )
}
