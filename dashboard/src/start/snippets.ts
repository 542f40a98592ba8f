/** The REST API of this installation. */
const baseUrl = () => `${location.origin}/api/v1`

/** Commands for a shell that has the tracker secret in SIGNALBOX_SECRET. */
export function verificationCommand(): string {
  return [
    `curl -X POST ${baseUrl()}/verification-events \\`,
    '  -H "Authorization: Bearer $SIGNALBOX_SECRET"',
  ].join('\n')
}

export function firstEventCommand(): string {
  return postCommand({ path: 'events', variable: 'SIGNALBOX_SECRET', body: formatBody(PURCHASE) })
}

export function sandboxCommands(body: string): string {
  return [
    `curl -X POST ${baseUrl()}/sandbox/keys`,
    '# Put the api_key of the answer into SANDBOX_KEY, then:',
    postCommand({ path: 'sandbox/keyed-events', variable: 'SANDBOX_KEY', body }),
  ].join('\n')
}

interface PostCommand {
  path: string
  variable: string
  body: string
}

function postCommand({ path, variable, body }: PostCommand): string {
  return [
    `curl -X POST ${baseUrl()}/${path} \\`,
    `  -H "Authorization: Bearer $${variable}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '${body.replaceAll("'", String.raw`'\''`)}'`,
  ].join('\n')
}

/** When the page was opened: neither too old nor in the future. */
const CAPTURED_AT = `${new Date().toISOString().slice(0, 19)}Z`

const PURCHASE = {
  event_id: 'order-1001',
  event_name: 'Purchase',
  consent_basis: 'consent',
  consent: { ad_user_data: 'granted', captured_at: CAPTURED_AT },
  user_data: { em: 'customer@example.com' },
  value_data: { value: '19.95', currency: 'EUR', order_id: '1001' },
}

export function formatBody(body: object): string {
  return JSON.stringify(body, null, 2)
}

const captured = { captured_at: CAPTURED_AT }

/** Bodies for the playground, each with another answer. */
export const EXAMPLES: readonly { label: string; body: object }[] = [
  { label: 'A purchase with consent', body: PURCHASE },
  {
    label: 'A purchase whose consent is denied',
    body: { ...PURCHASE, consent: { ad_user_data: 'denied', ...captured } },
  },
  {
    label: 'A purchase without a readable signal of consent',
    body: { ...PURCHASE, consent: { banner: 'closed', ...captured } },
  },
  {
    label: 'A purchase without a currency',
    body: { ...PURCHASE, value_data: { value: '19.95' } },
  },
]
