import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

it('returns 422 naming every invalid field of a consent event', async test => {
  const service = await startTestService(test)
  const reply = await service.submit({
    event_id: 17,
    event_name: 'n'.repeat(101),
    parent_event_id: ['p'],
    event_time: true,
    event_source: '/checkout',
    action_source: 'a'.repeat(51),
    visitor_id: {},
    consent_basis: 'consent',
    consent: 'granted',
    consent_mode: null,
    tcf: 'CQ',
    user_data: [],
    click_ids: 'fbclid',
    value_data: { value: 19.95, currency: 'EURO', order_id: 7, contents: {}, num_items: '2' },
  })
  assert.equal(reply.status, 422)
  assert.deepEqual(reply.body.errors, {
    event_id: ['The event_id field must be a string.'],
    event_name: ['The event_name field must not be greater than 100 characters.'],
    parent_event_id: ['The parent_event_id field must be a string.'],
    event_time: ['The event_time field must be an integer or a string.'],
    event_source: ['The event_source field must be an absolute URI.'],
    action_source: ['The action_source field must not be greater than 50 characters.'],
    visitor_id: ['The visitor_id field must be a string.'],
    consent: ['The consent field must be an object.'],
    consent_mode: ['The consent_mode field must be an object.'],
    tcf: ['The tcf field must be an object.'],
    user_data: ['The user_data field must be an object.'],
    click_ids: ['The click_ids field must be an object.'],
    'value_data.value': ['The value_data.value field must be a string.'],
    'value_data.currency': [
      'The value_data.currency field must be the three letters of an ISO 4217 currency.',
    ],
    'value_data.order_id': ['The value_data.order_id field must be a string.'],
    'value_data.contents': ['The value_data.contents field must be a list.'],
    'value_data.num_items': ['The value_data.num_items field must be an integer.'],
  })
  assert.match(reply.body.message, /^The .+ field .+\. \(and 16 more errors\)$/)
})

it('returns 422 naming schema errors, cross-field errors, and consent denials together', async test => {
  const service = await startTestService(test)
  const reply = await service.submit(
    samplePurchase({
      event_time: '2026-02-30T10:00:00Z',
      consent: { ad_user_data: 'denied' },
      value_data: { value: '1,50', num_items: 1.5 },
    }),
    { 'idempotency-key': 'another' },
  )
  assert.equal(reply.status, 422)
  assert.deepEqual(Object.keys(reply.body.errors).sort(), [
    'consent.ad_user_data',
    'event_id',
    'event_time',
    'value_data.currency',
    'value_data.num_items',
    'value_data.value',
  ])
})

it('returns 422 naming every invalid field of a legitimate-interest event', async test => {
  const service = await startTestService(test)
  const reply = await service.submit({
    event_name: 'Purchase',
    consent_basis: 'legitimate_interest',
    event_time: 1_795_262_400_000,
    visitor_id: 'v'.repeat(256),
    user_data: { em: 'jane@example.com' },
    value_data: { value: '19.95', currency: 'EUR' },
  })
  assert.equal(reply.status, 422)
  const names = 'signal_verification, consent_withdrawal'
  assert.deepEqual(reply.body.errors, {
    event_name: [`The event_name field must be one of: ${names}.`],
    visitor_id: ['The visitor_id field must not be greater than 255 characters.'],
    value_data: [
      'The value_data field must carry no value on legitimate interest: send revenue with consent.',
    ],
    user_data: [
      'The user_data field must carry no identity on legitimate interest, which covers only ' +
        'signal_verification and consent_withdrawal.',
    ],
    event_time: ['The event_time field looks like milliseconds; send Unix seconds.'],
  })
})

it('returns 422 requiring event_name and consent_basis for an empty body', async test => {
  const service = await startTestService(test)
  const errors = {
    event_name: ['The event_name field is required.'],
    consent_basis: ['The consent_basis field is required.'],
  }
  const message = 'The event_name field is required. (and 1 more error)'
  const path = '/api/v1/events'
  for (const rawBody of ['{}', 'null', '']) {
    const reply = await service.request('POST', path, { rawBody })
    assert.equal(reply.status, 422, rawBody)
    assert.deepEqual(reply.body, { message, errors }, rawBody)
  }
  const without = await service.request('POST', path)
  assert.deepEqual(without.body, { message, errors })
})

it('returns 422 with the allowed values of consent_basis and still checks other fields', async test => {
  const service = await startTestService(test)
  const choices = 'The consent_basis field must be one of: consent, legitimate_interest.'
  for (const consent_basis of ['contract', '', 'Consent', null, 7, ['consent']]) {
    const reply = await service.submit(samplePurchase({ consent_basis, action_source: 7 }))
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors).sort(), ['action_source', 'consent_basis'])
    assert.ok(reply.body.errors.consent_basis.includes(choices))
  }
})

it('returns 422 for a body that is not an object', async test => {
  const service = await startTestService(test)
  for (const body of [[], 'text', 7, true, [samplePurchase()]]) {
    const reply = await service.submit(body)
    assert.equal(reply.status, 422)
    assert.deepEqual(reply.body, {
      message: 'The body field must be an object.',
      errors: { body: ['The body field must be an object.'] },
    })
  }
})

it('returns 422 for relative URIs and URIs with whitespace', async test => {
  const service = await startTestService(test)
  for (const event_source of ['shop.example/x', '//shop.example', 'https://', 'https://a b', '']) {
    const reply = await service.submit(samplePurchase({ event_source }))
    assert.deepEqual(Object.keys(reply.body.errors), ['event_source'], event_source)
  }
  for (const event_source of ['app://shop/cart', 'https://bücher.example/ä?x=1#y']) {
    const reply = await service.submit(samplePurchase({ event_id: event_source, event_source }))
    assert.equal(reply.status, 202, event_source)
  }
})

it('returns 422 for a purchase value without a currency, but accepts it on other events', async test => {
  const service = await startTestService(test)
  const value_data = { value: '19.95' }
  const reply = await service.submit(samplePurchase({ value_data }))
  const sentence = 'The value_data.currency field is required with a value.'
  assert.equal(reply.status, 422)
  assert.deepEqual(reply.body, { message: sentence, errors: { 'value_data.currency': [sentence] } })
  const lead = { event_name: 'Lead', value_data }
  assert.equal((await service.submit(samplePurchase(lead))).status, 202)
  const free = { event_id: 'free', value_data: { order_id: '1' } }
  assert.equal((await service.submit(samplePurchase(free))).status, 202)
})

it('returns 422 for amounts that are not plain decimal text', async test => {
  const service = await startTestService(test)
  const wrong = ['', ' 1', '1.', '.5', '+1', '1e3', '1,50', '0x10', 'NaN', '1.1234567', '٣', '1\n']
  for (const value of [...wrong, '1234567890123456', '--1']) {
    const reply = await service.submit(samplePurchase({ value_data: { value, currency: 'EUR' } }))
    assert.equal(reply.status, 422, JSON.stringify(value))
    assert.deepEqual(reply.body.errors, {
      'value_data.value': [
        'The value_data.value field must be decimal text such as "19.95", up to 15 digits and 6 ' +
          'after the point.',
      ],
    })
  }
})

it('returns 422 for numbers that lose precision', async test => {
  const service = await startTestService(test)
  const path = '/api/v1/events'
  for (const number of ['9007199254740993', '-9007199254740993', '1e400', '1e17']) {
    const rawBody = JSON.stringify(
      samplePurchase({ value_data: { value: '1', currency: 'EUR', contents: [{ id: 0 }] } }),
    ).replace('"id":0', `"id":${number}`)
    const reply = await service.request('POST', path, { rawBody })
    assert.equal(reply.status, 422, number)
    assert.deepEqual(reply.body.errors, {
      'value_data.contents': [
        'The value_data.contents field holds a number too large to keep all its digits.',
      ],
    })
  }
  const value_data = { value: '1', currency: 'EUR', num_items: 2 ** 53 }
  const reply = await service.submit(samplePurchase({ value_data }))
  assert.deepEqual(Object.keys(reply.body.errors), ['value_data.num_items'])
})
