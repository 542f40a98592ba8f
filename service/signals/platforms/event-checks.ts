import type { OutboundEvent, SendError } from './platform.ts'
import { toSendError } from './send-answer.ts'

/** Checks of outbound events that several platforms share. */

/** The error of an event that is not sent; null without a message. */
export function toLocalError(message: string | null): SendError | null {
  return message === null ? null : toSendError('local', { message })
}

/** Why an event cannot be sent at all. */
export function findHeadError({
  eventId,
  eventTime,
}: Pick<OutboundEvent, 'eventId' | 'eventTime'>): string | null {
  if (eventId === '') return 'An event needs an event_id.'
  return Number.isNaN(eventTime.getTime()) ? 'The event_time is no time.' : null
}

const DIGEST = /^[0-9a-f]{64}$/

/** Which of the keys has something else than digests. */
export function findDigestError(
  { digests }: Pick<OutboundEvent, 'digests'>,
  keys: readonly string[],
): string | null {
  const invalid = keys.find(key => !(digests[key] ?? []).every(one => DIGEST.test(one)))
  return invalid === undefined ? null : `The user_data.${invalid} must be a SHA-256 digest.`
}

/** Tracking that the person, the device or the caller restricts. */
export function isOptedOut({ optOut, adConsent, advertiserTracking }: OutboundEvent): boolean {
  return optOut || !adConsent.personalization || advertiserTracking === false
}

/** Any restriction that a caller names limits the use, in whichever platform's word. */
export function isUseLimited({ dataProcessing }: OutboundEvent): boolean {
  return (dataProcessing?.options ?? []).length > 0
}

/** For platforms that know one restriction only. */
export function isRestricted(event: OutboundEvent): boolean {
  return isOptedOut(event) || isUseLimited(event)
}
