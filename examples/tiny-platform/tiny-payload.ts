import type { OutboundEvent } from '../../service/signals/platforms/platform.ts'

/** A sale of the tiny platform: `[id, name, unix seconds, person, amount]`. */
export type TinySale = [string, string, number, string, string | null]

export function tinyPayload(events: readonly OutboundEvent[]): TinySale[] {
  return events.map(({ eventId, platformName, eventTime, digests, valueAmount }) => [
    eventId,
    platformName,
    Math.floor(eventTime.getTime() / 1_000),
    digests.person?.[0] ?? '',
    valueAmount,
  ])
}
