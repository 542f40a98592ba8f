import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SAMPLE_NOW } from '../sample-event.ts'
import { simulatorUnderTest } from '../simulator-under-test.ts'

function sampleConversion(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    conversion: 'urn:lla:llaPartnerConversion:104012',
    conversionHappenedAt: SAMPLE_NOW.getTime() - 60_000,
    conversionValue: { currencyCode: 'EUR', amount: '19.90' },
    eventId: 'order-1',
    user: { userIds: [{ idType: 'SHA256_EMAIL', idValue: 'ab'.repeat(32) }] },
    ...members,
  }
}

async function linkedinUnderTest(test: TestContext) {
  const simulator = await simulatorUnderTest(test)
  const post = (elements: unknown[], more: Record<string, string> = {}) =>
    simulator.send(
      { elements },
      {
        path: '/rest/conversionEvents',
        headers: {
          authorization: 'Bearer token-a',
          'content-type': 'application/json',
          'linkedin-version': '202607',
          'x-restli-protocol-version': '2.0.0',
          'x-restli-method': 'BATCH_CREATE',
          ...more,
        },
      },
    )
  const control = (method: string, path: string) => simulator.control(method, `linkedin/${path}`)
  return { post, control }
}

it('answers with a status for each event, and counts a copy of an ID once', async test => {
  const { post, control } = await linkedinUnderTest(test)
  const other = sampleConversion({ eventId: 'order-2' })
  const { status, body } = await post([sampleConversion(), other])
  assert.deepEqual([status, body], [200, { elements: [{ status: 201 }, { status: 201 }] }])
  const { eventId: _, ...unnamed } = sampleConversion()
  await post([sampleConversion(), unnamed, unnamed])
  const { counted, deduplicated } = (await control('GET', 'summary')).body
  assert.deepEqual({ counted, deduplicated }, { counted: 4, deduplicated: 1 })
})

it('refuses a whole batch by the position of its bad event, and repeats the value', async test => {
  const { post, control } = await linkedinUnderTest(test)
  const old = SAMPLE_NOW.getTime() - 91 * 86_400_000
  const raw = { userIds: [{ idType: 'SHA256_EMAIL', idValue: 'jane@example.com' }] }
  for (const [bad, text] of [
    [{ conversion: '104012' }, '/conversion :: 104012 is not a valid urn'],
    [{ conversionHappenedAt: old }, `/conversionHappenedAt :: ${old} is out of range`],
    [{ conversionHappenedAt: Math.floor(old / 1_000) }, 'is out of range'],
    [{ conversionValue: { currencyCode: 'EUR', amount: 19.9 } }, '/conversionValue/amount'],
    [{ conversionValue: { amount: '19.90' } }, '/conversionValue/currencyCode'],
    [{ user: {} }, '/user/userIds :: Is required.'],
    [{ user: { userIds: [] } }, 'an identifier is required'],
    [{ user: raw }, 'jane@example.com is not a SHA-256 digest'],
    [{ color: 'red' }, '/color :: Unknown field'],
  ] as const) {
    const { status, body } = await post([sampleConversion(), sampleConversion(bad)])
    assert.equal(status, 422)
    assert.match(body.message, /^Index: 1, ERROR :: /)
    assert.ok(body.message.includes(text), body.message)
  }
  assert.equal((await control('GET', 'summary')).body.receipts, 0)
})

it('refuses ended versions, other methods and protocols, and empty batches', async test => {
  const { post } = await linkedinUnderTest(test)
  const ended = await post([sampleConversion()], { 'linkedin-version': '202511' })
  assert.deepEqual(
    [ended.status, ended.body],
    [
      426,
      {
        status: 426,
        code: 'NONEXISTENT_VERSION',
        message: 'Requested version 20251101 is not active',
      },
    ],
  )
  for (const more of [
    { 'linkedin-version': '' },
    { 'x-restli-protocol-version': '1.0.0' },
    { 'x-restli-method': 'CREATE' },
  ]) {
    assert.equal((await post([sampleConversion()], more as Record<string, string>)).status, 400)
  }
  assert.equal((await post([])).status, 400)
})
