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

/** Sends a purchase, with the secret of the tracker in `SIGNALBOX_SECRET`. */
export function firstEventCommand(): string {
  const body = formatBody(SAMPLE_PURCHASE)
  return postCommand({ path: 'events', variable: 'SIGNALBOX_SECRET', body })
}

export function formatBody(body: object): string {
  return JSON.stringify(body, null, 2)
}

interface PostCommand {
  path: string
  /** The environment variable that holds the credential. */
  variable: string
  body: string
}

export function postCommand({ path, variable, body }: PostCommand): string {
  return [
    `curl -X POST ${API_URL}/${path} \\`,
    `  -H "Authorization: Bearer $${variable}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '${body.replaceAll("'", String.raw`'\''`)}'`,
  ].join('\n')
}
