import type { OutboundEvent } from '../service/platforms/platform.ts'

/** An event as an adapter gets it, the least that a platform takes; members can be replaced. */
export function outboundEvent(changes: Partial<OutboundEvent> = {}): OutboundEvent {
  return {
    eventId: 'order-1001',
    eventName: 'Purchase',
    eventTime: new Date('2026-11-21T11:59:00.999Z'),
    actionSource: 'website',
    eventSource: 'https://shop.example/checkout',
    digests: { em: ['e'.repeat(64)] },
    plain: { client_user_agent: 'Mozilla/5.0' },
    valueAmount: '19.90',
    valueCurrency: 'EUR',
    orderId: null,
    contents: [],
    numItems: null,
    optOut: false,
    ...changes,
  }
}
