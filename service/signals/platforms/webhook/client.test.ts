import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { verifyWebhook } from '../../../../clients/sdks/typescript/src/sdk.ts'
import { sampleOutboundEvent } from '../../../../testing/fixtures/sample-events.ts'
import { startWebhookReceiver } from '../../../../testing/fixtures/webhook-receiver.ts'
import { generateWebhookSecret } from '../../../runtime/webhooks/client.ts'
import { parseWebhookTarget, readSecrets, webhookPlatform } from './client.ts'

const now = () => new Date('2026-11-21T12:00:00.000Z')
const SECRET = generateWebhookSecret()
const OLD_SECRET = generateWebhookSecret()

/** The plug-in as it is in production: without a simulator, over HTTPS. */
async function startEndpoint(test: TestContext, changes: { timeoutMilliseconds?: number } = {}) {
  const receiver = await startWebhookReceiver(test)
  const platform = webhookPlatform({
    simulatorUrl: null,
    timeoutMilliseconds: 5_000,
    now,
    network: receiver.clientOptions,
    ...changes,
  })
  const send = (accessToken: string, events = [sampleOutboundEvent()]) =>
    platform.send({ target: { url: receiver.url }, accessToken, testCode: null }, events)
  return { receiver, send }
}

it('signs with the new and the old secret while both are entered', async test => {
  const { receiver, send } = await startEndpoint(test)
  const { outcome } = await send(`${SECRET},${OLD_SECRET}`)
  assert.equal(outcome, 'accepted')
  const [request] = receiver.requests
  assert.ok(request)
  const headers = request.headers as Record<string, string>
  for (const secret of [SECRET, OLD_SECRET]) {
    const message = await verifyWebhook({ body: request.body, headers, secret, now: now() })
    assert.equal(message.type, 'events.accepted')
  }
})

it('gives the same batch the same ID, and another one another ID', async test => {
  const { receiver, send } = await startEndpoint(test)
  await send(SECRET)
  await send(SECRET)
  await send(SECRET, [sampleOutboundEvent({ eventId: 'order-1002' })])
  const [first, second, third] = receiver.requests.map(({ headers }) => headers['webhook-id'])
  assert.equal(first, second)
  assert.notEqual(first, third)
})

it('follows no redirect, and reads nothing of an endless answer', async test => {
  const { receiver, send } = await startEndpoint(test)
  receiver.answer(response => response.writeHead(302, { location: receiver.url }).end())
  assert.equal((await send(SECRET)).outcome, 'config')
  assert.equal(receiver.requests.length, 1)
  receiver.answer(response => void response.writeHead(200).write('x'.repeat(65_536)))
  assert.equal((await send(SECRET)).outcome, 'accepted')
})

it('stores nothing of the text of an answer', async test => {
  const { receiver, send } = await startEndpoint(test)
  receiver.answer(response => response.writeHead(500).end(`the secret is ${SECRET}`))
  const answer = await send(SECRET)
  assert.equal(answer.outcome, 'retry')
  assert.doesNotMatch(JSON.stringify(answer), /the secret is|whsec_/)
})

it('waits as long as Retry-After asks', async test => {
  const { receiver, send } = await startEndpoint(test)
  receiver.answer(response => response.writeHead(429, { 'retry-after': '120' }).end())
  const { outcome, waitSeconds } = await send(SECRET)
  assert.deepEqual([outcome, waitSeconds], ['throttle', 120])
})

it('does not know whether an endpoint without an answer has the events', async test => {
  const { receiver, send } = await startEndpoint(test, { timeoutMilliseconds: 300 })
  receiver.answer(() => undefined)
  assert.equal((await send(SECRET)).outcome, 'unknown')
})

it('opens no connection to a host that is not public', async test => {
  const { receiver } = await startEndpoint(test)
  const { resolveHost, certificateAuthority } = receiver.clientOptions
  const platform = webhookPlatform({
    simulatorUrl: null,
    timeoutMilliseconds: 5_000,
    now,
    network: {
      ...(resolveHost && { resolveHost }),
      certificateAuthority: certificateAuthority ?? '',
    },
  })
  const connection = { target: { url: receiver.url }, accessToken: SECRET, testCode: null }
  const answer = await platform.send(connection, [sampleOutboundEvent()])
  assert.equal(answer.outcome, 'config')
  assert.equal(receiver.connections(), 0)
})

it('takes https addresses of public hosts, and secrets in the form of Standard Webhooks', () => {
  assert.ok(parseWebhookTarget({ url: 'https://hooks.example.com/signalbox?key=1' }))
  for (const url of [
    'http://hooks.example.com/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://localhost/',
    'https://10.0.0.1/',
    'https://user:pass@hooks.example.com/',
    'hooks.example.com',
    '',
    5,
  ]) {
    assert.equal(parseWebhookTarget({ url }), null, String(url))
  }
  assert.ok(readSecrets(SECRET))
  for (const text of ['', 'the-secret', 'whsec_', `${SECRET},`, `${SECRET},x`, `${SECRET},a,b`])
    assert.equal(readSecrets(text), null, text)
})
