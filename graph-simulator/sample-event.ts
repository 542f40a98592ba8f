import { createHash } from 'node:crypto'

export type SampleEvent = Record<string, unknown>

/** The initial time of the simulators in tests. */
export const SAMPLE_NOW = new Date('2026-11-21T12:00:00.000Z')

export const SAMPLE_NOW_SECONDS = SAMPLE_NOW.getTime() / 1_000

export const SAMPLE_DIGEST = createHash('sha256').update('ada@example.com').digest('hex')

/** An event that Meta would accept, with the given members replacing its own. */
export function sampleEvent(members: SampleEvent = {}): SampleEvent {
  return {
    event_name: 'PageView',
    event_time: SAMPLE_NOW_SECONDS - 60,
    event_id: 'event-1',
    action_source: 'website',
    event_source_url: 'https://shop.example/checkout',
    user_data: { em: [SAMPLE_DIGEST], client_user_agent: 'Mozilla/5.0' },
    ...members,
  }
}

/** A Purchase that Meta would accept. */
export function samplePurchase(members: SampleEvent = {}): SampleEvent {
  return sampleEvent({
    event_name: 'Purchase',
    custom_data: { value: 19.95, currency: 'USD', order_id: 'order-1' },
    ...members,
  })
}
