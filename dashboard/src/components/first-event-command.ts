import { type CodeSnippet, createEventSnippets, postCommand } from './code-snippets.ts'

/** The REST API of this installation. */
export const API_URL = `${location.origin}/api/v1`

/** Consent was captured when the page was opened: neither too long ago nor in the future. */
const CAPTURED_AT = `${new Date().toISOString().slice(0, 19)}Z`

/** A purchase that names a person, with consent. */
export const SAMPLE_PURCHASE = {
  event_id: 'order-1001',
  event_name: 'Purchase',
  consent_basis: 'consent',
  consent: { ad_user_data: 'granted', captured_at: CAPTURED_AT },
  user_data: { em: 'customer@example.com' },
  value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
}

/** Sends a purchase, with the secret of the tracker in `SIGNALBOX_TOKEN`. */
export function firstEventCommand(): string {
  const body = formatBody(SAMPLE_PURCHASE)
  return postCommand(`${API_URL}/events`, { variable: 'SIGNALBOX_TOKEN', body })
}

/** The same in the languages of the SDKs. */
export function firstEventSnippets(): CodeSnippet[] {
  return createEventSnippets({ origin: location.origin, body: formatBody(SAMPLE_PURCHASE) })
}

export function formatBody(body: object): string {
  return JSON.stringify(body, null, 2)
}
