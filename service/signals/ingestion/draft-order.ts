import {
  ACTION_SOURCES,
  APP_DATA_MEMBERS,
  type AppData,
} from '@signalbox/contract/event-context.ts'
import type { EventSubmission } from '@signalbox/contract/submissions.ts'
import { VALUE_DATA_MEMBERS, type ValueData } from '@signalbox/contract/value-data.ts'
import { isObject } from '../../runtime/util/is-object.ts'
import {
  type EventDetails,
  PURCHASE,
  REFUND,
  toOrderKey,
  toRefundKey,
  type UseRestrictions,
} from '../events/event-record.ts'
import {
  findUnsentReason,
  listContentIds,
  readContentId,
  readIdText,
} from '../events/order-contents.ts'
import { IDENTIFYING_KEYS } from '../events/person-identifiers.ts'
import {
  DROP_REASONS,
  type DroppedField,
  formatMemberPath,
  MEMBERS_MAX,
  recordDropped,
} from '../identity/dropped-fields.ts'
import { scrubUrl } from '../identity/scrub-url.ts'
import { findIdentityMember } from '../identity/user-data-keys.ts'
import { containsIdentifier } from './redact-submission.ts'
import { readActionSource } from './submission-rules.ts'

export interface OrderDraft {
  orderId: string | null
  /** Decimal text. */
  amount: string | null
  currency: string | null
  /** JSON text of everything that is stored, including the three members above. */
  json: string
}

/**
 * The part of `value_data` that is stored: its known members in the order of the contract, which
 * the compression of the column expects. What else it holds is recorded in `dropped`.
 */
export function draftOrder(
  value: EventSubmission['value_data'],
  dropped: DroppedField[],
): OrderDraft | null {
  if (!value) return null
  for (const name of Object.keys(value)) {
    if (VALUE_DATA_MEMBERS.has(name)) continue
    recordDropped(dropped, formatMemberPath('value_data', name), DROP_REASONS.unknown)
  }
  const currency = value.currency?.toUpperCase()
  const { value: amount, contents, num_items } = value
  const order_id = draftOrderId(value.order_id, dropped)
  recordUnsentItems(contents, dropped)
  return {
    orderId: order_id ?? null,
    amount: amount ?? null,
    currency: currency ?? null,
    json: JSON.stringify({
      value: amount,
      currency,
      order_id,
      contents,
      num_items,
      content_type: value.content_type,
      content_ids: draftContentIds(value.content_ids, dropped),
      content_name: value.content_name,
      content_category: value.content_category,
      search_string: value.search_string,
      status: value.status,
      predicted_ltv: value.predicted_ltv,
      net_revenue: value.net_revenue,
      delivery_category: value.delivery_category,
      custom_properties: value.custom_properties,
    }),
  }
}

/** Undefined for an ID that was never filled: it would make one order of many. */
function draftOrderId(orderId: ValueData['order_id'], dropped: DroppedField[]): string | undefined {
  if (orderId === undefined) return undefined
  const read = readIdText(orderId)
  if (read !== null) return read
  const isBlank = orderId.trim() === ''
  recordDropped(
    dropped,
    'value_data.order_id',
    isBlank ? DROP_REASONS.empty : DROP_REASONS.placeholder,
  )
  return undefined
}

/** As a list, without IDs that were never filled. */
function draftContentIds(
  ids: ValueData['content_ids'],
  dropped: DroppedField[],
): (string | number)[] | undefined {
  if (ids === undefined) return undefined
  return listContentIds(ids).flatMap((id, index) => {
    const read = readContentId(id)
    if (read !== null) return [read]
    const place = Array.isArray(ids) ? `[${index}]` : ''
    recordDropped(dropped, `value_data.content_ids${place}`, DROP_REASONS.placeholder)
    return []
  })
}

/** Items are stored as they are; those that no platform takes are named. */
function recordUnsentItems(contents: ValueData['contents'], dropped: DroppedField[]): void {
  for (const [index, item] of (contents ?? []).entries()) {
    const reason = findUnsentReason(item)
    if (reason !== null) recordDropped(dropped, `value_data.contents[${index}]`, reason)
  }
}

/**
 * The action source as it is stored; one that no platform knows is named. The ledger is never
 * erased, so a word that names a person is not kept.
 */
export function draftActionSource(body: EventSubmission, dropped: DroppedField[]): string {
  const source = readActionSource(body.action_source)
  if (containsIdentifier(source)) {
    recordDropped(dropped, 'action_source', DROP_REASONS.identifier)
    return 'other'
  }
  if (!ACTION_SOURCES.some(known => known === source)) {
    recordDropped(dropped, 'action_source', DROP_REASONS.actionSource)
  }
  return source
}

const RESTRICTION_MEMBERS = [
  'opt_out',
  'data_processing_options',
  'data_processing_options_country',
  'data_processing_options_state',
] as const satisfies readonly (keyof UseRestrictions)[]

/** What the caller allows the platform to do with the event; null when nothing is said. */
export function draftRestrictions(body: EventSubmission): UseRestrictions | null {
  const given = RESTRICTION_MEMBERS.filter(name => body[name] !== undefined)
  return given.length === 0 ? null : Object.fromEntries(given.map(name => [name, body[name]]))
}

/** Details that may be personal and are kept with the identity; null when there are none. */
export function draftDetails(body: EventSubmission, dropped: DroppedField[]): EventDetails | null {
  const details: EventDetails = {}
  const referrer = draftReferrer(body.referrer_url, dropped)
  if (referrer !== null) details.referrer_url = referrer
  if (body.app_data !== undefined) details.app_data = selectAppData(body.app_data, dropped)
  if (body.messaging_channel !== undefined) details.messaging_channel = body.messaging_channel
  if (body.advertiser_tracking_enabled !== undefined) {
    details.advertiser_tracking_enabled = Boolean(body.advertiser_tracking_enabled)
  }
  if (body.customer_segmentation !== undefined) {
    details.customer_segmentation = body.customer_segmentation
  }
  return Object.keys(details).length === 0 ? null : details
}

const IDENTITY_MEMBERS = [
  'click_ids',
  'referrer_url',
  'app_data',
  'messaging_channel',
  'advertiser_tracking_enabled',
  'customer_segmentation',
] as const

/** What an event without a payload does not store. A withdrawal uses its identifiers. */
export function listUnstoredIdentity(body: EventSubmission): string[] {
  if (storesIdentity(body)) return []
  const userData = isObject(body.user_data) ? body.user_data : {}
  const unused = Object.keys(userData)
    .slice(0, MEMBERS_MAX)
    .filter(name => findIdentityMember({ [name]: userData[name] }, IDENTIFYING_KEYS) !== null)
  const members = IDENTITY_MEMBERS.filter(name => body[name] !== undefined)
  return [...unused.map(name => `user_data.${name}`), ...members]
}

/** Whether the event has a payload, by which an erasure finds it. */
export function storesIdentity({
  consent_basis,
  event_name,
}: Pick<EventSubmission, 'consent_basis' | 'event_name'>): boolean {
  return consent_basis === 'consent' && event_name !== 'consent_withdrawal'
}

/** A browser reports no referrer as empty text. Text that is no URL is dropped, not refused. */
function draftReferrer(referrer: string | undefined, dropped: DroppedField[]): string | null {
  if (referrer === undefined || referrer === '') return null
  if (!URL.canParse(referrer)) {
    recordDropped(dropped, 'referrer_url', DROP_REASONS.url)
    return null
  }
  const { url, scrubbed } = scrubUrl(referrer)
  for (const place of scrubbed) {
    recordDropped(dropped, `referrer_url (${place})`, DROP_REASONS.identifier)
  }
  return url
}

function selectAppData(appData: AppData, dropped: DroppedField[]): AppData {
  const selected: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(appData)) {
    if (APP_DATA_MEMBERS.has(name)) selected[name] = value
    else recordDropped(dropped, formatMemberPath('app_data', name), DROP_REASONS.unknown)
  }
  return selected
}

/**
 * What an event is looked up by besides its ID: a purchase and a refund that names no parent by
 * their order, and every event where pages may report the same one. Null for an order ID that a
 * token replaced: the token goes with the person, and a digest of it would not.
 */
export function findOrderKey(
  { event_name: eventName, parent_event_id: parentId }: EventSubmission,
  order: OrderDraft | null,
  { hasPages = false, redacted }: { hasPages?: boolean | undefined; redacted: readonly string[] },
): string | null {
  if (!order?.orderId || redacted.includes('value_data.order_id')) return null
  const hasOrder = eventName === PURCHASE || (eventName === REFUND && !parentId)
  return hasPages || hasOrder ? toOrderKey(eventName, order.orderId) : null
}

/** What a refund that names its purchase as its parent is looked up by. */
export function findRefundKey({
  event_name: eventName,
  parent_event_id: parentId,
}: EventSubmission): string | null {
  return eventName === REFUND && parentId ? toRefundKey(parentId) : null
}
