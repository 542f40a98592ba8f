import type { Page } from './page.ts'
import { readCookie } from './read-cookie.ts'
import type { WaitingEvent } from './tag-state.ts'

/**
 * An event on the basis of consent, still without its evidence (contract: ConsentEvent). Only
 * here are the Pixel's cookies read; an fbp or fbc is taken over, never invented.
 */
export function consentedEvent(
  { page, landingUrl }: { page: Page; landingUrl: string },
  members: WaitingEvent['members'],
  visitor_id: string,
): object {
  return {
    ...members,
    consent_basis: 'consent',
    visitor_id,
    click_ids: {
      fbclid: fbclidOf(members.event_source) || fbclidOf(landingUrl),
      fbc: readCookie(page, '_fbc'),
      fbp: readCookie(page, '_fbp'),
      ...members.click_ids,
    },
  }
}

function fbclidOf(url: string): string | undefined {
  return new URL(url).searchParams.get('fbclid') || undefined
}
