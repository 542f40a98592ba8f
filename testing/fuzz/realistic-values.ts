import { hash } from 'node:crypto'
import fc from 'fast-check'
import { DAY_SECONDS } from '../../service/runtime/util/time.ts'
import type { RealisticValues } from './schema-values.ts'

/** A fictitious person, whose identifiers are added to requests wherever possible. */
export const CANARY = {
  email: 'Wanda.Kanarie@probe-mail.example',
  phone: '+49 1512 7310684',
  firstName: 'Kanariella',
  lastName: "O'Probenfels",
  birthDate: '1987-03-14',
  postalCode: 'SW1A 2AA',
  externalId: 'customer-kanarie-4711',
  ipAddress: '45.83.91.17',
  userAgent: 'KanarienBrowser/7.3',
}

/** Parts of these identifiers, in lower case, that no random ID contains by chance. */
const CANARY_TRACES = [
  ...['kanarie', 'probe-mail', 'probenfels', 'sw1a 2aa', '1987-03-14', '45.83.91'],
  ...['1512 7310684', '15127310684'],
]

const CONTEXT_CHARACTERS = 80

/** The first trace of the person in a text, with its context; null without one. */
export function findCanaryTrace(text: string): string | null {
  const lower = text.toLowerCase()
  const at = Math.max(...CANARY_TRACES.map(trace => lower.indexOf(trace)))
  return at < 0 ? null : text.slice(Math.max(0, at - CONTEXT_CHARACTERS), at + CONTEXT_CHARACTERS)
}

/** So few that submissions are repeated, and that reads find stored events. */
export const EVENT_IDS = Array.from({ length: 40 }, (_, index) => `fuzz-${index}`)

/** Noon of the test clock's day. */
const NOW_SECONDS = Date.parse('2026-11-21T12:00:00Z') / 1_000

const eventIds = fc.constantFrom(...EVENT_IDS)
const { email, phone, firstName, lastName, birthDate, postalCode, externalId } = CANARY
const digests = fc
  .constantFrom(email.toLowerCase(), '4915127310684', externalId.toLowerCase())
  .map(text => hash('sha256', text))

/** The person's identifiers in the spellings that callers use, and invalid ones. */
const userData = members({
  em: fc.constantFrom(email, ` ${email.toUpperCase()}`, [email, email], hash('sha256', 'x')),
  ph: fc.constantFrom(phone, '0049 1512 7310684', ['+1'], 4_915_127_310_684),
  fn: fc.constant(firstName),
  ln: fc.constant(lastName),
  db: fc.constantFrom(birthDate, '19870314'),
  zp: fc.constant(postalCode),
  country: fc.constantFrom('de', 'DE', 'zz'),
  external_id: fc.constantFrom(externalId, [externalId]),
  client_ip_address: fc.constantFrom(CANARY.ipAddress, '::1', '10.0.0.1'),
  client_user_agent: fc.constant(CANARY.userAgent),
  fbc: fc.constantFrom(`fb.1.1795262400000.${'A'.repeat(30)}`, `fb.1.1.${email}`),
  fbp: fc.constantFrom('fb.1.1795262400000.1234567890', email),
  [email]: fc.constant(email),
})

const eventSource = fc.oneof(
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.constantFrom(
    'https://shop.example/checkout',
    `https://shop.example/thanks?email=${encodeURIComponent(email)}&fbclid=${'Q'.repeat(40)}`,
    `https://wanda:secret@shop.example/u/${email}#phone=4915127310684`,
  ),
)

const granted = { ad_user_data: 'granted', captured_at: '2026-11-21T11:00:00Z' }

/** Meaningful values for members and parameters of these names. Others use only their schema. */
export const REALISTIC_VALUES: RealisticValues = {
  event: eventIds,
  event_id: fc.oneof({ weight: 8, arbitrary: eventIds }, fc.uuid()),
  parent_event_id: eventIds,
  event_name: fc.constantFrom('Purchase', 'Lead', 'PageView', 'AddToCart', 'consent_withdrawal'),
  event_time: fc.oneof(
    fc.integer({ min: NOW_SECONDS - 9 * DAY_SECONDS, max: NOW_SECONDS + 300 }),
    fc.constantFrom('2026-11-21T11:58:00Z', '2026-11-21T13:00:00,5+0200', '1970-01-01T00:00Z'),
  ),
  event_source: eventSource,
  visitor_id: fc.constantFrom('visitor-1', 'visitor-2', 'visitor-3', email, phone),
  consent: fc.oneof(
    { weight: 6, arbitrary: fc.constant(granted) },
    members({
      ads: fc.constantFrom(true, 'yes', 'denied', 1, { who: email }),
      gpc: fc.boolean(),
      captured_at: fc.constantFrom('2026-11-21T11:00:00Z', '2020-01-01T00:00:00Z', email),
      source: fc.constantFrom('cmp', email),
      [email]: fc.constant('granted'),
    }),
  ),
  consent_mode: members({
    ad_storage: fc.constantFrom('granted', 'granted', 'denied', email),
    ad_user_data: fc.constantFrom('granted', 1),
    ad_personalization: fc.constantFrom('granted', phone),
  }),
  tcf: members({ string: fc.constantFrom(email, 'C'.repeat(60)), captured_at: fc.constant(phone) }),
  user_data: userData,
  click_ids: members({
    fbclid: fc.constantFrom('B'.repeat(40), email),
    gclid: fc.constantFrom('Cj0KCQ', email),
    [email]: fc.constant(email),
  }),
  currency: fc.constantFrom('EUR', 'usd'),
  contents: fc.array(
    fc.record({ id: fc.string(), quantity: fc.nat(9), item_price: fc.constantFrom('9.95', 1.5) }),
    { maxLength: 4 },
  ),
  identifier_hash: digests,
  delivery_ids: fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 1, maxLength: 20 }),
  // Few, so that proposals are repeated, with equal and with different content.
  idempotency_key: fc.constantFrom('autumn-2026-11-21', 'key-1', 'key-2', 'key-3'),
  date: fc.constantFrom('2026-11-20', '2026-11-21', '2026-02-28'),
  page: fc.integer({ min: 1, max: 5 }),
  per_page: fc.integer({ min: 1, max: 120 }),
}

/** Any subset of the members. */
function members(values: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> {
  return fc.record(values, { requiredKeys: [], noNullPrototype: true })
}
