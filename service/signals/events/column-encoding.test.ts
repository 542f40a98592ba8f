import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { ledgerEntry } from '../../../testing/fixtures/stored-events.ts'
import type { LookupDigests } from '../identity/lookup-digests.ts'
import { COLUMN_DICTIONARIES } from './column-dictionaries.ts'
import {
  decodeConsent,
  decodeDigests,
  decodeIdentity,
  decodePageUrl,
  decodeValueData,
  encodeClickIds,
  encodeConsent,
  encodePageUrl,
  encodeUserData,
  encodeValueData,
} from './column-encoding.ts'
import type { IdentityPayload } from './event-record.ts'

const CAPTURED_AT = new Date('2026-11-21T11:00:00.000Z')
const CONSENT = {
  ad_user_data: 'granted',
  ad_personalization: 'granted',
  ad_storage: 'granted',
  analytics_storage: 'granted',
  captured_at: CAPTURED_AT.toISOString(),
  decision: {
    outcome: 'granted',
    reason: 'granted_by_consent',
    granted_by: ['consent'],
    denied_by: [],
    inputs: {
      consent: {
        state: 'granted',
        why: 'words_granted',
        field: 'consent.ad_user_data',
        captured_at: CAPTURED_AT.toISOString(),
      },
    },
    rules_version: '1',
    captured_at: CAPTURED_AT.toISOString(),
  },
}
const ENCODED_CONSENT = '~A~0~C~0~E~0}}'

const VALUE = {
  value: '119.95',
  currency: 'EUR',
  order_id: 'ORD-"1"',
  contents: [{ id: 'SKU-1', title: "Chef's knife", quantity: 2, item_price: '29.95' }],
  num_items: 2,
}
const ENCODED_VALUE = "~0~DSKU-1~EChef~'s knife~F2~H29.95~J2}"

const PAYLOAD: IdentityPayload = {
  visitorId: 'visitor-1',
  identityMark: 'm',
  digests: { em: [hash('sha256', 'a'), hash('sha256', 'b')], country: [hash('sha256', 'de')] },
  plain: {
    client_ip_address: '203.0.113.7',
    client_user_agent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)',
    fbp: 'fb.1.1795262400000.1',
    fbc: 'fb.1.1795262400000.other-than-the-click',
  },
  clickIds: { fbc: 'fb.1.1795262400000.click', fbp: 'fb.1.1795262400000.1', gclid: '~A' },
}

it('encodes and decodes the consent of a purchase in a few characters', () => {
  const event = ledgerEntry({ consent: JSON.stringify(CONSENT), consentCapturedAt: CAPTURED_AT })
  assert.equal(encodeConsent(event), JSON.stringify(ENCODED_CONSENT))
  const row = { consent: ENCODED_CONSENT, consent_captured_at: CAPTURED_AT }
  assert.deepEqual(decodeConsent(row), CONSENT)
  assert.equal(encodeConsent(ledgerEntry({ consent: null })), null)
})

it('encodes and decodes value data without amount, currency and order', () => {
  const order = { valueAmount: VALUE.value, valueCurrency: 'EUR', orderId: VALUE.order_id }
  const event = ledgerEntry({ ...order, valueData: JSON.stringify(VALUE) })
  assert.equal(encodeValueData(event), JSON.stringify(ENCODED_VALUE))
  const row = {
    value_data: ENCODED_VALUE,
    value_amount: VALUE.value,
    value_currency: 'EUR',
    order_id: VALUE.order_id,
  }
  assert.deepEqual(decodeValueData(row), VALUE)
})

it('keeps an amount that the numeric column returns with different digits', () => {
  for (const value of ['007.50', '1e3', '-0', '.5', '5.']) {
    const valueData = JSON.stringify({ value, currency: 'EUR' })
    const encoded = encodeValueData(ledgerEntry({ valueAmount: value, valueData }))
    const row = { value_amount: '1', value_currency: 'EUR', order_id: null }
    const stored = decodeValueData({ ...row, value_data: JSON.parse(String(encoded)) })
    assert.deepEqual(stored, { value, currency: 'EUR' })
  }
})

it('encodes and decodes digests as base64url and each click ID once', () => {
  const row = {
    user_data: JSON.parse(encodeUserData(PAYLOAD)),
    click_ids: JSON.parse(encodeClickIds(PAYLOAD)),
  }
  const { visitorId: _, ...identity } = PAYLOAD
  assert.deepEqual(decodeIdentity(row), identity)
  assert.deepEqual(decodeDigests(row.user_data), { digests: PAYLOAD.digests })
  assert.match(
    row.user_data,
    new RegExp(Buffer.from(hash('sha256', 'a'), 'hex').toString('base64url')),
  )
  assert.doesNotMatch(row.user_data, /1795262400000\.1|[0-9a-f]{64}/)
})

it('stores a lookup digest once, and none that is a digest for the platform anyway', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(text => hash('sha256', text)) as string[]
  const digests = { em: [a, b] as string[], ph: [c] as string[] }
  const lookups = [
    { em: [[a], [b]], ph: [[c]] },
    { em: [[a], [b]], ph: [[c, d]] },
    { em: [[a], [b]], ph: [[c], [d]], external_id: [[d]], visitor_id: [[a, d]] },
  ] as LookupDigests[]
  for (const [index, lookup] of lookups.entries()) {
    const text = encodeUserData({ ...PAYLOAD, digests, lookup })
    const stored = decodeDigests(JSON.parse(text)).lookup
    assert.equal(stored === undefined, index === 0)
    const sorted = (one: LookupDigests = lookups[0] as LookupDigests) =>
      Object.fromEntries(Object.entries(one).map(([key, groups]) => [key, groups.toSorted()]))
    assert.deepEqual(sorted(stored), sorted(lookup))
    // Earlier versions read the digests for the platform and nothing else.
    assert.deepEqual(decodeDigests(JSON.parse(text)).digests, digests)
  }
})

it('stores only the query and fragment of a page URL', () => {
  const eventSource = 'https://shop.example/thanks'
  for (const page of [
    `${eventSource}?order=1#top`,
    `${eventSource}#top`,
    eventSource,
    'https://other.example/?',
  ]) {
    const stored = encodePageUrl(page, eventSource)
    assert.equal(decodePageUrl({ page_url: stored, event_source: eventSource }), page)
  }
  assert.equal(encodePageUrl(`${eventSource}?order=1`, eventSource), '?order=1')
  assert.equal(encodePageUrl(undefined, eventSource), null)
  assert.equal(decodePageUrl({ page_url: null, event_source: eventSource }), eventSource)
})

it('decodes rows from before the encoding', () => {
  assert.deepEqual(decodeConsent({ consent: CONSENT, consent_captured_at: CAPTURED_AT }), CONSENT)
  const columns = { value_amount: '1', value_currency: null, order_id: null }
  assert.deepEqual(decodeValueData({ ...columns, value_data: VALUE }), VALUE)
  assert.equal(decodeValueData({ ...columns, value_data: null }), null)
  const { digests, plain, clickIds } = PAYLOAD
  const row = { user_data: { digests, plain }, click_ids: clickIds }
  assert.deepEqual(decodeIdentity(row), { identityMark: 'm', digests, plain, clickIds })
  assert.deepEqual(decodeDigests(row.user_data), { digests })
  assert.deepEqual(decodeIdentity({ user_data: {}, click_ids: {} }), {
    identityMark: 'm',
    digests: {},
    plain: {},
    clickIds: {},
  })
})

it('keeps every phrase at the index that stored rows use', () => {
  // A phrase appended to a list does not change these.
  const phrases = {
    consent: COLUMN_DICTIONARIES.consent.slice(0, 24),
    value: COLUMN_DICTIONARIES.value.slice(0, 11),
    userData: COLUMN_DICTIONARIES.userData.slice(0, 30),
    clickIds: COLUMN_DICTIONARIES.clickIds.slice(0, 6),
  }
  assert.equal(
    hash('sha256', JSON.stringify(phrases)),
    '955f8d2bfdb0d721c8db691a322d1ec6b99f3880d3969f81fa2ca7edd8622a3a',
  )
})

it('stores what two platforms have in common once', () => {
  const [email, phone, other] = ['a', 'b', 'c'].map(text => hash('sha256', text))
  assert.ok(email && phone && other)
  const payload: IdentityPayload = {
    visitorId: null,
    identityMark: 'm',
    digests: { em: [other, email], ph: [phone] },
    plain: { client_user_agent: 'Mozilla/5.0', fbp: 'fb.1.2.3', client_ip_address: '1.1.1.1' },
    clickIds: { fbp: 'fb.1.2.3' },
    platforms: {
      second: {
        digests: { em: [email, phone], ph: [other] },
        plain: { client_user_agent: 'Mozilla/5.0', fbp: 'fb.1.2.3', client_ip_address: '8.8.8.8' },
      },
    },
  }
  const user_data = JSON.parse(encodeUserData(payload))
  assert.equal(user_data.split(Buffer.from(email, 'hex').toString('base64url')).length, 2)
  const decoded = decodeIdentity({ user_data, click_ids: JSON.parse(encodeClickIds(payload)) })
  assert.deepEqual(decoded.platforms, payload.platforms)
  assert.deepEqual(decoded.digests, payload.digests)
  assert.deepEqual(decodeDigests(user_data).digests, payload.digests)
})
