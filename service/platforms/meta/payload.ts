import { decimalToken } from '@signalbox/contract/decimal.ts'
import { isObject } from '../../util/is-object.ts'
import type { OutboundEvent, TargetConfig } from '../platform.ts'

/** Meta wants fewer than 23 characters with at least two letters. */
const PARTNER_AGENT = 'signalbox'

/** The body of `POST /{version}/{dataset}/events` (Meta: Conversions API, Using the API). */
export function metaPayload(
  events: readonly OutboundEvent[],
  testCode: string | null,
): Record<string, unknown> {
  return {
    data: events.map(serverEvent),
    partner_agent: PARTNER_AGENT,
    ...(testCode === null ? {} : { test_event_code: testCode }),
  }
}

/** Meta: Server Event Parameters. */
function serverEvent(event: OutboundEvent): Record<string, unknown> {
  const customData = customDataOf(event)
  return {
    event_name: event.eventName,
    event_time: Math.floor(event.eventTime.getTime() / 1_000),
    event_id: event.eventId,
    action_source: event.actionSource,
    ...(event.eventSource === null ? {} : { event_source_url: event.eventSource }),
    ...(event.optOut ? { opt_out: true } : {}),
    user_data: { ...event.digests, ...event.plain },
    ...(Object.keys(customData).length === 0 ? {} : { custom_data: customData }),
  }
}

/** Meta: Standard Parameters. The value is written digit by digit, never as a float. */
function customDataOf(event: OutboundEvent): Record<string, unknown> {
  const contents = event.contents.filter(isObject)
  const contentIds = contents.flatMap(({ id }) => (isContentId(id) ? String(id) : []))
  return {
    ...(event.valueAmount === null ? {} : { value: decimalToken(event.valueAmount) }),
    ...(event.valueCurrency === null ? {} : { currency: event.valueCurrency }),
    ...(event.orderId === null ? {} : { order_id: event.orderId }),
    ...(event.numItems === null ? {} : { num_items: event.numItems }),
    ...(contents.length === 0 ? {} : { contents, content_type: 'product' }),
    ...(contentIds.length === 0 ? {} : { content_ids: contentIds }),
  }
}

function isContentId(id: unknown): id is string | number {
  return typeof id === 'number' || (typeof id === 'string' && id !== '')
}

/** Where Meta receives events. */
export interface MetaTarget {
  datasetId: string
}

/** Dataset IDs are numbers of about 16 digits; the ID becomes a part of a URL's path. */
const DATASET_ID = /^\d{1,20}$/

/** Reads the stored `config` of a destination: `{"dataset_id": "..."}`. */
export function parseMetaTarget({ dataset_id }: TargetConfig): MetaTarget | null {
  return typeof dataset_id === 'string' && DATASET_ID.test(dataset_id)
    ? { datasetId: dataset_id }
    : null
}
