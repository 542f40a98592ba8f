import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import {
  findUnknownMembers,
  readWithGoogleTypes,
} from '@signalbox/graph-simulator/google-ads/google-message-types.ts'
import { startSimulator } from '@signalbox/graph-simulator/simulator-server.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import {
  configureGoogle,
  listGoogleReceipts,
  scriptGoogleFaults,
} from '../../../../testing/fixtures/simulator.ts'
import type { OutboundEvent } from '../platform.ts'
import { googleAdsPlatform } from './client.ts'
import { parseGoogleAdsTarget } from './target.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const TOKEN = 'the-token-of-the-test'

function createPlatform(baseUrl: string) {
  return googleAdsPlatform({
    baseUrl,
    version: 'v1',
    tokenUrl: `${baseUrl}/token`,
    timeoutMilliseconds: 5_000,
    now: () => NOW,
  })
}

const target = parseGoogleAdsTarget({ customer_id: '1234567890' })
assert.ok(target !== null)
const connection = { target, accessToken: TOKEN, testCode: null }

function sample(changes: Partial<OutboundEvent> = {}): OutboundEvent {
  return sampleOutboundEvent({ platformName: '456', ...changes })
}

async function withSimulator(test: TestContext) {
  const { url, close } = await startSimulator({ host: '127.0.0.1', port: 0, now: () => NOW })
  test.after(close)
  return { url, platform: createPlatform(url) }
}

interface Exchange {
  request: IncomingMessage
  body: string
}

/** A server that answers every request alike, for what no simulator says. */
async function withAnswer(test: TestContext, status: number, answer: string, headers = {}) {
  const seen: Exchange[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    seen.push({ request, body: Buffer.concat(chunks).toString('utf8') })
    response.writeHead(status, headers).end(answer)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => new Promise(resolve => server.close(resolve)))
  const { port } = server.address() as AddressInfo
  return { platform: createPlatform(`http://127.0.0.1:${port}`), seen }
}

function errorBody(code: number, reason: string, violations: string[] = []): string {
  const details: object[] = [{ '@type': 'x/google.rpc.ErrorInfo', reason, domain: 'x' }]
  const fieldViolations = violations.map(each => ({ field: 'a', reason: each, description: 'b' }))
  if (violations.length > 0) details.push({ '@type': 'x/google.rpc.BadRequest', fieldViolations })
  return JSON.stringify({ error: { code, message: 'It is refused.', status: 'X', details } })
}

describe('sending', () => {
  it('sends what the types of Google read, with the token in a header', async test => {
    const { platform, seen } = await withAnswer(test, 200, '{"requestId":"t-1"}')
    const quota = parseGoogleAdsTarget({ customer_id: '1234567890', quota_project: 'my-project' })
    assert.ok(quota !== null)
    await platform.send({ ...connection, target: quota }, [sample(), sample()])
    const [{ request, body } = assert.fail()] = seen
    assert.equal(request.url, '/v1/events:ingest')
    assert.equal(request.headers.authorization, `Bearer ${TOKEN}`)
    assert.equal(request.headers['x-goog-user-project'], 'my-project')
    assert.deepEqual(findUnknownMembers('IngestEventsRequest', JSON.parse(body)), [])
    readWithGoogleTypes('IngestEventsRequest', JSON.parse(body))
  })

  it('takes an answer as a receipt', async test => {
    const { url, platform } = await withSimulator(test)
    const answer = await platform.send(connection, [sample()])
    assert.equal(answer.outcome, 'accepted')
    const [received] = await listGoogleReceipts(url)
    assert.equal(answer.receiptId, received?.request_id)
    assert.deepEqual(answer.answer, { field_warnings: [] })
  })

  it('has no receipt for test events, of which Google keeps no result', async test => {
    const { url, platform } = await withSimulator(test)
    const answer = await platform.send({ ...connection, testCode: 'VALIDATE1' }, [sample()])
    assert.deepEqual([answer.outcome, answer.receiptId], ['accepted', null])
    const [received] = await listGoogleReceipts(url)
    assert.equal(received?.validate_only, true)
  })

  it('keeps the warnings of an answer without their text, and members it does not know', async test => {
    const warning = { field: 'events[0].currency', reason: 'INVALID_CURRENCY_CODE' }
    const body = {
      requestId: 't-1',
      other: 1,
      fieldWarnings: [{ ...warning, description: 'EURO' }],
    }
    const { platform } = await withAnswer(test, 200, JSON.stringify(body))
    const answer = await platform.send(connection, [sample()])
    assert.deepEqual(answer.answer, { field_warnings: [warning] })
  })

  it('sends ten conversion actions at once, and the others later', async test => {
    const { url, platform } = await withSimulator(test)
    const events = Array.from({ length: 12 }, (_, index) =>
      sample({ platformName: String(index + 1), eventId: `e-${index}`, orderId: null }),
    )
    const answer = await platform.send(connection, events)
    assert.deepEqual(
      answer.events?.map(({ outcome }) => outcome),
      [...Array(10).fill('accepted'), 'retry', 'retry'],
    )
    assert.equal((await listGoogleReceipts(url)).length, 10)
  })

  it('never follows a redirect, which would get the token', async test => {
    const headers = { location: 'http://127.0.0.1:9/' }
    const { platform } = await withAnswer(test, 302, '', headers)
    assert.equal((await platform.send(connection, [sample()])).outcome, 'unknown')
  })

  it('names no token that a platform repeats', async test => {
    const body = errorBody(400, 'INVALID_FORMAT').replace('It is', TOKEN)
    const { platform } = await withAnswer(test, 400, body)
    assert.ok(!JSON.stringify(await platform.send(connection, [sample()])).includes(TOKEN))
  })

  it('refuses a token that no header can carry', async test => {
    const { platform } = await withAnswer(test, 200, '{}')
    const answer = await platform.send({ ...connection, accessToken: 'a\nb' }, [sample()])
    assert.equal(answer.outcome, 'config')
  })
})

describe('refusals', () => {
  const CASES: [status: number, body: string, outcome: string][] = [
    [401, errorBody(401, 'ACCESS_TOKEN_EXPIRED'), 'auth'],
    [403, errorBody(403, 'ACCESS_TOKEN_SCOPE_INSUFFICIENT'), 'auth'],
    [403, errorBody(403, 'INSUFFICIENT_AUTHENTICATION_SCOPES'), 'auth'],
    [403, errorBody(403, 'PERMISSION_DENIED'), 'config'],
    [403, errorBody(403, 'SERVICE_DISABLED'), 'config'],
    [404, errorBody(404, 'NOT_FOUND'), 'config'],
    [400, errorBody(400, 'INVALID_ARGUMENT', ['INVALID_DESTINATION']), 'config'],
    [400, errorBody(400, 'INVALID_CONVERSION_ACTION_TYPE'), 'config'],
    [400, errorBody(400, 'TERMS_AND_CONDITIONS_NOT_SIGNED'), 'config'],
    [
      400,
      errorBody(400, 'DESTINATION_ACCOUNT_NOT_ENABLED_ENHANCED_CONVERSIONS_FOR_LEADS'),
      'config',
    ],
    [
      400,
      errorBody(400, 'DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS'),
      'config',
    ],
    [400, errorBody(400, 'EVENT_SOURCE_AND_DESTINATION_MISMATCH'), 'config'],
    [400, errorBody(400, 'NOT_ALLOWLISTED'), 'config'],
    [400, errorBody(400, 'INVALID_ARGUMENT', ['INVALID_HEX_ENCODING']), 'permanent'],
    [400, errorBody(400, 'NO_IDENTIFIERS_PROVIDED'), 'permanent'],
    [400, errorBody(400, 'A_REASON_OF_TOMORROW'), 'permanent'],
    [400, '{"error":{"code":400,"message":"Invalid JSON payload received."}}', 'permanent'],
    [413, '<html>too large</html>', 'permanent'],
    [429, errorBody(429, 'RESOURCE_EXHAUSTED'), 'throttle'],
    [429, '', 'throttle'],
    [500, errorBody(500, 'INTERNAL_ERROR'), 'retry'],
    [504, errorBody(504, 'DEADLINE_EXCEEDED'), 'retry'],
    [502, '<html>Bad Gateway</html>', 'unknown'],
    [200, '{"requestId":', 'unknown'],
    [200, '{}', 'unknown'],
  ]
  for (const [status, body, outcome] of CASES) {
    it(`${status} ${body.slice(0, 90)} is ${outcome}`, async test => {
      const { platform } = await withAnswer(test, status, body)
      const answer = await platform.send(connection, [sample()])
      assert.equal(answer.outcome, outcome)
      assert.equal(answer.error?.class, outcome)
      assert.equal(answer.receiptId ?? null, null)
    })
  }

  it('say the reasons of the fields, and what a person can do', async test => {
    const body = errorBody(400, 'INVALID_ARGUMENT', ['INVALID_CONVERSION_ACTION_ID'])
    const { platform } = await withAnswer(test, 400, body)
    const { error } = await platform.send(connection, [sample()])
    assert.equal(error?.message, 'INVALID_CONVERSION_ACTION_ID: It is refused.')
    assert.match(error?.user_message ?? '', /conversion actions/)
  })

  it('wait as long as the platform asks, and a minute without a word', async test => {
    const { url, platform } = await withSimulator(test)
    const wait = async (headers: Record<string, string>) => {
      await scriptGoogleFaults(url, [{ respond: { status: 429, headers } }])
      return (await platform.send(connection, [sample()])).waitSeconds
    }
    assert.equal(await wait({}), 60)
    assert.equal(await wait({ 'retry-after': '90' }), 90)
  })
})

describe('the result of a request', () => {
  it('is processing, and then says what failed in counts', async test => {
    const { url, platform } = await withSimulator(test)
    await configureGoogle(url, {
      processing_seconds: 3_600,
      errors: [{ transaction_id: 'bad', reason: 'INVALID_GCLID' }],
    })
    const events = ['good', 'bad'].map(eventId => sample({ eventId, orderId: null }))
    const { receiptId } = await platform.send(connection, events)
    const read = () => platform.readReceipt?.(connection, receiptId ?? '')
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
      recordCount: 2,
      errors: [{ reason: 'INVALID_GCLID', count: 1 }],
      warnings: [],
      answer: null,
    })
  })

  it('fails as a whole, but not where Google had the conversions already', async test => {
    const { url, platform } = await withSimulator(test)
    await configureGoogle(url, { processing_seconds: 0 })
    await platform.send(connection, [sample()])
    const copy = await platform.send(connection, [sample()])
    const result = await platform.readReceipt?.(connection, copy.receiptId ?? '')
    assert.ok(result?.kind === 'receipt')
    assert.equal(result.state, 'partially_succeeded')
    assert.deepEqual(result.errors, [{ reason: 'DUPLICATE_TRANSACTION_ID', count: 1 }])
    await configureGoogle(url, { processing_seconds: 0, errors: [{ reason: 'NO_CONSENT' }] })
    const { receiptId } = await platform.send(connection, [sample({ orderId: 'other' })])
    const failed = await platform.readReceipt?.(connection, receiptId ?? '')
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
    const { platform, seen } = await withAnswer(test, 200, body)
    assert.deepEqual(await platform.readReceipt?.(connection, 't-1&x=y'), {
      kind: 'receipt',
      state: 'partially_succeeded',
      recordCount: 15,
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
    [400, errorBody(400, 'INVALID_REQUEST_ID'), 'unreadable'],
    [401, errorBody(401, 'X'), 'credential'],
    [403, errorBody(403, 'PERMISSION_DENIED'), 'permission'],
    [429, '', 'throttled'],
    [503, errorBody(503, 'INTERNAL_ERROR'), 'out_of_reach'],
  ] as const) {
    it(`is unavailable after ${status} ${body.slice(0, 60)}`, async test => {
      const { platform } = await withAnswer(test, status, body)
      const result = await platform.readReceipt?.(connection, 't-1')
      assert.ok(result?.kind === 'unavailable')
      assert.equal(result.cause, cause)
      assert.notEqual(result.sentence, '')
    })
  }

  it('is unavailable when nothing answers', async () => {
    const result = await createPlatform('http://127.0.0.1:9').readReceipt?.(connection, 't-1')
    assert.ok(result?.kind === 'unavailable' && result.cause === 'out_of_reach')
  })
})

describe('the budget of requests', () => {
  const platform = createPlatform('http://127.0.0.1:9')
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
    const budget = platform.requestBudget?.({ target, credential: key })
    assert.deepEqual(budget, { key: 'google_ads:shop', perMinute: 300, perDay: 100_000 })
    const nameless = { ...key, projectId: null }
    assert.equal(
      platform.requestBudget?.({ target, credential: nameless })?.key,
      'google_ads:a@shop.iam.gserviceaccount.com',
    )
    const ofClient = platform.requestBudget?.({ target, credential: refreshToken })
    assert.equal(ofClient?.key, 'google_ads:4711')
    const named = { ...target, quotaProject: 'mine' }
    const ofTarget = platform.requestBudget?.({ target: named, credential: refreshToken })
    assert.equal(ofTarget?.key, 'google_ads:mine')
  })
})
