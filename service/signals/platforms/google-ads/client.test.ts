import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  findUnknownMembers,
  readWithGoogleTypes,
} from '@signalbox/graph-simulator/google-ads/google-message-types.ts'
import {
  GOOGLE_TOKEN,
  googleConnection,
  googleErrorBody,
  sampleGoogleOutbound,
  withGoogleAnswer,
  withGoogleSimulator,
} from '../../../../testing/fixtures/google-ads.ts'
import { listGoogleReceipts, scriptGoogleFaults } from '../../../../testing/fixtures/simulator.ts'
import { parseGoogleAdsTarget } from './target.ts'

describe('sending', () => {
  it('sends what the types of Google read, with the token in a header', async test => {
    const { platform, seen } = await withGoogleAnswer(test, {
      status: 200,
      answer: '{"requestId":"t-1"}',
    })
    const quota = parseGoogleAdsTarget({ customer_id: '1234567890', quota_project: 'my-project' })
    assert.ok(quota !== null)
    await platform.send({ ...googleConnection, target: quota }, [
      sampleGoogleOutbound(),
      sampleGoogleOutbound(),
    ])
    const [{ request, body } = assert.fail()] = seen
    assert.equal(request.url, '/v1/events:ingest')
    assert.equal(request.headers.authorization, `Bearer ${GOOGLE_TOKEN}`)
    assert.equal(request.headers['x-goog-user-project'], 'my-project')
    assert.deepEqual(findUnknownMembers('IngestEventsRequest', JSON.parse(body)), [])
    readWithGoogleTypes('IngestEventsRequest', JSON.parse(body))
  })

  it('takes an answer as a receipt', async test => {
    const { url, platform } = await withGoogleSimulator(test)
    const answer = await platform.send(googleConnection, [sampleGoogleOutbound()])
    assert.equal(answer.outcome, 'accepted')
    const [received] = await listGoogleReceipts(url)
    assert.equal(answer.receiptId, received?.request_id)
    assert.deepEqual(answer.answer, { field_warnings: [] })
  })

  it('has no receipt for test events, of which Google keeps no result', async test => {
    const { url, platform } = await withGoogleSimulator(test)
    const answer = await platform.send({ ...googleConnection, testCode: 'VALIDATE1' }, [
      sampleGoogleOutbound(),
    ])
    assert.deepEqual([answer.outcome, answer.receiptId], ['accepted', null])
    const [received] = await listGoogleReceipts(url)
    assert.equal(received?.validate_only, true)
  })

  it('keeps the warnings of an answer without their text', async test => {
    const warning = { field: 'events[0].currency', reason: 'INVALID_CURRENCY_CODE' }
    const body = {
      requestId: 't-1',
      other: 1,
      fieldWarnings: [{ ...warning, description: 'EURO' }],
    }
    const { platform } = await withGoogleAnswer(test, { status: 200, answer: JSON.stringify(body) })
    const answer = await platform.send(googleConnection, [sampleGoogleOutbound()])
    assert.deepEqual(answer.answer, { field_warnings: [warning] })
  })

  it('sends ten conversion actions in a request, and the others in the next', async test => {
    const { url, platform } = await withGoogleSimulator(test)
    const events = Array.from({ length: 12 }, (_, index) =>
      sampleGoogleOutbound({
        platformName: String(index + 1),
        eventId: `e-${index}`,
        orderId: null,
      }),
    )
    const parts = platform.splitBatch?.([...events, ...events], googleConnection) ?? []
    assert.deepEqual(
      parts.map(({ length }) => length),
      [20, 4],
    )
    for (const part of parts) {
      assert.equal((await platform.send(googleConnection, part)).outcome, 'accepted')
    }
    assert.equal((await listGoogleReceipts(url)).length, 24)
  })

  it('never follows a redirect, which would get the token', async test => {
    const headers = { location: 'http://127.0.0.1:9/' }
    const { platform } = await withGoogleAnswer(test, { status: 302, answer: '', headers })
    assert.equal(
      (await platform.send(googleConnection, [sampleGoogleOutbound()])).outcome,
      'unknown',
    )
  })

  it('names no token that a platform repeats', async test => {
    const body = googleErrorBody(400, 'INVALID_FORMAT').replace('It is', GOOGLE_TOKEN)
    const { platform } = await withGoogleAnswer(test, { status: 400, answer: body })
    assert.ok(
      !JSON.stringify(await platform.send(googleConnection, [sampleGoogleOutbound()])).includes(
        GOOGLE_TOKEN,
      ),
    )
  })

  it('refuses a token that no header can carry', async test => {
    const { platform } = await withGoogleAnswer(test, { status: 200, answer: '{}' })
    const answer = await platform.send({ ...googleConnection, accessToken: 'a\nb' }, [
      sampleGoogleOutbound(),
    ])
    assert.equal(answer.outcome, 'config')
  })
})

describe('refusals', () => {
  const CASES: [status: number, body: string, outcome: string][] = [
    [401, googleErrorBody(401, 'ACCESS_TOKEN_EXPIRED'), 'auth'],
    [403, googleErrorBody(403, 'ACCESS_TOKEN_SCOPE_INSUFFICIENT'), 'auth'],
    [403, googleErrorBody(403, 'INSUFFICIENT_AUTHENTICATION_SCOPES'), 'auth'],
    [403, googleErrorBody(403, 'PERMISSION_DENIED'), 'config'],
    [403, googleErrorBody(403, 'SERVICE_DISABLED'), 'config'],
    [404, googleErrorBody(404, 'NOT_FOUND'), 'config'],
    [400, googleErrorBody(400, 'INVALID_ARGUMENT', ['INVALID_DESTINATION']), 'config'],
    [400, googleErrorBody(400, 'INVALID_CONVERSION_ACTION_TYPE'), 'config'],
    [400, googleErrorBody(400, 'TERMS_AND_CONDITIONS_NOT_SIGNED'), 'config'],
    [
      400,
      googleErrorBody(400, 'DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS'),
      'config',
    ],
    [
      400,
      googleErrorBody(400, 'DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS'),
      'config',
    ],
    [400, googleErrorBody(400, 'EVENT_SOURCE_AND_DESTINATION_MISMATCH'), 'config'],
    [400, googleErrorBody(400, 'NOT_ALLOWLISTED'), 'config'],
    [400, googleErrorBody(400, 'INVALID_ARGUMENT', ['INVALID_HEX_ENCODING']), 'permanent'],
    [400, googleErrorBody(400, 'NO_IDENTIFIERS_PROVIDED'), 'permanent'],
    [400, googleErrorBody(400, 'A_REASON_OF_TOMORROW'), 'permanent'],
    [400, '{"error":{"code":400,"message":"Invalid JSON payload received."}}', 'permanent'],
    [413, '<html>too large</html>', 'permanent'],
    [429, googleErrorBody(429, 'RESOURCE_EXHAUSTED'), 'throttle'],
    [429, '', 'throttle'],
    [500, googleErrorBody(500, 'INTERNAL_ERROR'), 'retry'],
    [504, googleErrorBody(504, 'DEADLINE_EXCEEDED'), 'retry'],
    [502, '<html>Bad Gateway</html>', 'unknown'],
    [200, '{"requestId":', 'unknown'],
    [200, '{}', 'unknown'],
  ]
  for (const [status, body, outcome] of CASES) {
    it(`${status} ${body.slice(0, 90)} is ${outcome}`, async test => {
      const { platform } = await withGoogleAnswer(test, { status: status, answer: body })
      const answer = await platform.send(googleConnection, [sampleGoogleOutbound()])
      assert.equal(answer.outcome, outcome)
      assert.equal(answer.error?.class, outcome)
      assert.equal(answer.receiptId ?? null, null)
    })
  }

  it('say the reasons of the fields, and what a person can do', async test => {
    const body = googleErrorBody(400, 'INVALID_ARGUMENT', ['INVALID_CONVERSION_ACTION_ID'])
    const { platform } = await withGoogleAnswer(test, { status: 400, answer: body })
    const { error } = await platform.send(googleConnection, [sampleGoogleOutbound()])
    assert.equal(error?.message, 'INVALID_CONVERSION_ACTION_ID: It is refused.')
    assert.match(error?.user_message ?? '', /conversion actions/)
  })

  it('wait as long as the platform asks, and a minute without a word', async test => {
    const { url, platform } = await withGoogleSimulator(test)
    const wait = async (headers: Record<string, string>) => {
      await scriptGoogleFaults(url, [{ respond: { status: 429, headers } }])
      return (await platform.send(googleConnection, [sampleGoogleOutbound()])).waitSeconds
    }
    assert.equal(await wait({}), 60)
    assert.equal(await wait({ 'retry-after': '90' }), 90)
  })
})
