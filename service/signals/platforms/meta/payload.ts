import { isCurrencyCode } from '@signalbox/contract/currencies.ts'
import { DECIMAL_PATTERN } from '@signalbox/contract/decimal.ts'
import { ACTION_SOURCES } from '@signalbox/contract/event-context.ts'
import { omitNull } from '../../../runtime/util/is-object.ts'
import type { PlatformIdentity } from '../../identity/normalize-user-data.ts'
import type {
  DataProcessing,
  MatchKey,
  OriginalEvent,
  OutboundEvent,
  SendError,
  TargetConfig,
} from '../platform.ts'
import { toSendError } from '../send-answer.ts'
import { toMoneyNumber, toUnixSeconds } from '../units.ts'
import { HASHED_FIELD_RULES, PLAIN_FIELD_RULES } from './normalize-identity.ts'

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
  return omitNull({
    event_name: event.platformName,
    event_time: toUnixSeconds(event.eventTime),
    event_id: event.eventId,
    action_source: toMetaActionSource(event.actionSource),
    event_source_url: event.eventSource,
    referrer_url: event.referrer,
    opt_out: event.optOut || null,
    ...processingOptions(event.dataProcessing),
    messaging_channel: event.messagingChannel,
    advertiser_tracking_enabled: event.advertiserTracking,
    customer_segmentation: event.customerSegment,
    original_event_data: event.originalEvent && originalEventData(event.originalEvent),
    user_data: { ...event.digests, ...readSingleDigests(event.digests), ...event.plain },
    app_data: event.appData,
    custom_data: Object.keys(customData).length === 0 ? null : customData,
  })
}

/** Meta requires one of its own words. */
function toMetaActionSource(source: string): string {
  return ACTION_SOURCES.find(known => known === source) ?? 'other'
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
function processingOptions(processing: DataProcessing | null): Record<string, unknown> {
  return {
    data_processing_options: processing?.options ?? null,
    data_processing_options_country: processing?.country ?? null,
    data_processing_options_state: processing?.state ?? null,
  }
}

function originalEventData(original: OriginalEvent): Record<string, unknown> {
  return omitNull({
    event_name: original.eventName,
    event_time: toUnixSeconds(original.eventTime),
    order_id: original.orderId,
    event_id: original.eventId,
  })
}

/**
 * Meta: Standard Parameters. Money is written digit by digit, never as a float. Custom properties
 * come first, so that none can take the place of a standard one.
 */
function customDataOf(event: OutboundEvent): Record<string, unknown> {
  const { commerce } = event
  return {
    ...commerce.customProperties,
    ...omitNull({
      value: toMoney(event.valueAmount),
      currency: event.valueCurrency,
      order_id: event.orderId,
      num_items: event.numItems,
      ...contentsOf(event),
      content_name: commerce.contentName,
      content_category: commerce.contentCategory,
      search_string: commerce.searchString,
      status: commerce.status,
      predicted_ltv: toMoney(commerce.predictedLifetimeValue),
      net_revenue: toMoney(commerce.netRevenue),
      delivery_category: commerce.deliveryCategory,
    }),
  }
}

function toMoney(amount: string | null) {
  return amount === null ? null : toMoneyNumber(amount)
}

/** Without a content type Meta matches the IDs with a product only. */
function contentsOf({ contents, commerce }: OutboundEvent): Record<string, unknown> {
  const { contentTypes, contentIds } = commerce
  const ids = (contentIds.length > 0 ? contentIds : contents.map(({ id }) => id)).map(String)
  const [onlyType] = contentTypes
  return {
    contents: contents.length === 0 ? null : contents,
    content_type: contentTypes.length > 1 ? contentTypes : (onlyType ?? null),
    content_ids: ids.length === 0 ? null : ids,
  }
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

/**
 * Why Meta would refuse this event. It is checked before sending, because Meta refuses the whole
 * batch for one bad event. What Meta documents but does not enforce is not required: a website
 * event passes without `client_user_agent` and `event_source_url`. The caller checks the age
 * (`Platform.windowSeconds`), and no event time is in the future (`OutboundEvent.eventTime`).
 */
export function validateMetaEvent(event: OutboundEvent): SendError | null {
  const message = validateServerEvent(event) ?? validateUserData(event) ?? validateCustomData(event)
  return message === null ? null : toSendError('local', { message })
}

function validateServerEvent({ platformName, eventTime }: OutboundEvent): string | null {
  if (platformName === '') return 'An event needs an event_name.'
  return Number.isNaN(eventTime.getTime()) ? 'The event_time is no time.' : null
}

/** Meta takes it hashed or not. */
const HASHED_OR_PLAIN_KEY = 'external_id'
const DIGEST = /^[0-9a-f]{64}$/i

/** Meta: Customer Information Parameters. Members that Meta does not know identify no one. */
function validateUserData({ digests, plain }: OutboundEvent): string | null {
  const present: string[] = []
  for (const [key, member] of Object.entries({ ...digests, ...plain })) {
    const values = [member].flat().filter(value => value !== '')
    const isHashed = Object.hasOwn(HASHED_FIELD_RULES, key) && key !== HASHED_OR_PLAIN_KEY
    if (isHashed && !values.every(value => DIGEST.test(value))) {
      return `The user_data.${key} must be a SHA-256 digest.`
    }
    const isKnown = isHashed || key === HASHED_OR_PLAIN_KEY || Object.hasOwn(PLAIN_FIELD_RULES, key)
    if (isKnown && values.length > 0) present.push(key)
  }
  return hasSufficientMatchKeys(present)
    ? null
    : 'The user_data holds too little to match a person: add an email, phone or external_id.'
}

const DECIMAL = new RegExp(DECIMAL_PATTERN)
const BELOW_ZERO = /^-.*[1-9]/

/** Meta: Standard Parameters. */
function validateCustomData({
  platformName,
  valueAmount,
  valueCurrency,
}: OutboundEvent): string | null {
  const isPurchase = platformName === 'Purchase'
  if (isPurchase && !valueAmount) return 'A Purchase needs value_data.value.'
  if (isPurchase && !valueCurrency) return 'A Purchase needs value_data.currency.'
  if (valueAmount !== null && !DECIMAL.test(valueAmount)) {
    return 'The value_data.value must be a decimal number.'
  }
  if (isPurchase && BELOW_ZERO.test(valueAmount ?? '')) {
    return 'A Purchase cannot have a negative value.'
  }
  if (valueCurrency && !isCurrencyCode(valueCurrency)) {
    return 'The value_data.currency must be a currency of ISO 4217.'
  }
  return null
}

/**
 * The keys by what they usually weigh, the heaviest first (Meta, Best Practices for Conversions
 * API, "Customer information parameters": email, phone, click id and external id before the rest).
 */
export const MATCH_KEYS: readonly MatchKey[] = [
  { key: 'em', from: '`user_data.em`', enoughPercent: 80 },
  { key: 'ph', from: '`user_data.ph`', enoughPercent: 50 },
  {
    key: 'fbc',
    from: '`user_data.fbc`, or the whole address of the page as `event_source`',
    enoughPercent: 0.1,
  },
  { key: 'external_id', from: '`user_data.external_id`', enoughPercent: 80 },
  { key: 'fbp', from: '`user_data.fbp` (the cookie _fbp)', enoughPercent: 60 },
  { key: 'client_ip_address', from: '`user_data.client_ip_address`', enoughPercent: 90 },
  { key: 'client_user_agent', from: '`user_data.client_user_agent`', enoughPercent: 90 },
  { key: 'fn', from: '`user_data.fn`', enoughPercent: 50 },
  { key: 'ln', from: '`user_data.ln`', enoughPercent: 50 },
  { key: 'zp', from: '`user_data.zp`', enoughPercent: 50 },
  { key: 'ct', from: '`user_data.ct`', enoughPercent: 50 },
  { key: 'st', from: '`user_data.st`', enoughPercent: 50 },
  { key: 'country', from: '`user_data.country`', enoughPercent: 50 },
]

/**
 * Key sets too broad to point at a person. Meta refuses them since v13 (100/2804050). A part of a
 * name or of a birth date counts as the whole, which says more.
 */
const INSUFFICIENT_KEY_SETS = [
  ['ct', 'country', 'st', 'zp', 'ge', 'client_user_agent'],
  ['db', 'doby', 'dobm', 'dobd', 'client_user_agent'],
  ['fn', 'fi', 'f5first', 'ge'],
  ['ln', 'f5last', 'ge'],
].map(keys => new Set(keys))

/**
 * Whether these `user_data` keys are enough for Meta to look for a person at all: the keys must
 * not all lie within one of the too-broad sets ("Best Practices - Conversions API"). One refused
 * event costs its whole batch, so this is checked before sending. No keys are not enough.
 */
export function hasSufficientMatchKeys(keys: string[]): boolean {
  return !INSUFFICIENT_KEY_SETS.some(tooBroad => keys.every(key => tooBroad.has(key)))
}

/** Whether Meta would look for a person at all, as far as the event alone tells. */
export function canMatchPerson(
  { digests, plain }: PlatformIdentity,
  clickIds: Record<string, string>,
): boolean {
  const cookies = ['fbc', 'fbp'].filter(name => Object.hasOwn(clickIds, name))
  return hasSufficientMatchKeys([...Object.keys(digests), ...Object.keys(plain), ...cookies])
}
