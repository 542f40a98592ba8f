import type { DeliveryStatus } from '@signalbox/contract/deliveries.ts'
import type { Database } from '../service/db/database.ts'
import type { SendOutcome } from '../service/platforms/platform.ts'
import { type AuditedMove, readAudit } from './delivery-audit.ts'
import type { ServiceUnderTest } from './service-under-test.ts'

/** What our side says, what the platform says, and what happened in between. */
export interface DeliveryStory {
  deliveries: readonly ToldDelivery[]
  /** By id. */
  attempts: ReadonlyMap<string, ToldAttempt>
  /** Oldest first. */
  receipts: readonly ToldReceipt[]
  moves: readonly AuditedMove[]
}

export interface ToldDelivery {
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
  /** In the order in which they were answered. */
  attemptIds: readonly string[]
  traceId: string | null
  isWaiting: boolean
}

export interface ToldAttempt {
  outcome: SendOutcome
  traceId: string | null
  isTest: boolean
}

/** An event that the platform has, once for each time that it came. */
export interface ToldReceipt {
  datasetId: string
  eventId: string
  eventName: string
  eventTimeSeconds: number
  /** Digit by digit as it was sent. */
  value: string | null
  currency: string | null
  testEventCode: string | null
  requestId: string
}

const RECEIPTS_MAX = 10_000

export async function readStory(service: ServiceUnderTest): Promise<DeliveryStory> {
  const { database, simulatorUrl } = service
  return {
    deliveries: await readDeliveries(database),
    attempts: await readAttempts(database),
    receipts: await readReceipts(simulatorUrl),
    moves: await readAudit(database),
  }
}

async function readDeliveries({ pool }: Database): Promise<ToldDelivery[]> {
  const { rows } = await pool.query(
    `select delivery.*, destination.config ->> 'dataset_id' as dataset_id, event.event_name,
       least(event.event_time, event.created_at) as told_time, event.value_amount,
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
    eventTime: row.told_time,
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

async function readAttempts({ pool }: Database): Promise<Map<string, ToldAttempt>> {
  const { rows } = await pool.query('select id, outcome, trace_id, is_test from send_attempts')
  return new Map(
    rows.map(row => [row.id, { outcome: row.outcome, traceId: row.trace_id, isTest: row.is_test }]),
  )
}

async function readReceipts(simulatorUrl: string): Promise<ToldReceipt[]> {
  const response = await fetch(`${simulatorUrl}/_simulator/received?limit=${RECEIPTS_MAX}`)
  const { count, events } = JSON.parse(await response.text(), asItWasSent)
  if (count !== events.length) throw new Error(`only ${events.length} of ${count} receipts`)
  return events.map((event: PrintedReceipt) => ({
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

interface PrintedReceipt {
  dataset: string
  event_id: string
  event_name: string
  event_time: number
  custom_data: { value?: string; currency?: string } | null
  test_event_code: string | null
  request_id: string
}

/** A number would lose the digits that this is about. */
function asItWasSent(name: string, value: unknown, ...context: { source?: string }[]): unknown {
  return name === 'value' && typeof value === 'number' ? context[0]?.source : value
}
