import { decimalToken } from '@signalbox/contract/decimal.ts'
import { isObject } from '../../util/is-object.ts'
import type { DataProcessing, OriginalEvent, OutboundEvent, TargetConfig } from '../platform.ts'

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
  const { messagingChannel, advertiserTracking, customerSegment } = event
  return {
    event_name: event.eventName,
    event_time: toSeconds(event.eventTime),
    event_id: event.eventId,
    action_source: event.actionSource,
    ...(event.eventSource === null ? {} : { event_source_url: event.eventSource }),
    ...(event.referrer === null ? {} : { referrer_url: event.referrer }),
    ...(event.optOut ? { opt_out: true } : {}),
    ...(event.dataProcessing === null ? {} : processingOptions(event.dataProcessing)),
    ...(messagingChannel === null ? {} : { messaging_channel: messagingChannel }),
    ...(advertiserTracking === null ? {} : { advertiser_tracking_enabled: advertiserTracking }),
    ...(customerSegment === null ? {} : { customer_segmentation: customerSegment }),
    ...(event.originalEvent === null
      ? {}
      : { original_event_data: originalEventData(event.originalEvent) }),
    user_data: { ...event.digests, ...readSingleDigests(event.digests), ...event.plain },
    ...(event.appData === null ? {} : { app_data: event.appData }),
    ...(Object.keys(customData).length === 0 ? {} : { custom_data: customData }),
  }
}

/** Meta's SDKs send these keys as one text, and the others as a list. */
const SINGLE_KEYS = ['fi', 'f5first', 'f5last', 'doby', 'dobm', 'dobd', 'app_user_id']

function readSingleDigests(digests: OutboundEvent['digests']): Record<string, string> {
  const single: Record<string, string> = {}
  for (const key of SINGLE_KEYS) {
    const [digest, ...others] = digests[key] ?? []
    if (digest !== undefined && others.length === 0) single[key] = digest
  }
  return single
}

/** Meta: Data Processing Options. */
function processingOptions({ options, country, state }: DataProcessing): Record<string, unknown> {
  return {
    ...(options === null ? {} : { data_processing_options: options }),
    ...(country === null ? {} : { data_processing_options_country: country }),
    ...(state === null ? {} : { data_processing_options_state: state }),
  }
}

function originalEventData(original: OriginalEvent): Record<string, unknown> {
  return {
    event_name: original.eventName,
    event_time: toSeconds(original.eventTime),
    ...(original.orderId === null ? {} : { order_id: original.orderId }),
    event_id: original.eventId,
  }
}

function toSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1_000)
}

/**
 * Meta: Standard Parameters. Money is written digit by digit, never as a float. Custom properties
 * come first, so that none can take the place of a standard one.
 */
function customDataOf(event: OutboundEvent): Record<string, unknown> {
  return {
    ...event.commerce.customProperties,
    ...(event.valueAmount === null ? {} : { value: decimalToken(event.valueAmount) }),
    ...(event.valueCurrency === null ? {} : { currency: event.valueCurrency }),
    ...(event.orderId === null ? {} : { order_id: event.orderId }),
    ...(event.numItems === null ? {} : { num_items: event.numItems }),
    ...contentsOf(event),
    ...commerceOf(event.commerce),
  }
}

const CONTENT_TYPE_DEFAULT = 'product'

function contentsOf({ contents, commerce }: OutboundEvent): Record<string, unknown> {
  const items = contents.filter(isObject)
  const { contentType, contentIds } = commerce
  const ids =
    contentIds.length > 0
      ? contentIds.map(String)
      : items.flatMap(({ id }) => (isContentId(id) ? String(id) : []))
  const type = contentType ?? (items.length + ids.length > 0 ? CONTENT_TYPE_DEFAULT : null)
  return {
    ...(items.length === 0 ? {} : { contents: items }),
    ...(type === null ? {} : { content_type: type }),
    ...(ids.length === 0 ? {} : { content_ids: ids }),
  }
}

function commerceOf(commerce: OutboundEvent['commerce']): Record<string, unknown> {
  const { contentName, contentCategory, searchString, status, deliveryCategory } = commerce
  const { predictedLifetimeValue, netRevenue } = commerce
  return {
    ...(contentName === null ? {} : { content_name: contentName }),
    ...(contentCategory === null ? {} : { content_category: contentCategory }),
    ...(searchString === null ? {} : { search_string: searchString }),
    ...(status === null ? {} : { status }),
    ...(predictedLifetimeValue === null
      ? {}
      : { predicted_ltv: decimalToken(predictedLifetimeValue) }),
    ...(netRevenue === null ? {} : { net_revenue: decimalToken(netRevenue) }),
    ...(deliveryCategory === null ? {} : { delivery_category: deliveryCategory }),
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
