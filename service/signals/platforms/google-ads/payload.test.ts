import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  findUnknownMembers,
  readWithGoogleTypes,
} from '@signalbox/graph-simulator/google-ads/google-message-types.ts'
import fc from 'fast-check'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import type { OutboundEvent } from '../platform.ts'
import { ingestRequest, toTransactionId, validateGoogleEvent } from './payload.ts'
import { type GoogleAdsTarget, parseGoogleAdsTarget } from './target.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const TARGET: GoogleAdsTarget = {
  customerId: '1234567890',
  loginCustomerId: null,
  quotaProject: null,
  merchantId: null,
  feedLabel: null,
  feedLanguage: null,
}
const DIGEST = 'ab'.repeat(32)

function sample(changes: Partial<OutboundEvent> = {}): OutboundEvent {
  return sampleOutboundEvent({
    platformName: '456',
    digests: { em: [DIGEST] },
    plain: {},
    contents: [],
    ...changes,
  })
}

/** The body as JSON text has it, which keeps the digits of money. */
function build(events: OutboundEvent[], target = TARGET, isTest = false): string {
  const text = JSON.stringify(ingestRequest(events, { target, isTest }))
  assert.deepEqual(findUnknownMembers('IngestEventsRequest', JSON.parse(text)), [])
  readWithGoogleTypes('IngestEventsRequest', JSON.parse(text))
  return text
}

function eventOf(changes: Partial<OutboundEvent>, target = TARGET) {
  return JSON.parse(build([sample(changes)], target)).events[0]
}

describe('a request to the Data Manager API', () => {
  it('has all that an event says, by the names of the API', () => {
    const event = sample({
      valueAmount: '19.90',
      valueCurrency: 'EUR',
      digests: { em: [DIGEST], ph: [DIGEST] },
      plain: {
        gclid: 'the-click',
        session_attributes: 'eyJ9',
        client_user_agent: 'Browser/1.0',
        client_ip_address: '93.184.216.34',
      },
      customerSegment: 'new_customer_to_business',
      contents: [{ id: 'shoe', quantity: 2, item_price: '9.95' }],
    })
    const target = {
      ...TARGET,
      loginCustomerId: '9876543210',
      merchantId: '77',
      feedLabel: 'DE',
      feedLanguage: 'de',
    }
    assert.deepEqual(JSON.parse(build([event], target)), {
      destinations: [
        {
          reference: '456',
          operatingAccount: { accountType: 'GOOGLE_ADS', accountId: '1234567890' },
          loginAccount: { accountType: 'GOOGLE_ADS', accountId: '9876543210' },
          productDestinationId: '456',
        },
      ],
      events: [
        {
          destinationReferences: ['456'],
          transactionId: event.orderId ?? event.eventId,
          eventTimestamp: event.eventTime.toISOString(),
          eventSource: 'WEB',
          conversionValue: 19.9,
          currency: 'EUR',
          adIdentifiers: { gclid: 'the-click', sessionAttributes: 'eyJ9' },
          userData: { userIdentifiers: [{ emailAddress: DIGEST }, { phoneNumber: DIGEST }] },
          eventDeviceInfo: { userAgent: 'Browser/1.0', ipAddress: '93.184.216.34' },
          userProperties: { customerType: 'NEW' },
          cartData: {
            merchantId: '77',
            merchantFeedLabel: 'DE',
            merchantFeedLanguageCode: 'de',
            items: [{ merchantProductId: 'shoe', itemId: 'shoe', quantity: '2', unitPrice: 9.95 }],
          },
          consent: { adUserData: 'CONSENT_GRANTED', adPersonalization: 'CONSENT_GRANTED' },
        },
      ],
      encoding: 'HEX',
    })
  })

  it('keeps the digits of money', () => {
    const money = { valueAmount: '0123456789012345.670', valueCurrency: 'USD' }
    assert.ok(build([sample(money)]).includes('"conversionValue":123456789012345.670'))
  })

  it('sends no value without its currency, and no cart without its catalog', () => {
    const event = eventOf({
      valueAmount: '5',
      valueCurrency: null,
      contents: [{ id: 'shoe' }],
    })
    assert.equal(event.conversionValue, undefined)
    assert.equal(event.cartData, undefined)
  })

  it('names each conversion action once', () => {
    const body = JSON.parse(build([sample(), sample({ platformName: '789' }), sample()]))
    const references = body.destinations.map(({ reference }: { reference: string }) => reference)
    assert.deepEqual(references, ['456', '789'])
    assert.deepEqual(body.events[1].destinationReferences, ['789'])
  })

  it('only validates test events', () => {
    assert.equal(JSON.parse(build([sample()], TARGET, true)).validateOnly, true)
    assert.equal(JSON.parse(build([sample()])).validateOnly, undefined)
  })

  it('sends at most ten identifiers of a person', () => {
    const digests = { em: Array(9).fill(DIGEST), ph: Array(9).fill(DIGEST) }
    assert.equal(eventOf({ digests }).userData.userIdentifiers.length, 10)
  })

  it('says where the event happened in the words of the API', () => {
    const words = {
      website: 'WEB',
      app: 'APP',
      physical_store: 'IN_STORE',
      phone_call: 'PHONE',
      chat: 'MESSAGE',
      business_messaging: 'MESSAGE',
      email: 'OTHER',
      system_generated: 'OTHER',
      anything: 'OTHER',
    }
    for (const [actionSource, word] of Object.entries(words))
      assert.equal(eventOf({ actionSource }).eventSource, word)
  })

  it('says that an event may not be used for personalized ads', () => {
    const refused = { userData: true as const, personalization: false }
    const processing = { options: ['LDU'], country: 1, state: 1_000 }
    for (const changes of [
      { adConsent: refused },
      { optOut: true },
      { dataProcessing: processing },
    ]) {
      assert.deepEqual(eventOf(changes).consent, {
        adUserData: 'CONSENT_GRANTED',
        adPersonalization: 'CONSENT_DENIED',
      })
    }
    const open = { options: [], country: null, state: null }
    assert.equal(eventOf({ dataProcessing: open }).consent.adPersonalization, 'CONSENT_GRANTED')
  })

  it('takes words and items that are none of its own for unknown', () => {
    for (const word of ['__proto__', 'constructor', 'toString']) {
      const event = eventOf({ actionSource: word, customerSegment: word })
      assert.equal(event.eventSource, 'OTHER')
      assert.equal(event.userProperties, undefined)
    }
    for (const quantity of [{ toString: {} }, Object.create(null), [2], null, true]) {
      const item = { id: 'a', quantity, item_price: quantity }
      const event = eventOf({ contents: [item] }, { ...TARGET, merchantId: '1' })
      assert.deepEqual(event.cartData.items, [{ merchantProductId: 'a', itemId: 'a' }])
    }
  })

  it('is read by the types of Google, whatever the event has', () => {
    const text = fc.string({ unit: 'grapheme' })
    const changes = fc.record({
      eventName: text,
      orderId: fc.option(text),
      actionSource: text,
      valueAmount: fc.option(fc.stringMatching(/^-?\d{1,15}(\.\d{1,6})?$/)),
      valueCurrency: fc.option(fc.constantFrom('USD', 'JPY')),
      customerSegment: fc.option(text),
      plain: fc.dictionary(fc.constantFrom('gclid', 'wbraid', 'client_user_agent', 'fbp'), text),
      contents: fc.array(
        fc.record({ id: fc.oneof(text, fc.nat()), quantity: fc.anything(), item_price: text }),
      ),
      optOut: fc.boolean(),
      mayRestateValue: fc.boolean(),
    })
    fc.assert(
      fc.property(changes, given => {
        build([sample(given as Partial<OutboundEvent>)], { ...TARGET, merchantId: '1' })
      }),
    )
  })
})

describe('the transaction of an event', () => {
  it('is its order, which the tag of a shop names too', () => {
    assert.equal(toTransactionId(sample({ orderId: 'A-1' })), 'A-1')
    assert.equal(toTransactionId(sample({ orderId: null, eventId: 'e-1' })), 'e-1')
  })

  it('is never the order where the value of the order would change', () => {
    const event = { orderId: 'A-1', eventId: 'e-1' }
    assert.equal(toTransactionId(sample({ ...event, mayRestateValue: false })), 'e-1')
    assert.equal(toTransactionId(sample({ ...event, eventName: 'Refund' })), 'e-1')
  })
})

describe('what Google would refuse', () => {
  const problemOf = (changes: Partial<OutboundEvent>) =>
    validateGoogleEvent(sample(changes), NOW)?.message ?? null
  const daysAgo = (days: number) => new Date(NOW.getTime() - days * 86_400_000)

  it('is nothing about an event that has all', () => {
    assert.equal(problemOf({}), null)
    assert.equal(problemOf({ digests: {}, plain: { gclid: 'abc' } }), null)
    assert.equal(problemOf({ valueAmount: '1.5', valueCurrency: 'KWD' }), null)
  })

  it('is an event without a conversion action, a person, a time or a valid value', () => {
    assert.match(problemOf({ platformName: 'Purchase' }) ?? '', /no conversion action/)
    assert.match(problemOf({ digests: {}, plain: {} }) ?? '', /no click and no person/)
    assert.match(problemOf({ digests: { em: ['jane'] } }) ?? '', /SHA-256/)
    assert.match(problemOf({ eventTime: new Date(Number.NaN) }) ?? '', /no time/)
    assert.match(problemOf({ valueAmount: '1e3' }) ?? '', /decimal/)
    assert.match(problemOf({ valueCurrency: 'EURO' }) ?? '', /ISO 4217/)
    assert.equal(validateGoogleEvent(sample({ valueAmount: 'x' }), NOW)?.class, 'local')
  })

  it('is an old event that names no click', () => {
    assert.equal(problemOf({ eventTime: daysAgo(62) }), null)
    assert.match(problemOf({ eventTime: daysAgo(64) }) ?? '', /63 days/)
    assert.equal(problemOf({ eventTime: daysAgo(64), plain: { gclid: 'abc' } }), null)
  })
})

describe('the target', () => {
  const config = { customer_id: '123-456-7890', login_customer_id: '', merchant_id: '' }

  it('is read with or without hyphens, and empty members are left out', () => {
    assert.deepEqual(parseGoogleAdsTarget(config), TARGET)
    assert.deepEqual(parseGoogleAdsTarget({ customer_id: '1234567890' }), TARGET)
    const full = {
      login_customer_id: '987-654-3210',
      quota_project: 'my-project-1',
      merchant_id: '77',
      feed_label: 'DE',
      feed_language: 'de',
    }
    assert.deepEqual(parseGoogleAdsTarget({ ...config, ...full }), {
      customerId: '1234567890',
      loginCustomerId: '9876543210',
      quotaProject: 'my-project-1',
      merchantId: '77',
      feedLabel: 'DE',
      feedLanguage: 'de',
    })
  })

  it('is none of another form', () => {
    for (const bad of [
      { customer_id: '123' },
      { customer_id: 1_234_567_890 },
      { ...config, login_customer_id: '1' },
      { ...config, quota_project: 'a b' },
      { ...config, merchant_id: 'shop' },
      { ...config, feed_language: 'german' },
      { ...config, feed_label: 5 },
    ])
      assert.equal(parseGoogleAdsTarget(bad), null, JSON.stringify(bad))
  })
})
