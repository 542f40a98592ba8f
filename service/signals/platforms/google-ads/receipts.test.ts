import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  createGoogleAds,
  googleConnection,
  googleErrorBody,
  sampleGoogleOutbound,
  withGoogleAnswer,
  withGoogleSimulator,
} from '../../../../testing/fixtures/google-ads.ts'
import { configureGoogle } from '../../../../testing/fixtures/simulator.ts'

describe('the result of a request', () => {
  it('is processing, and then says what failed in counts', async test => {
    const { url, platform } = await withGoogleSimulator(test)
    await configureGoogle(url, {
      processing_seconds: 3_600,
      errors: [{ transaction_id: 'bad', reason: 'INVALID_GCLID' }],
    })
    const events = ['good', 'bad'].map(eventId => sampleGoogleOutbound({ eventId, orderId: null }))
    const { receiptId } = await platform.send(googleConnection, events)
    const read = () => platform.readReceipt?.(googleConnection, receiptId ?? '')
    assert.deepEqual(await read(), {
      kind: 'receipt',
      state: 'processing',
      recordCount: null,
      errors: [],
      warnings: [],
      answer: null,
    })
    await configureGoogle(url, { processing_seconds: 0 })
    assert.deepEqual(await read(), {
      kind: 'receipt',
      state: 'partially_succeeded',
      recordCount: 1,
      errors: [{ reason: 'INVALID_GCLID', count: 1 }],
      warnings: [],
      answer: null,
    })
  })

  it('fails as a whole, but not where Google had the conversions already', async test => {
    const { url, platform } = await withGoogleSimulator(test)
    await configureGoogle(url, { processing_seconds: 0 })
    await platform.send(googleConnection, [sampleGoogleOutbound()])
    const copy = await platform.send(googleConnection, [sampleGoogleOutbound()])
    const result = await platform.readReceipt?.(googleConnection, copy.receiptId ?? '')
    assert.ok(result?.kind === 'receipt')
    assert.equal(result.state, 'partially_succeeded')
    assert.deepEqual(result.errors, [{ reason: 'DUPLICATE_TRANSACTION_ID', count: 1 }])
    await configureGoogle(url, { processing_seconds: 0, errors: [{ reason: 'NO_CONSENT' }] })
    const { receiptId } = await platform.send(googleConnection, [
      sampleGoogleOutbound({ orderId: 'other' }),
    ])
    const failed = await platform.readReceipt?.(googleConnection, receiptId ?? '')
    assert.ok(failed?.kind === 'receipt' && failed.state === 'failed')
  })

  it('sums the conversion actions of the request', async test => {
    const status = (requestStatus: string, recordCount: string, errorCount: string) => ({
      requestStatus,
      errorInfo: {
        errorCounts: [
          { recordCount: errorCount, reason: 'PROCESSING_ERROR_REASON_EVENT_TOO_OLD', more: 1 },
          { recordCount: '1', reason: 'PROCESSING_ERROR_OPERATING_ACCOUNT_MISMATCH' },
        ],
      },
      warningInfo: {
        warningCounts: [{ recordCount: '2', reason: 'PROCESSING_WARNING_REASON_INTERNAL_ERROR' }],
      },
      eventsIngestionStatus: { recordCount },
    })
    const requestStatusPerDestination = [
      status('PARTIAL_SUCCESS', '10', '3'),
      status('FAILED', '5', '4'),
    ]
    const body = JSON.stringify({ requestStatusPerDestination })
    const { platform, seen } = await withGoogleAnswer(test, { status: 200, answer: body })
    assert.deepEqual(await platform.readReceipt?.(googleConnection, 't-1&x=y'), {
      kind: 'receipt',
      state: 'partially_succeeded',
      recordCount: 6,
      errors: [
        { reason: 'EVENT_TOO_OLD', count: 7 },
        { reason: 'OPERATING_ACCOUNT_MISMATCH', count: 2 },
      ],
      warnings: [{ reason: 'INTERNAL_ERROR', count: 4 }],
      answer: null,
    })
    assert.equal(seen[0]?.request.url, '/v1/requestStatus:retrieve?requestId=t-1%26x%3Dy')
  })

  for (const [status, body, cause] of [
    [200, '{}', 'unreadable'],
    [200, '{"requestStatusPerDestination":[]}', 'unreadable'],
    [200, '{"requestStatusPerDestination":[{"requestStatus":"SOMETHING_NEW"}]}', 'unreadable'],
    [400, googleErrorBody(400, 'INVALID_REQUEST_ID'), 'unreadable'],
    [401, googleErrorBody(401, 'X'), 'credential'],
    [403, googleErrorBody(403, 'PERMISSION_DENIED'), 'permission'],
    [429, '', 'throttled'],
    [503, googleErrorBody(503, 'INTERNAL_ERROR'), 'out_of_reach'],
  ] as const) {
    it(`is unavailable after ${status} ${body.slice(0, 60)}`, async test => {
      const { platform } = await withGoogleAnswer(test, { status: status, answer: body })
      const result = await platform.readReceipt?.(googleConnection, 't-1')
      assert.ok(result?.kind === 'unavailable')
      assert.equal(result.cause, cause)
      assert.notEqual(result.sentence, '')
    })
  }

  it('is unavailable when nothing answers', async () => {
    const result = await createGoogleAds('http://127.0.0.1:9').readReceipt?.(
      googleConnection,
      't-1',
    )
    assert.ok(result?.kind === 'unavailable' && result.cause === 'out_of_reach')
  })
})

describe('the budget of requests', () => {
  const platform = createGoogleAds('http://127.0.0.1:9')
  const refreshToken = {
    kind: 'refresh_token' as const,
    clientId: '4711-abc.apps.googleusercontent.com',
    clientSecret: 's',
    refreshToken: 'r',
  }

  it('is that of the Cloud project', () => {
    const key = {
      kind: 'service_account_key' as const,
      clientEmail: 'a@shop.iam.gserviceaccount.com',
      privateKey: 'k',
      privateKeyId: null,
      projectId: 'shop',
    }
    const budget = platform.requestBudget?.({ target: googleConnection.target, credential: key })
    assert.deepEqual(budget, { key: 'google_ads:shop', perMinute: 300, perDay: 100_000 })
    const nameless = { ...key, projectId: null }
    assert.equal(
      platform.requestBudget?.({ target: googleConnection.target, credential: nameless })?.key,
      'google_ads:a@shop.iam.gserviceaccount.com',
    )
    const ofClient = platform.requestBudget?.({
      target: googleConnection.target,
      credential: refreshToken,
    })
    assert.equal(ofClient?.key, 'google_ads:4711')
    const named = { ...googleConnection.target, quotaProject: 'mine' }
    const ofTarget = platform.requestBudget?.({ target: named, credential: refreshToken })
    assert.equal(ofTarget?.key, 'google_ads:mine')
  })
})
