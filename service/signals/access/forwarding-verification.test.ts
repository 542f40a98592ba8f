import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import {
  type ForwardedRequest,
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
  signForwardedRequest,
} from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { generateToken, hashToken } from '../../runtime/util/token-format.ts'
import { revokeKey } from './key-store.ts'
import { issueKey } from './tracker-keys.ts'

const EVENTS = '/api/v1/events'
const CLIENT = { clientIp: '8.8.8.8', userAgent: 'Mozilla/5.0 Example/1.0' }
const WRONG = /^The forwarding signature matches no live forwarding secret /
const REPLAYED = /^This forwarded request has been received before: /

/** The headers of a forwarder: address, user agent, the current time and the signature. */
function signed(service: TestService, changes: Partial<ForwardedRequest> = {}) {
  const body = JSON.stringify(samplePageView())
  const secret = service.tracker.forwardingSecret
  return signForwardedRequest({ secret, body, at: service.clock.now(), ...CLIENT, ...changes })
}

function post(service: TestService, headers: Record<string, string>, body?: string) {
  const rawBody = body ?? JSON.stringify(samplePageView())
  const secret = service.tracker.publishableKey
  return service.request('POST', EVENTS, { secret, rawBody, headers })
}

async function delivered(service: TestService) {
  await service.deliver()
  const { events } = await service.received()
  const last = events.at(-1) as { user_data: Record<string, string> } | undefined
  assert.ok(last, 'nothing was received')
  return [last.user_data.client_ip_address, last.user_data.client_user_agent]
}

it('stores the address and user agent that a forwarder signed', async test => {
  const service = await startTestService(test)
  const headers = { ...signed(service), origin: SHOP_ORIGIN }
  assert.equal((await post(service, headers)).status, 202)
  assert.deepEqual(await delivered(service), ['8.8.8.8', 'Mozilla/5.0 Example/1.0'])
})

it('accepts a signed beacon', async test => {
  const service = await startTestService(test)
  const path = `${EVENTS}?key=${service.tracker.publishableKey}`
  const rawBody = JSON.stringify(samplePageView())
  const headers = { ...signed(service), 'content-type': 'text/plain;charset=UTF-8' }
  const reply = await service.request('POST', path, { secret: null, rawBody, headers })
  assert.equal(reply.status, 202)
  assert.deepEqual(await delivered(service), ['8.8.8.8', 'Mozilla/5.0 Example/1.0'])
})

it('prefers the signature to a proxy on the way', async test => {
  const service = await startTestService(test, { trustedProxies: '127.0.0.1' })
  const headers = { ...signed(service), 'x-forwarded-for': '9.9.9.9', 'user-agent': 'worker' }
  assert.equal((await post(service, headers)).status, 202)
  assert.deepEqual(await delivered(service), ['8.8.8.8', 'Mozilla/5.0 Example/1.0'])
})

it('accepts a forwarder that knows neither address nor user agent', async test => {
  const service = await startTestService(test)
  const body = JSON.stringify(samplePageView({ user_data: { em: 'jane@example.com' } }))
  const headers = signed(service, { body, clientIp: '', userAgent: '' })
  assert.equal((await post(service, headers, body)).status, 202)
  assert.deepEqual(await delivered(service), [undefined, undefined])
})

it('verifies the bytes of a body of any type', async test => {
  const service = await startTestService(test)
  const body = ` ${JSON.stringify(samplePageView({ user_data: { fn: 'Zoë' } }))}\r\n`
  assert.equal((await post(service, signed(service, { body }), body)).status, 202)
})

it('returns 401 when any signed part of the request was changed', async test => {
  const service = await startTestService(test)
  const other = await service.newTracker()
  const good = signed(service)
  const changed: Record<string, string>[] = [
    { ...good, 'X-Signalbox-Client-Ip': '9.9.9.9' },
    { ...good, 'X-Signalbox-Client-User-Agent': 'Other/1.0' },
    { ...good, 'X-Signalbox-Forwarded-At': String(service.clock.now().getTime() / 1_000 + 1) },
    signed(service, { secret: other.forwardingSecret }),
    signed(service, { secret: generateToken('forwarding') }),
    signed(service, { secret: service.tracker.trackerSecret }),
    signed(service, { secret: service.tracker.publishableKey }),
  ]
  for (const headers of changed) {
    const reply = await post(service, headers)
    assert.equal(reply.status, 401)
    assert.match(reply.body.message, WRONG)
    assert.equal(reply.headers.get('www-authenticate'), 'Bearer')
    assert.equal(reply.headers.get('x-should-retry'), 'false')
  }
  const body = JSON.stringify(samplePageView({ event_id: 'another' }))
  assert.match((await post(service, good, body)).body.message, WRONG)
  assert.equal((await post(service, good)).status, 202, 'none of them used the signature up')
})

it('returns 401 before the body is parsed, and without a body', async test => {
  const service = await startTestService(test)
  const wrong = signed(service, { secret: generateToken('forwarding') })
  for (const body of ['{', '{}', '']) {
    const reply = await post(service, wrong, body)
    assert.equal(reply.status, 401, body)
    assert.match(reply.body.message, WRONG)
  }
  const secret = service.tracker.publishableKey
  const bare = await service.request('POST', EVENTS, { secret, headers: wrong })
  assert.equal(bare.status, 401)
  const empty = await post(service, signed(service, { body: '' }), '')
  assert.equal(empty.status, 422)
  const malformed = await post(service, signed(service, { body: '{' }), '{')
  assert.equal(malformed.status, 400)
})

it('returns 401 for an incomplete signature or an old time', async test => {
  const service = await startTestService(test)
  const { 'X-Signalbox-Forwarding-Signature': signature, ...unsigned } = signed(service)
  const later = new Date(service.clock.now().getTime() + 301_000)
  const earlier = new Date(service.clock.now().getTime() - 301_000)
  for (const [headers, sentence] of [
    [unsigned, /^X-Signalbox-Forwarding-Signature must be /],
    [{ 'X-Signalbox-Client-Ip': '8.8.8.8' }, /^X-Signalbox-Forwarded-At must be /],
    [{ 'X-Signalbox-Forwarding-Signature': signature }, /^X-Signalbox-Forwarded-At must be /],
    [signed(service, { at: later }), / more than 5 minutes away from our time: /],
    [signed(service, { at: earlier }), / more than 5 minutes away from our time: /],
  ] as const) {
    const reply = await post(service, headers as Record<string, string>)
    assert.equal(reply.status, 401)
    assert.match(reply.body.message, sentence)
  }
  assert.equal((await service.read('view-1')).status, 404)
})

it('returns 401 for a replay in every process while its time is acceptable', async test => {
  const service = await startTestService(test)
  const early = new Date(service.clock.now().getTime() + 290_000)
  const [now, ahead] = [signed(service), signed(service, { at: early })]
  assert.equal((await post(service, now)).status, 202)
  assert.equal((await post(service, ahead)).status, 200)
  for (const seconds of [0, 200, 100]) {
    service.clock.advance(seconds)
    const reply = await post(service, now)
    assert.equal(reply.status, 401)
    assert.match(reply.body.message, REPLAYED)
  }
  service.clock.advance(290)
  assert.match((await post(service, ahead)).body.message, REPLAYED)
  assert.equal((await post(service, signed(service))).status, 200, 'a fresh signature is none')
})

it('accepts exactly one of many concurrent copies', async test => {
  const service = await startTestService(test)
  const headers = signed(service, { body: '{}' })
  const replies = await Promise.all(Array.from({ length: 20 }, () => post(service, headers, '{}')))
  const statuses = replies.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [...Array(19).fill(401), 422])
})

it('deletes expired signatures, a few with each new one', async test => {
  const service = await startTestService(test)
  const count = async () => {
    const { rows } = await service.database.pool.query(
      'select count(*)::integer as count from forwarded_signatures',
    )
    return rows[0].count as number
  }
  for (let index = 0; index < 6; index += 1) {
    const body = JSON.stringify(samplePageView({ event_id: `view-${index}` }))
    assert.notEqual((await post(service, signed(service, { body }), body)).status, 401)
  }
  assert.equal(await count(), 6)
  service.clock.advance(1_000)
  for (const expected of [5, 4, 3, 4, 5]) {
    service.clock.advance(1)
    assert.equal((await post(service, signed(service))).status, 200)
    assert.equal(await count(), expected)
  }
})

it('accepts both secrets of a rotation and returns 401 for a revoked one within a second', async test => {
  const service = await startTestService(test)
  const { trackerId, workspaceId, forwardingSecret: oldSecret } = service.tracker
  const issuedAt = service.clock.now()
  const scope = { database: service.database, audit: createTestAuditTrail(service) }
  const request = { trackerId, workspaceId, kind: 'forwarding', issuedAt } as const
  const newSecret = await issueKey(scope, request)
  const statusWith = async (secret: string) => {
    service.clock.advance(1)
    return (await post(service, signed(service, { secret }))).status
  }
  assert.equal(await statusWith(oldSecret), 202)
  const digest = hashToken(oldSecret)
  await revokeKey(service.database, { trackerId, digest, revokedAt: issuedAt })
  const start = performance.now()
  for (;;) {
    const askedAt = performance.now()
    if ((await statusWith(oldSecret)) === 401) break
    assert.ok(askedAt - start < 1_000, 'a revoked secret was taken too long')
  }
  assert.equal(await statusWith(newSecret), 200)
})

it('returns 401 for a forwarding secret used as a credential, and requires no signature of others', async test => {
  const service = await startTestService(test)
  const secret = service.tracker.forwardingSecret
  for (const [method, path] of [
    ['POST', EVENTS],
    ['GET', `${EVENTS}/view-1`],
    ['POST', '/api/v1/verification-events'],
  ] as const) {
    const reply = await service.request(method, path, { secret })
    assert.equal(reply.status, 401)
    assert.deepEqual(reply.body, { message: 'Unauthenticated.' })
  }
  const forged = { ...signed(service), 'X-Signalbox-Forwarding-Signature': 'forged' }
  assert.equal((await service.submit(samplePurchase(), forged)).status, 202)
})

it('stores when a forwarding secret was last used', async test => {
  const service = await startTestService(test)
  const usedAt = async () => {
    const { rows } = await service.database.pool.query(
      `select last_used_at from tracker_keys
       left join tracker_key_uses using (tracker_id, key_digest) where kind = 'forwarding'`,
    )
    return rows[0].last_used_at as Date | null
  }
  assert.equal((await post(service, signed(service))).status, 202)
  for (let attempts = 0; attempts < 10_000 && (await usedAt()) === null; attempts += 1);
  assert.deepEqual(await usedAt(), service.clock.now())
})
