import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

const RUNS = 300

/** Whole characters, and UTF-16 units with their halves of characters. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.array(fc.nat(0xffff)).map(units => String.fromCharCode(...units)),
)
const anyJson = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' })
const anyValues = (...names: string[]) => fc.dictionary(fc.constantFrom(...names, 'x'), anyJson)

/** A purchase of which most is right, so that the code behind the checks is reached as well. */
const nearlyRight = fc
  .record({
    event_id: mostly(fc.uuid(), anyText),
    event_name: mostly(fc.constantFrom('Lead', 'Purchase', 'consent_withdrawal'), anyText),
    event_time: mostly(fc.constantFrom(1_795_262_400, undefined), anyJson),
    event_source: mostly(fc.webUrl({ withQueryParameters: true }), anyText),
    visitor_id: mostly(fc.oneof(fc.emailAddress(), fc.base64String({ maxLength: 40 })), anyText),
    parent_event_id: mostly(fc.uuid(), anyText),
    consent_basis: mostly(fc.constant('consent'), fc.constantFrom('legitimate_interest', 'x')),
    consent: mostly(fc.constant({ ads: true }), fc.dictionary(anyText, anyJson)),
    consent_mode: mostly(fc.constant({}), anyValues('ad_storage', 'ad_user_data')),
    tcf: mostly(fc.constant({}), fc.record({ string: anyText, captured_at: anyText })),
    user_data: anyValues('em', 'ph', 'country', 'fbc', 'fbp', 'zp', 'client_ip_address'),
    click_ids: anyValues('fbclid', 'fbc', 'gclid'),
    value_data: mostly(
      fc.record({ value: fc.constant('1.50'), currency: fc.constant('EUR') }),
      fc.record({ value: anyText, currency: anyText, order_id: anyText, contents: anyJson }),
    ),
  })
  .map(changes => samplePurchase(changes))

function mostly<Right, Other>(right: fc.Arbitrary<Right>, other: fc.Arbitrary<Other>) {
  return fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: other })
}

it('answers every JSON body with 202, 200, 400, or 422', async test => {
  const service = await startTestService(test)
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyJson, nearlyRight), async body => {
      const reply = await service.submit(body)
      assert.ok([200, 202, 400, 422].includes(reply.status), reply.text)
      if (reply.status < 300) {
        assert.equal((await service.read(reply.body.event_id)).status, 200)
        return
      }
      const members = reply.status === 422 ? ['message', 'errors'] : ['message']
      assert.deepEqual(Object.keys(reply.body), members)
    }),
    { numRuns: RUNS },
  )

  assert.doesNotMatch(service.logged(), /"level":"error"/)
})

it('answers arbitrary bytes without a 500', async test => {
  const service = await startTestService(test)
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async bytes => {
      const rawBody = new Uint8Array(bytes)
      const reply = await service.request('POST', '/api/v1/events', { rawBody })
      assert.ok([400, 422].includes(reply.status), reply.text)
    }),
    { numRuns: RUNS },
  )
})

it('answers arbitrary paths without a 500', async test => {
  const service = await startTestService(test)
  const segment = fc.oneof(fc.string({ unit: fc.constantFrom(...'%/.aF0?#;:@\\') }), anyText)
  await fc.assert(
    fc.asyncProperty(segment, async text => {
      // What fetch would encode is sent as it is, as far as an HTTP request can carry it.
      const path = text.replace(/[^!-~]/gu, character => encodeURI(character.toWellFormed()))
      const reply = await service.request('GET', `/api/v1/events/${path}`)
      assert.ok([400, 404, 405].includes(reply.status), `${path}: ${reply.text}`)
      assert.deepEqual(Object.keys(reply.body), ['message'])
    }),
    { numRuns: RUNS },
  )
})
