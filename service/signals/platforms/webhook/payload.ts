import type { Erasure, OutboundEvent, SendError } from '../platform.ts'
import { toSendError } from '../send-answer.ts'
import { toRfc3339 } from '../units.ts'

/** The type of a message with events. */
export const EVENTS_TYPE = 'events.accepted'

/**
 * The body of a message: `contract/webhook-message.schema.json`. It depends on the events alone, so
 * that a repeated batch has the same body and the same ID.
 */
export function buildMessage(
  events: readonly OutboundEvent[],
  { isTest }: { isTest: boolean },
): string {
  const times = events.map(({ eventTime }) => eventTime.getTime())
  return JSON.stringify({
    type: EVENTS_TYPE,
    timestamp: toRfc3339(new Date(Math.max(...times))),
    ...(isTest && { test: true }),
    data: { events: events.map(toWebhookEvent) },
  })
}

/** The message that a person was erased. Which identifier the digest is of is not known. */
export function buildErasureMessage({ digest, erasedAt }: Erasure): string {
  const timestamp = toRfc3339(erasedAt)
  return JSON.stringify({ type: 'person.erased', timestamp, data: { sha256: [digest] } })
}

/** Money is decimal text; identity is digests and click IDs only. */
function toWebhookEvent(event: OutboundEvent): Record<string, unknown> {
  const { commerce, digests, originalEvent, plain } = event
  return omitEmpty({
    event_id: event.eventId,
    event_name: event.platformName,
    event_time: toRfc3339(event.eventTime),
    action_source: event.actionSource,
    event_source: event.eventSource,
    value: event.valueAmount,
    currency: event.valueCurrency,
    order_id: event.orderId,
    contents: event.contents,
    num_items: event.numItems,
    custom_properties: commerce.customProperties,
    customer_segment: event.customerSegment,
    consent: toConsent(event),
    user: omitEmpty({
      email_sha256: digests.em,
      phone_sha256: digests.ph,
      external_id_sha256: digests.external_id,
    }),
    click_ids: plain,
    parent: originalEvent && {
      event_id: originalEvent.eventId,
      event_name: originalEvent.eventName,
      event_time: toRfc3339(originalEvent.eventTime),
    },
  })
}

/** What the person allows. An event is sent only where user data is granted. */
function toConsent({ adConsent, optOut, dataProcessing }: OutboundEvent) {
  return omitEmpty({
    ad_user_data: 'granted',
    ad_personalization: adConsent.personalization && !optOut ? 'granted' : 'denied',
    data_processing_options: dataProcessing?.options,
    data_processing_options_country: dataProcessing?.country,
    data_processing_options_state: dataProcessing?.state,
  })
}

/** Leaves out what the event does not have; an empty list of data processing options is a value. */
function omitEmpty(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).filter(([name, value]) => {
      if (value === null || value === undefined) return false
      if (name === 'data_processing_options' || typeof value !== 'object') return true
      return Object.keys(value).length > 0
    }),
  )
}

/** Nothing is refused for its content before it is sent: the endpoint decides. */
export function validateWebhookEvent({ eventTime }: OutboundEvent): SendError | null {
  if (!Number.isNaN(eventTime.getTime())) return null
  return toSendError('local', { message: 'The event_time is no time.' })
}
