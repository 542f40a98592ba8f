import { API_URL, SAMPLE_PURCHASE } from '../components/first-event-command.ts'

/** Sends the verification event, with the secret of the tracker in `SIGNALBOX_TOKEN`. */
export function verificationCommand(): string {
  return [
    `curl -X POST ${API_URL}/verification-events \\`,
    '  -H "Authorization: Bearer $SIGNALBOX_TOKEN"',
  ].join('\n')
}

const { captured_at } = SAMPLE_PURCHASE.consent

/** Bodies for the playground, each with another answer. */
export const EXAMPLES: readonly { label: string; body: object }[] = [
  { label: 'A purchase with consent', body: SAMPLE_PURCHASE },
  {
    label: 'A purchase whose consent is denied',
    body: { ...SAMPLE_PURCHASE, consent: { ad_user_data: 'denied', captured_at } },
  },
  {
    label: 'A purchase without a readable signal of consent',
    body: { ...SAMPLE_PURCHASE, consent: { banner: 'closed', captured_at } },
  },
  {
    label: 'A purchase without a currency',
    body: { ...SAMPLE_PURCHASE, value_data: { value: '19.95' } },
  },
]
