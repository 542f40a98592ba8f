/** A purchase that a shop would send; members can be replaced or, with undefined, left out. */
export function samplePurchase(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    event_id: 'order-1001',
    event_name: 'Purchase',
    consent_basis: 'consent',
    event_source: 'https://shop.example/checkout',
    visitor_id: 'visitor-1',
    consent: { ad_user_data: 'granted', captured_at: '2026-11-21T11:00:00Z' },
    user_data: { em: 'jane@example.com', client_user_agent: 'Mozilla/5.0' },
    value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
    ...changes,
  }
}
