import { omitNull } from '../../../runtime/util/is-object.ts'
import { DAY_SECONDS } from '../../../runtime/util/time.ts'
import type { ContentItem } from '../../events/order-contents.ts'
import { findDigestError, findHeadError, isRestricted, toLocalError } from '../event-checks.ts'
import { listProductIds, readOrderItem } from '../order-items.ts'
import type { EventNames, OutboundEvent, SendError } from '../platform.ts'
import { findValueError, isDecimal, toMoneyNumber, toUnixSeconds } from '../units.ts'
import { canMatchPerson } from './normalize-identity.ts'

/** As another sender read Microsoft's page on 2026-09-03. */
export const WINDOW_SECONDS = 7 * DAY_SECONDS

const PAGE_LOAD = 'pageLoad'
const REFUND = 'Refund'

/** The body of `POST /v1/{tag}/events`. What is valid is kept beside what is not. */
export function microsoftPayload(events: readonly OutboundEvent[]): Record<string, unknown> {
  return { data: events.map(eventOf), continueOnValidationError: true }
}

function eventOf(event: OutboundEvent): Record<string, unknown> {
  const customData = customDataOf(event)
  const name = toMicrosoftName(event.platformName)
  return omitNull({
    eventType: name === PAGE_LOAD ? PAGE_LOAD : 'custom',
    eventName: name === PAGE_LOAD ? null : name,
    eventId: event.eventId,
    eventTime: toUnixSeconds(event.eventTime),
    eventSourceUrl: event.eventSource || null,
    referrerUrl: event.referrer || null,
    adStorageConsent: isRestricted(event) ? 'D' : 'G',
    userData: userDataOf(event),
    customData: Object.keys(customData).length === 0 ? null : customData,
  })
}

/** The advertiser names the events of goals, so a name stays what it is. */
export function toMicrosoftName(name: string): string {
  return name === 'PageView' ? PAGE_LOAD : name
}

export const EVENT_NAMES: EventNames = { known: ['PageView', PAGE_LOAD], read: toMicrosoftName }

function userDataOf({ digests, plain }: OutboundEvent): Record<string, unknown> {
  return omitNull({
    em: digests.em?.[0] ?? null,
    ph: digests.ph?.[0] ?? null,
    externalId: digests.external_id?.[0] ?? null,
    msclkid: plain.msclkid || null,
    clientIpAddress: plain.client_ip_address || null,
    clientUserAgent: plain.client_user_agent || null,
  })
}

function customDataOf(event: OutboundEvent): Record<string, unknown> {
  const ids = listProductIds(event)
  return omitNull({
    value: toMoney(event.valueAmount),
    currency: event.valueCurrency?.toUpperCase() || null,
    transactionId: event.orderId || null,
    itemIds: ids.length === 0 ? null : ids,
    items: event.contents.length === 0 ? null : event.contents.map(itemOf),
  })
}

function itemOf(item: ContentItem): Record<string, unknown> {
  const { id, name, price, quantity } = readOrderItem(item)
  return omitNull({ id, name, price: toMoney(price), quantity })
}

function toMoney(amount: string | null): number | null {
  return amount !== null && isDecimal(amount) ? toMoneyNumber(amount) : null
}

const HASHED_KEYS = ['em', 'ph', 'external_id']

/** Why Microsoft would refuse this event. */
export function validateMicrosoftEvent(event: OutboundEvent): SendError | null {
  const message =
    findHeadError(event) ??
    findRequiredError(event) ??
    findDigestError(event, HASHED_KEYS) ??
    findIdentityError(event) ??
    findValueError(event.valueAmount, event.valueCurrency)
  return toLocalError(message)
}

function findRequiredError(event: OutboundEvent): string | null {
  const name = toMicrosoftName(event.platformName)
  if (name === REFUND) {
    return 'Refunds are not sent to Microsoft. To send one as another event, name it in the map.'
  }
  if (name.trim() === '') return 'An event needs a name.'
  return name === PAGE_LOAD && !event.eventSource
    ? 'A page view needs the address of the page: send event_source.'
    : null
}

function findIdentityError(event: OutboundEvent): string | null {
  return canMatchPerson(event)
    ? null
    : 'The event needs user_data.em, ph or external_id, or the click ID msclkid.'
}
