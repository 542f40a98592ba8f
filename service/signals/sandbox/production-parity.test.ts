import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startSandboxFixture } from '../../../testing/fixtures/sandbox.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

const RUNS = 150
const money = (value: unknown, currency?: unknown) => ({ value_data: { value, currency } })
const vouched = (changes: object) => ({ consent_basis: 'legitimate_interest', ...changes })

/** What production refuses, each for a reason of its own. */
const REFUSED: [why: string, body: unknown][] = [
  ['no object', []],
  ['no object either', 'text'],
  ['nothing is said', { consent_basis: 'consent' }],
  ['unknown basis', samplePurchase({ consent_basis: 'contract' })],
  ['null basis', samplePurchase({ consent_basis: null })],
  ['blank name', samplePurchase({ event_name: ' ' })],
  ['long name', samplePurchase({ event_name: 'n'.repeat(101) })],
  ['blank id', samplePurchase({ event_id: ' ' })],
  ['long id', samplePurchase({ event_id: 'i'.repeat(129) })],
  ['id of dots', samplePurchase({ event_id: '..' })],
  ['control in the id', samplePurchase({ event_id: 'a\nb' })],
  ['NUL', samplePurchase({ visitor_id: 'a\0b' })],
  ['half a character', samplePurchase({ action_source: '\ud800' })],
  ['relative URL', samplePurchase({ event_source: '/checkout' })],
  ['milliseconds', samplePurchase({ event_time: 1_795_262_400_000 })],
  ['no calendar day', samplePurchase({ event_time: '2026-02-30T10:00:00Z' })],
  ['the future', samplePurchase({ event_time: '2026-11-21T12:05:01Z' })],
  ['wrong kinds', samplePurchase({ user_data: [], click_ids: 7, consent_mode: null, tcf: 'CQ' })],
  ['money as a number', samplePurchase(money(19.95, 'EUR'))],
  ['money with a comma', samplePurchase(money('19,95', 'EUR'))],
  ['no currency', samplePurchase(money('19.95'))],
  ['no ISO currency', samplePurchase(money('19.95', 'EURO'))],
  ['too many contents', samplePurchase({ value_data: { contents: Array(51).fill({}) } })],
  ['too large contents', samplePurchase({ value_data: { contents: ['x'.repeat(16_384)] } })],
  ['too large number', samplePurchase({ value_data: { num_items: 2 ** 53 } })],
  ['consent denied', samplePurchase({ consent: { ad_user_data: 'denied' } })],
  ['consent mode denied', samplePurchase({ consent_mode: { ad_user_data: 'denied' } })],
  ['opted out', samplePurchase({ consent: { gpc: true } })],
  ['purchase on legitimate interest', vouched({ event_name: 'Purchase' })],
  ['revenue on legitimate interest', vouched({ ...money('1', 'EUR'), event_name: 'x' })],
  ['identity on legitimate interest', samplePurchase(vouched({}))],
  ['everything at once', { event_id: 7, event_time: true, consent_basis: 'consent', tcf: 1 }],
]

it('returns 422 with the same fields and messages as production', async test => {
  const service = await startTestService(test)
  const sandbox = await startSandboxFixture(test)
  for (const [why, body] of REFUSED) {
    const there = await service.submit(body)
    const here = await sandbox.validate(body)
    assert.equal(there.status, 422, why)
    assert.equal(here.status, 422, why)
    assert.deepEqual(here.body, there.body, why)
  }
})

it('validates Idempotency-Key as production does', async test => {
  const service = await startTestService(test)
  const sandbox = await startSandboxFixture(test)
  for (const key of ['another', '""', 'k'.repeat(129), '"a\\\\b', '..', '\xff']) {
    for (const body of [samplePurchase(), samplePurchase({ event_id: undefined })]) {
      const headers = { 'idempotency-key': key }
      const there = await service.submit(body, headers)
      const here = await sandbox.validate(body, headers)
      assert.equal(here.status, there.status === 202 ? 200 : there.status, key)
      if (there.status === 422) assert.deepEqual(here.body, there.body, key)
    }
  }
})

it('assumes consent for a missing consent_basis and otherwise agrees with production', async test => {
  const service = await startTestService(test)
  const sandbox = await startSandboxFixture(test)
  for (const body of [
    {},
    samplePurchase({ value_data: { value: '1,5' } }),
    samplePurchase({ consent: { ad_user_data: 'denied' } }),
  ]) {
    const there = await service.submit({ ...body, consent_basis: 'consent' })
    const here = await sandbox.validate({ ...body, consent_basis: undefined })
    assert.equal(here.status, 422)
    assert.deepEqual(here.body, there.body)
  }
  for (const rawBody of ['', 'null']) {
    const key = await sandbox.newKey()
    const reply = await sandbox.request('POST', '/sandbox/keyed-events', { key, rawBody })
    const sentence = 'The event_name field is required.'
    assert.deepEqual(reply.body, { message: sentence, errors: { event_name: [sentence] } })
  }
})

it('accepts and rejects the same bodies as production, without a 500', async test => {
  const service = await startTestService(test)
  const sandbox = await startSandboxFixture(test)
  const names = Object.keys(samplePurchase({ consent_mode: {}, tcf: {}, click_ids: {} }))
  const changes = fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 3 }), {
    maxKeys: 2,
  })
  await fc.assert(
    fc.asyncProperty(changes, async changed => {
      const body = samplePurchase(changed)
      const there = await service.submit(body)
      const here = await sandbox.validate(body)
      assert.equal(here.status, there.status === 202 ? 200 : there.status)
      if (there.status === 422) assert.deepEqual(here.body, there.body)
    }),
    { numRuns: RUNS },
  )
  assert.doesNotMatch(sandbox.logged(), /"level":"error"/)
})
