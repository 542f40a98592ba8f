import assert from 'node:assert/strict'
import { it } from 'node:test'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

/** PostgreSQL takes no NUL in text, and UTF-8 has no half of a surrogate pair. */
const UNSTORABLE = ['a\0b', 'a\ud83d', '\udc00b']

it('returns 422 naming each text member that PostgreSQL cannot store', async test => {
  const service = await startTestService(test)
  const members = ['event_id', 'event_name', 'parent_event_id', 'action_source', 'visitor_id']
  for (const text of UNSTORABLE) {
    const bad = Object.fromEntries(members.map(name => [name, text]))
    const reply = await service.submit(
      samplePurchase({ ...bad, value_data: { value: '1', currency: 'EUR', order_id: text } }),
    )
    assert.equal(reply.status, 422)
    const expected = [...members, 'value_data.order_id']
    assert.deepEqual(Object.keys(reply.body.errors).sort(), expected.sort())
    for (const field of expected) {
      const sentence = `The ${field} field must be valid Unicode text without NUL.`
      assert.ok(reply.body.errors[field].includes(sentence))
    }
    const source = await service.submit(
      samplePurchase({ event_source: `https://a.example/${text}` }),
    )
    assert.equal(source.status, 422)
    assert.deepEqual(Object.keys(source.body.errors), ['event_source'])
  }
})

it('returns 422 naming each member with NUL or a lone surrogate, at any depth', async test => {
  const service = await startTestService(test)
  for (const text of UNSTORABLE) {
    const reply = await service.submit(
      samplePurchase({
        consent: { ad_user_data: 'granted', version: text },
        consent_mode: { [text]: 'granted' },
        user_data: { em: text, ph: ['+4930901820', text] },
        click_ids: { fbclid: text },
        value_data: { value: '1', currency: 'EUR', custom_properties: { note: text } },
        unknown: [{ deep: text }],
      }),
    )
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors).sort(), [
      'click_ids.fbclid',
      'consent.version',
      'consent_mode.*',
      'unknown.0.deep',
      'user_data.em',
      'user_data.ph.1',
      'value_data.custom_properties.note',
    ])
  }
  assert.equal((await service.read('order-1001')).status, 404)
})

it('refuses NUL in the body of every kind of route', async test => {
  const service = await startTestService(test)
  const body = { event_name: 'a\0b', response: { id: 'a\0b' }, token: '\udc00' }
  for (const [method, path] of [
    ['POST', '/api/v1/deliveries/replay'],
    ['POST', '/sign-in/passkey'],
    ['POST', '/oauth/register'],
  ] as const) {
    const reply = await service.request(method, path, { body })
    assert.ok([400, 403, 415, 422].includes(reply.status), `${path}: ${reply.status}`)
  }
  // Neither reads its body.
  assert.equal((await service.request('POST', '/api/v1/sandbox/keys', { body })).status, 201)
  const verified = await service.request('POST', '/api/v1/verification-events', { body })
  assert.equal(verified.status, 202)
})

it('returns 422 for control characters in members of one line', async test => {
  const service = await startTestService(test)
  const members = ['event_id', 'event_name', 'parent_event_id', 'action_source', 'visitor_id']
  for (const character of ['\x1b', '\t', '\n', '\r', '\x07', '\x7f', '\x85', '\x9b']) {
    const text = `a${character}b`
    const bad = Object.fromEntries(members.map(name => [name, text]))
    const reply = await service.submit(samplePurchase(bad))
    assert.equal(reply.status, 422)
    assert.deepEqual(Object.keys(reply.body.errors).sort(), members.toSorted())
  }
  const content_name = 'Mug\twith a line\nbreak'
  const value_data = { value: '1', currency: 'EUR', content_name }
  assert.equal((await service.submit(samplePurchase({ value_data }))).status, 202)
})

it('prevents prototype pollution through member names', async test => {
  const service = await startTestService(test)
  const before = Object.getOwnPropertyNames(Object.prototype)
  const reach = '{"polluted":true}'
  const members = `"constructor":{"prototype":${reach}},"prototype":${reach},"toString":"x",`
  for (const [index, name] of ['__proto__', '\\u005f_proto__', '__pro\\u0074o__'].entries()) {
    const id = `hostile-${index}`
    const contents = [{ id: 'mug' }]
    const value_data = { value: '19.95', currency: 'EUR', contents }
    const rawBody = JSON.stringify(samplePurchase({ event_id: id, value_data }))
      .replace(/^\{/, `{"${name}":${reach},${members}`)
      .replace('"user_data":{', `"user_data":{"${name}":${reach},${members}`)
      .replace('"consent":{', `"consent":{"${name}":{"ad_user_data":"denied"},${members}`)
      .replace('"value_data":{', `"value_data":{"${name}":{"value":"99"},${members}`)
      .replace('"contents":[{', `"contents":[{"${name}":${reach},${members}`)
    const reply = await service.request('POST', '/api/v1/events', { rawBody })
    assert.equal(reply.status, 202, reply.text)
    assert.equal((await service.request('POST', '/api/v1/events', { rawBody })).status, 200)
    const { event } = (await service.read(id)).body
    assert.equal(event.consent.decision.outcome, 'granted')
    assert.equal(event.value_data.value, '19.95')
    assert.deepEqual(Object.keys(event.value_data.contents[0]).sort(), [
      '__proto__',
      'constructor',
      'id',
      'prototype',
      'toString',
    ])
  }
  assert.equal(await service.deliver(), 3)
  assert.equal((await service.request('GET', '/api/v1/dashboard/events')).status, 200)
  assert.equal(({} as { polluted?: unknown }).polluted, undefined)
  assert.equal((() => {}).constructor.prototype.polluted, undefined)
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), before)
})

it('returns 422 for numbers outside the numeric range', async test => {
  const service = await startTestService(test)
  const number = '123456789012345678901234567890'
  const body = JSON.stringify(samplePurchase({ value_data: { value: '1', currency: 'EUR' } }))
  const within = (member: string) => body.replace('"value_data":{', `"value_data":{${member},`)
  for (const [field, rawBody] of [
    ['event_time', body.replace('{', '{"event_time":1e999,')],
    ['event_time', body.replace('{', '{"event_time":-1e999,')],
    ['event_time', body.replace('{', `{"event_time":${number},`)],
    ['value_data.num_items', within('"num_items":1e999')],
    ['value_data.num_items', within(`"num_items":${number}`)],
    ['value_data.contents', within('"contents":[{"quantity":1e999}]')],
    ['value_data.contents', within(`"contents":[[${number}]]`)],
  ] as const) {
    const reply = await service.request('POST', '/api/v1/events', { rawBody })
    assert.equal(reply.status, 422, rawBody)
    assert.deepEqual(Object.keys(reply.body.errors), [field])
  }
  assert.equal((await service.read('order-1001')).status, 404)
  const ignored = body.replace('{', `{"unknown":[1e999,${number}],"gpc":-1e999,`)
  const rawBody = ignored.replace('"user_data":{', `"user_data":{"ph":1e999,"zp":${number},`)
  assert.equal((await service.request('POST', '/api/v1/events', { rawBody })).status, 202)
  assert.equal((await service.read('order-1001')).status, 200)
})

it('returns 400 for invalid UTF-8 and invalid JSON', async test => {
  const service = await startTestService(test)
  const valid = Buffer.from(JSON.stringify(samplePurchase({ event_name: 'Kauf-ü' })))
  const latin1 = Buffer.from(JSON.stringify(samplePurchase({ event_name: 'Kauf-ü' })), 'latin1')
  const encodedSurrogate = Buffer.concat([
    Buffer.from('{"event_name":"'),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from('"}'),
  ])
  for (const [message, bodies] of [
    ['The body is not valid UTF-8.', [latin1, encodedSurrogate, valid.subarray(0, 60).fill(255)]],
    [
      'The body is not valid JSON.',
      ['{', '{"a":1,}', "{'a':1}", 'event_name=Purchase', '{"a":NaN}', '\u{feff}{}', '{}{}', '\0'],
    ],
    ['The body is nested deeper than 32 levels.', ['['.repeat(33) + ']'.repeat(33)]],
  ] as const) {
    for (const body of bodies) {
      const rawBody = typeof body === 'string' ? body : new Uint8Array(body)
      const reply = await service.request('POST', '/api/v1/events', { rawBody })
      assert.equal(reply.status, 400, String(body))
      assert.deepEqual(reply.body, { message })
    }
  }
})

it('returns 400 for a body of brackets without exhausting the stack', async test => {
  const service = await startTestService(test)
  const brackets = '['.repeat(32_000)
  for (const rawBody of [
    brackets + ']'.repeat(32_000),
    `{"a":"\\u0041","b":${brackets}${']'.repeat(32_000)}}`,
    brackets,
    '{"a":'.repeat(10_000),
  ]) {
    const reply = await service.request('POST', '/api/v1/events', { rawBody })
    assert.equal(reply.status, 400)
    assert.deepEqual(Object.keys(reply.body), ['message'])
  }
  assert.equal((await service.submit(samplePurchase())).status, 202)
})
