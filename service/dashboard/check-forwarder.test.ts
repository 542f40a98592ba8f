import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePageView, signForwardedRequest } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { generateToken, hashToken } from '../runtime/util/token-format.ts'
import { toKeyId } from '../signals/access/tracker-keys.ts'

async function openCheck(test: TestContext) {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const { publishableKey, forwardingSecret } = service.tracker
  const check = async (query = '') => {
    await service.server.flushRefusals()
    return owner.client.call('GET', `${path}/forwarder-check${query}`)
  }
  const forward = async (secret = forwardingSecret) => {
    const body = JSON.stringify(samplePageView({ event_id: randomUUID() }))
    const headers = signForwardedRequest({ secret, body, at: service.clock.now() })
    const options = { secret: publishableKey, rawBody: body, headers }
    return service.request('POST', '/api/v1/events', options)
  }
  const revoke = (key: string) =>
    owner.client.call('DELETE', `${path}/keys/${toKeyId(hashToken(key))}`)
  return { service, check, forward, revoke, tracker: service.tracker }
}

it('waits for the first signed request, and tells when it came and which secret signed it', async test => {
  const { service, check, forward, tracker } = await openCheck(test)
  const waiting = (await check()).body
  assert.deepEqual(
    [waiting.status, waiting.last_valid_at, waiting.last_refused],
    [...['waiting', null, null]],
  )
  service.clock.advance(60)
  assert.equal((await forward()).status, 202)
  const isNamed = async () => (await check()).body.last_valid_key !== null
  await waitUntil('the use of the secret is stored', isNamed)
  assert.partialDeepStrictEqual((await check()).body, {
    status: 'valid',
    last_valid_at: '2026-11-21T12:01:00.000Z',
    last_valid_key: tracker.forwardingSecret.slice(-4),
    last_refused: null,
  })
  // The use of a key is stored once a minute; the time of the last request is exact.
  service.clock.advance(20)
  assert.equal((await forward()).status, 202)
  assert.equal((await check()).body.last_valid_at, '2026-11-21T12:01:20.000Z')
})

it('tells that signatures are refused, until a valid one arrives', async test => {
  const { service, check, forward } = await openCheck(test)
  assert.equal((await forward()).status, 202)
  service.clock.advance(60)
  await forward(generateToken('forwarding'))
  const last = await forward(generateToken('forwarding'))
  assert.equal(last.status, 401)
  const { body } = await check()
  assert.equal(body.status, 'refused')
  assert.deepEqual(
    [body.last_refused.requests, body.last_refused.at],
    [...[2, '2026-11-21T12:01:00.000Z']],
  )
  assert.equal(body.last_refused.request_id, last.headers.get('request-id'))
  assert.match(body.last_refused.advice, /secret and clock/)
  service.clock.advance(60)
  assert.equal((await forward()).status, 202)
  assert.equal((await check()).body.status, 'valid')
})

it('tells that no forwarding secret is live', async test => {
  const { check, revoke, tracker } = await openCheck(test)
  await revoke(tracker.forwardingSecret)
  assert.equal((await check()).body.status, 'no_secret')
})

it('gives a command that sends an accepted event through the path, and refuses other paths', async test => {
  const { service, check, tracker } = await openCheck(test)
  const { test_command: command } = (await check('?path=/shop/sb/')).body
  assert.match(command, /^curl -i https:\/\/shop\.example\/shop\/sb\/events /)
  const rawBody = /-d '(.*)'$/.exec(command)?.[1] ?? ''
  const reply = await service.request('POST', '/api/v1/events', {
    secret: tracker.publishableKey,
    rawBody,
  })
  assert.equal(reply.status, 202)
  for (const path of ["/sb' && rm", 'https://shop.example', '//shop.example']) {
    const refused = await check(`?path=${encodeURIComponent(path)}`)
    assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['path']])
  }
})
