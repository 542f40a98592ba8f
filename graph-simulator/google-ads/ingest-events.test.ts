import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findUnknownMembers, readWithGoogleTypes } from './google-message-types.ts'
import {
  googleUnderTest,
  SAMPLE_DESTINATION,
  SAMPLE_DIGEST,
  sampleGoogleEvent,
  sampleIngest,
} from './google-under-test.ts'

/** The reasons of the violations in an error body. */
// biome-ignore lint/suspicious/noExplicitAny: the shape of an error body is what is tested
function reasonsOf({ error }: any): string[] {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const violations = error.details.flatMap((detail: any) => detail.fieldViolations ?? [])
  return violations.map(({ reason }: { reason: string }) => reason)
}

it('answers a request with a receipt that Google types read', async test => {
  const { ingest, google } = await googleUnderTest(test)
  const sent = sampleIngest(sampleGoogleEvent())
  assert.deepEqual(findUnknownMembers('IngestEventsRequest', sent), [])
  const { status, body } = await ingest(sent)
  assert.equal(status, 200)
  assert.match(body.requestId, /^t-/)
  assert.deepEqual(body.fieldWarnings, [])
  assert.deepEqual(readWithGoogleTypes('IngestEventsResponse', body), { requestId: body.requestId })
  const { body: received } = await google('GET', 'received?transaction_id=order-1')
  assert.equal(received.count, 1)
  assert.equal(received.events[0].request_id, body.requestId)
  assert.equal(received.events[0].outcome, 'new')
})

it('shows the digits of a value as they were sent, and sums them exactly', async test => {
  const { ingest, google } = await googleUnderTest(test)
  const body = JSON.stringify(sampleIngest(sampleGoogleEvent())).replace('19.9', '19.900')
  await ingest(body)
  const { text } = await google('GET', 'received')
  assert.ok(text.includes('"conversionValue":19.900'))
  const { body: summary } = await google('GET', 'summary')
  assert.deepEqual(summary.value_by_currency, { USD: '19.9' })
})

const BAD_EVENTS: [string, Record<string, unknown>, string][] = [
  ['an unknown member', { foo: 1 }, 'INVALID_ARGUMENT'],
  ['an unknown member inside', { consent: { adStorage: 'x' } }, 'INVALID_ARGUMENT'],
  ['no time', { eventTimestamp: undefined }, 'REQUIRED_FIELD_MISSING'],
  ['a time that is no text of RFC 3339', { eventTimestamp: '2026-11-21' }, 'INVALID_FORMAT'],
  ['a time ahead', { eventTimestamp: '2027-11-21T12:00:00Z' }, 'EVENT_TIME_INVALID'],
  ['no transaction', { transactionId: undefined }, 'REQUIRED_FIELD_MISSING'],
  ['no source', { eventSource: undefined }, 'REQUIRED_FIELD_MISSING'],
  ['an unknown source', { eventSource: 'website' }, 'INVALID_ENUM_VALUE'],
  ['a value as text', { conversionValue: '19.9' }, 'INVALID_ARGUMENT'],
  ['no identifiers', { userData: undefined }, 'NO_IDENTIFIERS_PROVIDED'],
  ['a destination of no reference', { destinationReferences: ['9'] }, 'INVALID_DESTINATION'],
  [
    'an address in clear',
    { userData: { userIdentifiers: [{ emailAddress: 'jane@example.com' }] } },
    'INVALID_HEX_ENCODING',
  ],
  [
    'half a digest',
    { userData: { userIdentifiers: [{ phoneNumber: 'ab'.repeat(16) }] } },
    'INVALID_SHA256_FORMAT',
  ],
  [
    'two identifiers in one',
    {
      userData: {
        userIdentifiers: [{ emailAddress: SAMPLE_DIGEST, phoneNumber: SAMPLE_DIGEST }],
      },
    },
    'INVALID_FORMAT',
  ],
  [
    'eleven identifiers',
    { userData: { userIdentifiers: Array(11).fill({ emailAddress: SAMPLE_DIGEST }) } },
    'TOO_MANY_USER_IDENTIFIERS',
  ],
]

for (const [name, members, reason] of BAD_EVENTS) {
  it(`refuses the whole request for an event with ${name}`, async test => {
    const { ingest, google } = await googleUnderTest(test)
    const { status, body } = await ingest(
      sampleIngest(sampleGoogleEvent({ transactionId: 'good' }), sampleGoogleEvent(members)),
    )
    assert.equal(status, 400)
    assert.equal(body.error.status, 'INVALID_ARGUMENT')
    assert.ok(reasonsOf(body).includes(reason), JSON.stringify(body))
    const { body: received } = await google('GET', 'received')
    assert.equal(received.count, 0)
  })
}

it('refuses requests of another form', async test => {
  const { ingest } = await googleUnderTest(test)
  const event = sampleGoogleEvent()
  const { destinations: _, ...noDestinations } = sampleIngest(event)
  const { encoding: __, ...noEncoding } = sampleIngest(event)
  const bad: [unknown, string][] = [
    [noDestinations, 'REQUIRED_FIELD_MISSING'],
    [noEncoding, 'REQUIRED_FIELD_MISSING'],
    [{ ...sampleIngest(event), test: true }, 'INVALID_ARGUMENT'],
    [sampleIngest(), 'REQUIRED_FIELD_MISSING'],
    [sampleIngest(...Array(2_001).fill(event)), 'TOO_MANY_EVENTS'],
    [
      { ...sampleIngest(event), destinations: Array(11).fill(SAMPLE_DESTINATION) },
      'TOO_MANY_DESTINATIONS',
    ],
    [
      { ...sampleIngest(event), destinations: [SAMPLE_DESTINATION, SAMPLE_DESTINATION] },
      'DUPLICATE_DESTINATION_REFERENCE',
    ],
    [
      {
        ...sampleIngest(event),
        destinations: [{ ...SAMPLE_DESTINATION, productDestinationId: 'customers/1' }],
      },
      'INVALID_CONVERSION_ACTION_ID',
    ],
  ]
  for (const [sent, reason] of bad) {
    const { status, body } = await ingest(sent)
    assert.equal(status, 400)
    assert.ok(reasonsOf(body).includes(reason), `${reason}: ${JSON.stringify(body)}`)
  }
  assert.equal((await ingest('{"destinations":')).status, 400)
})

it('takes 2,000 events in one request', async test => {
  const { ingest, google } = await googleUnderTest(test)
  const events = Array.from({ length: 2_000 }, (_, index) =>
    sampleGoogleEvent({ transactionId: `order-${index}` }),
  )
  assert.equal((await ingest(sampleIngest(...events))).status, 200)
  assert.equal((await google('GET', 'conversions?limit=0')).body.count, 2_000)
})

it('warns of an optional field, and takes the event', async test => {
  const { ingest, google } = await googleUnderTest(test)
  const event = sampleGoogleEvent({ currency: 'EURO', cartData: { merchantId: 'abc' } })
  const { status, body } = await ingest(sampleIngest(event))
  assert.equal(status, 200)
  assert.deepEqual(
    body.fieldWarnings.map(({ field, reason }: Record<string, string>) => [field, reason]),
    [
      ['events[0].currency', 'INVALID_CURRENCY_CODE'],
      ['events[0].cartData.merchantId', 'INVALID_MERCHANT_ID'],
    ],
  )
  assert.equal((await google('GET', 'received')).body.count, 1)
})

it('checks a request with validateOnly, and keeps nothing of it', async test => {
  const { ingest, google, readStatus } = await googleUnderTest(test)
  const { status, body } = await ingest({
    ...sampleIngest(sampleGoogleEvent()),
    validateOnly: true,
  })
  assert.equal(status, 200)
  assert.equal((await google('GET', 'conversions')).body.count, 0)
  const { body: received } = await google('GET', 'received')
  assert.deepEqual([received.events[0].validate_only, received.events[0].outcome], [true, null])
  const result = await readStatus(body.requestId)
  assert.equal(result.body.error.details[0].reason, 'INVALID_REQUEST_ID')
})
