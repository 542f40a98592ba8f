import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DECIMAL_PATTERN } from '@signalbox/contract/decimal.ts'
import { CONTENT_TYPES } from '@signalbox/contract/value-data.ts'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import fc from 'fast-check'
import { DAY_MILLISECONDS } from '../../../runtime/util/time.ts'
import type { OutboundEvent } from '../platform.ts'
import { metaPlatform } from './client.ts'
import { HASHED_FIELD_RULES, PLAIN_FIELD_RULES } from './normalize-identity.ts'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const CONNECTION = {
  target: { datasetId: '1234' },
  accessToken: 'token-of-the-test',
  testCode: null,
}
const WEEK_MILLISECONDS = 7 * DAY_MILLISECONDS
const RUNS = 60

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', '\ud800', '\u0000', '"data":[{"event_name":""}]', '\\', '__proto__'),
)
const digest = fc.string({
  unit: fc.constantFrom(...'0123456789abcdef'),
  minLength: 64,
  maxLength: 64,
})
const odd = { arbitrary: fc.constantFrom('', 'raw', 'D'.repeat(64), 'f'.repeat(65)), weight: 1 }
const strange = fc.constantFrom('f5first', '__proto__', 'toString')

const digests = fc.dictionary(
  fc.oneof(
    { arbitrary: fc.constantFrom(...Object.keys(HASHED_FIELD_RULES)), weight: 9 },
    { arbitrary: strange, weight: 1 },
  ),
  fc.array(fc.oneof({ arbitrary: digest, weight: 30 }, odd), { maxLength: 3 }),
  { maxKeys: 5, noNullPrototype: true },
)
const plain = fc.dictionary(
  fc.oneof(
    { arbitrary: fc.constantFrom(...Object.keys(PLAIN_FIELD_RULES)), weight: 30 },
    { arbitrary: fc.constantFrom('em', 'external_id'), weight: 1 },
    { arbitrary: strange, weight: 1 },
  ),
  text,
  { maxKeys: 4, noNullPrototype: true },
)

const decimal = fc
  .tuple(
    fc.constantFrom('', '', '', '-'),
    fc.bigInt({ min: 0n, max: 999_999_999_999_999n }),
    fc.constantFrom('', '.0', '.00', '.5', '.999999'),
  )
  .map(parts => parts.join(''))
const actionSources =
  'email website app phone_call chat physical_store system_generated business_messaging other'
const item = fc.record({
  id: fc.oneof(text.filter(Boolean), fc.integer()),
  quantity: fc.nat(),
  more: fc.jsonValue({ maxDepth: 2 }),
})

/** Events that the types allow, most of them such as come, some of them such as never should. */
const outbound: fc.Arbitrary<OutboundEvent> = fc.record({
  eventId: text,
  eventName: fc.oneof(fc.constant('Purchase'), fc.constantFrom('PageView', 'Lead'), text),
  platformName: text,
  eventTime: fc.oneof(
    {
      arbitrary: fc
        .integer({ min: -WEEK_MILLISECONDS, max: 300_000 })
        .map(offset => new Date(NOW.getTime() + offset)),
      weight: 20,
    },
    { arbitrary: fc.constant(new Date(Number.NaN)), weight: 1 },
  ),
  actionSource: fc.constantFrom(...actionSources.split(' '), 'store', ''),
  eventSource: fc.option(text),
  digests,
  plain,
  valueAmount: fc.option(
    fc.oneof({ arbitrary: decimal, weight: 9 }, fc.constantFrom('', '1e3', 'NaN')),
  ),
  valueCurrency: fc.option(
    fc.oneof(
      { arbitrary: fc.constantFrom('EUR', 'usd'), weight: 9 },
      fc.constantFrom('', 'EU', 'FKE', 'XXX'),
    ),
  ),
  orderId: fc.option(text),
  contents: fc.array(item, { maxLength: 5 }),
  numItems: fc.option(fc.oneof(fc.integer(), fc.double())),
  referrer: fc.option(fc.webUrl()),
  commerce: fc.record({
    contentTypes: fc.subarray([...CONTENT_TYPES]),
    contentIds: fc.array(fc.oneof(text, fc.integer()), { maxLength: 3 }),
    contentName: fc.option(text),
    contentCategory: fc.option(text),
    searchString: fc.option(text),
    status: fc.option(fc.oneof(text, fc.boolean())),
    predictedLifetimeValue: fc.option(decimal),
    netRevenue: fc.option(decimal),
    deliveryCategory: fc.option(fc.constantFrom('in_store', 'curbside', 'home_delivery')),
    customProperties: fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
  }),
  optOut: fc.boolean(),
  dataProcessing: fc.option(
    fc.record({
      options: fc.option(fc.constantFrom([], ['LDU'])),
      country: fc.constantFrom(null, 0, 1),
      state: fc.constantFrom(0, 1_000, 1_013),
    }),
  ),
  appData: fc.option(fc.constant({ extinfo: ['i2', ...Array(15).fill('1')], vendor_id: 'v' })),
  messagingChannel: fc.option(fc.constantFrom('messenger', 'whatsapp', 'instagram')),
  advertiserTracking: fc.option(fc.boolean()),
  customerSegment: fc.option(fc.constantFrom('new_customer_to_business')),
  adConsent: fc.record({ userData: fc.constant(true as const), personalization: fc.boolean() }),
  mayRestateValue: fc.boolean(),
  originalEvent: fc.option(
    fc.record({
      eventId: text,
      eventName: text,
      eventTime: fc.constant(NOW),
      orderId: fc.option(text),
    }),
  ),
})

it('finds the faults that the platform would find, and no others', async test => {
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(() => simulator.close())
  const baseUrl = simulator.url
  const platform = metaPlatform({
    baseUrl,
    version: 'v26.0',
    timeoutMilliseconds: 30_000,
    now: () => new Date(),
  })
  const seen = { passed: 0, refused: 0 }
  const batches = fc.array(outbound, { minLength: 1, maxLength: 30, size: 'max' })
  const property = fc.asyncProperty(batches, async events => {
    const passed = events.filter(event => platform.validateEvent(event) === null)
    if (passed.length > 0) {
      const answer = await platform.send(CONNECTION, passed)
      assert.equal(answer.outcome, 'accepted', JSON.stringify(answer.answer))
    }
    const refused = events
      .filter(event => platform.validateEvent(event) !== null)
      .filter(isWritable)
    for (const event of refused) {
      const answer = await platform.send(CONNECTION, [event])
      assert.equal(answer.outcome, 'permanent', platform.validateEvent(event)?.message)
    }
    seen.passed += passed.length
    seen.refused += refused.length
  })
  await fc.assert(property, { numRuns: RUNS })
  assert.ok(seen.passed > RUNS && seen.refused > RUNS, JSON.stringify(seen))
})

const DECIMAL = new RegExp(DECIMAL_PATTERN)

/** Text that is no decimal cannot even be written as a number, so it is refused only here. */
function isWritable({ valueAmount }: OutboundEvent): boolean {
  return valueAmount === null || DECIMAL.test(valueAmount)
}
