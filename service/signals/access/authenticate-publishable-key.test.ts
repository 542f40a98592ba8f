import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import { SHOP_ORIGIN, samplePageView } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { generateToken, hashToken } from '../../runtime/util/token-format.ts'
import { revokeKey } from './key-store.ts'
import { issueKey } from './tracker-keys.ts'

const EVENTS = '/api/v1/events'

async function send(
  service: TestService,
  headers: Record<string, string>,
  changes: Record<string, unknown> = {},
) {
  const secret = service.tracker.publishableKey
  return service.request('POST', EVENTS, { secret, headers, body: samplePageView(changes) })
}

it('accepts events from a registered origin in any spelling', async test => {
  const service = await startTestService(test)
  const reply = await send(service, { origin: SHOP_ORIGIN })
  assert.equal(reply.status, 202)
  assert.equal((await send(service, { origin: 'HTTPS://SHOP.example:443' })).status, 200)
  const { body } = await service.read('view-1')
  assert.equal(body.event.event_name, 'PageView')
  assert.equal(body.deliveries[0].status, 'queued')
})

it('accepts events without an Origin header', async test => {
  const service = await startTestService(test)
  assert.equal((await send(service, {})).status, 202)
})

it('accepts any loopback port and any subdomain where a wildcard is registered', async test => {
  const service = await startTestService(test)
  const { publishableKey: secret } = await service.newTracker([
    'http://127.0.0.1:*',
    'https://*.shop.example',
  ])
  for (const [origin, status] of [
    ['http://127.0.0.1:5173', 202],
    ['https://www.shop.example', 200],
    ['https://shop.example', 403],
    ['https://127.0.0.1:5173', 403],
  ] as const) {
    const options = { secret, headers: { origin }, body: samplePageView() }
    assert.equal((await service.request('POST', EVENTS, options)).status, status, origin)
  }
})

it('returns 403 for every other origin, readable by the page', async test => {
  const service = await startTestService(test)
  for (const origin of [
    ...['https://evil.example', 'http://shop.example', 'https://shop.example:8443', 'null'],
    ...['https://shop.example.evil.example', 'https://shop.example/', `${SHOP_ORIGIN}, x`, '*'],
  ]) {
    const reply = await send(service, { origin })
    assert.equal(reply.status, 403, origin)
    assert.deepEqual(reply.body, {
      message:
        'The origin of this page is not registered for the publishable key: issue a key that ' +
        'names it.',
    })
    assert.equal(reply.headers.get('access-control-allow-origin'), origin)
    assert.equal(reply.headers.get('x-should-retry'), 'false')
  }
  assert.equal((await service.read('view-1')).status, 404)
})

it('returns 403 for every page when the key has no origins, but accepts servers', async test => {
  const service = await startTestService(test)
  const { publishableKey: secret } = await service.newTracker([])
  const request = { secret, body: samplePageView() }
  const headers = { origin: SHOP_ORIGIN }
  assert.equal((await service.request('POST', EVENTS, { ...request, headers })).status, 403)
  assert.equal((await service.request('POST', EVENTS, request)).status, 202)
})

it('stores events with the tracker of the key', async test => {
  const service = await startTestService(test)
  const other = await service.newTracker()
  assert.equal((await send(service, { origin: SHOP_ORIGIN })).status, 202)
  const read = (secret: string) => service.request('GET', `${EVENTS}/view-1`, { secret })
  assert.equal((await read(service.tracker.trackerSecret)).status, 200)
  assert.equal((await read(other.trackerSecret)).status, 404)
})

it('accepts a consent withdrawal and a verification, returns 422 for revenue without consent', async test => {
  const service = await startTestService(test)
  const headers = { origin: SHOP_ORIGIN }
  const bare = { consent_basis: 'legitimate_interest', consent: undefined }
  assert.equal((await send(service, headers)).status, 202)
  const withdrawal = { ...bare, event_id: 'w', event_name: 'consent_withdrawal' }
  assert.equal((await send(service, headers, withdrawal)).status, 202)
  const { body } = await service.read('view-1')
  assert.equal(body.deliveries[0].status, 'skipped:consent')
  const verification = { ...bare, event_id: 'v', event_name: 'signal_verification' }
  assert.equal((await send(service, headers, verification)).status, 202)
  const purchase = { ...bare, event_id: 'p', event_name: 'Purchase' }
  const refused = await send(service, headers, purchase)
  assert.equal(refused.status, 422)
  assert.deepEqual(Object.keys(refused.body.errors), ['event_name'])
})

it('returns 401 for an unknown, mistyped or foreign publishable key', async test => {
  const service = await startTestService(test)
  const { publishableKey } = service.tracker
  for (const secret of [
    generateToken('publishable'),
    `${publishableKey}0`,
    publishableKey.slice(0, -1),
  ]) {
    const options = { secret, headers: { origin: SHOP_ORIGIN }, body: samplePageView() }
    const reply = await service.request('POST', EVENTS, options)
    assert.equal(reply.status, 401)
    assert.equal(reply.text, '{"message":"Unauthenticated."}')
    assert.equal(reply.headers.get('access-control-allow-origin'), SHOP_ORIGIN)
  }
})

it('accepts both keys of a rotation and returns 401 for a revoked one within a second', async test => {
  const service = await startTestService(test)
  const { trackerId, workspaceId, publishableKey: oldKey } = service.tracker
  const origins = ['https://new.example']
  const issuedAt = service.clock.now()
  const request = { trackerId, workspaceId, kind: 'publishable', origins, issuedAt } as const
  const scope = { database: service.database, audit: createTestAuditTrail(service) }
  const newKey = await issueKey(scope, request)
  await assert.rejects(issueKey(scope, request), /2 live keys of the kind publishable/)
  const statusWith = async (secret: string, origin: string) => {
    const options = { secret, headers: { origin }, body: samplePageView() }
    return (await service.request('POST', EVENTS, options)).status
  }
  assert.equal(await statusWith(oldKey, SHOP_ORIGIN), 202)
  assert.equal(await statusWith(newKey, 'https://new.example'), 200)
  assert.equal(await statusWith(newKey, SHOP_ORIGIN), 403)
  const digest = hashToken(oldKey)
  assert.equal(await revokeKey(service.database, { trackerId, digest, revokedAt: issuedAt }), true)
  await assertRefusedSoon(() => statusWith(oldKey, SHOP_ORIGIN))
  assert.equal(await statusWith(newKey, 'https://new.example'), 200)
})

it('stores when a publishable key was last used, and only the digest of the key', async test => {
  const service = await startTestService(test)
  const { publishableKey } = service.tracker
  const row = async () => {
    const { rows } = await service.database.pool.query(
      `select * from tracker_keys left join tracker_key_uses using (tracker_id, key_digest)
       where kind = 'publishable'`,
    )
    assert.ok(!JSON.stringify(rows).includes(publishableKey.slice(7, 40)))
    return rows[0]
  }
  assert.equal((await row()).last_used_at, null)
  await send(service, { origin: SHOP_ORIGIN })
  for (
    let attempts = 0;
    attempts < ATTEMPTS_MAX && (await row()).last_used_at === null;
    attempts += 1
  );
  assert.deepEqual((await row()).last_used_at, service.clock.now())
  assert.deepEqual((await row()).origins, [SHOP_ORIGIN])
})

const ATTEMPTS_MAX = 10_000
const REFUSAL_MILLISECONDS_MAX = 1_000

/** Sends without a pause until the response is 401, which must come within a second. */
async function assertRefusedSoon(send: () => Promise<number>): Promise<void> {
  const start = performance.now()
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    const askedAt = performance.now()
    if ((await send()) === 401) return
    assert.ok(askedAt - start < REFUSAL_MILLISECONDS_MAX, 'a revoked key was taken too long')
  }
  assert.fail('the key was never refused')
}
