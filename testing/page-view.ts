/** What a page of the sample shop sends; members can be replaced or, with undefined, left out. */
export function pageView(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    event_id: 'view-1',
    event_name: 'PageView',
    consent_basis: 'consent',
    event_source: 'https://shop.example/',
    visitor_id: 'visitor-1',
    consent: { ad_user_data: 'granted', captured_at: '2026-11-21T11:00:00Z' },
    ...changes,
  }
}

export const SHOP_ORIGIN = 'https://shop.example'
