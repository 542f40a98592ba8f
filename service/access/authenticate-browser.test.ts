import assert from 'node:assert/strict'
import { it } from 'node:test'
import { trailOf } from '../../testing/audit-entries.ts'
import { pageView, SHOP_ORIGIN } from '../../testing/page-view.ts'
import { type ServiceUnderTest, serviceUnderTest } from '../../testing/service-under-test.ts'
import { revokeKey } from './store.ts'
import { generateToken, hashToken } from './token-format.ts'
import { issueKey } from './tracker-keys.ts'

const EVENTS = '/api/v1/events'

async function send(
  service: ServiceUnderTest,
  headers: Record<string, string>,
  changes: Record<string, unknown> = {},
) {
  const secret = service.tracker.publishableKey
  return service.request('POST', EVENTS, { secret, headers, body: pageView(changes) })
}

it('202 takes an event from a registered origin, however it is spelled', async test => {
  const service = await serviceUnderTest(test)
  const reply = await send(service, { origin: SHOP_ORIGIN })
  assert.equal(reply.status, 202)
  assert.equal((await send(service, { origin: 'HTTPS://SHOP.example:443' })).status, 200)
  const { body } = await service.read('view-1')
  assert.equal(body.event.event_name, 'PageView')
  assert.equal(body.deliveries[0].status, 'queued')
})

it('202 takes an event without an Origin: from a server, which could write any', async test => {
  const service = await serviceUnderTest(test)
  assert.equal((await send(service, {})).status, 202)
})

it('202 takes wildcards that were registered: any loopback port, any subdomain', async test => {
  const service = await serviceUnderTest(test)
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
    const options = { secret, headers: { origin }, body: pageView() }
    assert.equal((await service.request('POST', EVENTS, options)).status, status, origin)
  }
})

it('403 refuses every other origin, in words that the page can read', async test => {
  const service = await serviceUnderTest(test)
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

it('403 refuses every page when the key names no origin, and 202 takes servers', async test => {
  const service = await serviceUnderTest(test)
  const { publishableKey: secret } = await service.newTracker([])
  const request = { secret, body: pageView() }
  const headers = { origin: SHOP_ORIGIN }
  assert.equal((await service.request('POST', EVENTS, { ...request, headers })).status, 403)
  assert.equal((await service.request('POST', EVENTS, request)).status, 202)
})

it('202 keeps events of a key with its own tracker', async test => {
  const service = await serviceUnderTest(test)
  const other = await service.newTracker()
  assert.equal((await send(service, { origin: SHOP_ORIGIN })).status, 202)
  const read = (secret: string) => service.request('GET', `${EVENTS}/view-1`, { secret })
  assert.equal((await read(service.tracker.trackerSecret)).status, 200)
  assert.equal((await read(other.trackerSecret)).status, 404)
})

it('202 takes a withdrawal of consent and a verification, 422 revenue without consent', async test => {
  const service = await serviceUnderTest(test)
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

it('401 refuses a publishable key that is unknown, mistyped or of no tracker', async test => {
  const service = await serviceUnderTest(test)
  const { publishableKey } = service.tracker
  for (const secret of [
    generateToken('publishable'),
    `${publishableKey}0`,
    publishableKey.slice(0, -1),
  ]) {
    const options = { secret, headers: { origin: SHOP_ORIGIN }, body: pageView() }
    const reply = await service.request('POST', EVENTS, options)
    assert.equal(reply.status, 401)
    assert.equal(reply.text, '{"message":"Unauthenticated."}')
    assert.equal(reply.headers.get('access-control-allow-origin'), SHOP_ORIGIN)
  }
})

it('202 takes both keys of a rotation, and 401 refuses the revoked one within a second', async test => {
  const service = await serviceUnderTest(test)
  const { trackerId, workspaceId, publishableKey: oldKey } = service.tracker
  const origins = ['https://new.example']
  const issuedAt = service.clock.now()
  const request = { trackerId, workspaceId, kind: 'publishable', origins, issuedAt } as const
  const scope = { database: service.database, audit: trailOf(service) }
  const newKey = await issueKey(scope, request)
  await assert.rejects(issueKey(scope, request), /2 live keys of the kind publishable/)
  const statusWith = async (secret: string, origin: string) => {
    const options = { secret, headers: { origin }, body: pageView() }
    return (await service.request('POST', EVENTS, options)).status
  }
  assert.equal(await statusWith(oldKey, SHOP_ORIGIN), 202)
  assert.equal(await statusWith(newKey, 'https://new.example'), 200)
  assert.equal(await statusWith(newKey, SHOP_ORIGIN), 403)
  const digest = hashToken(oldKey)
  assert.equal(await revokeKey(service.database, { trackerId, digest, revokedAt: issuedAt }), true)
  await refusedSoon(() => statusWith(oldKey, SHOP_ORIGIN))
  assert.equal(await statusWith(newKey, 'https://new.example'), 200)
})

it('keeps when a publishable key was last used, and of the key no more than its digest', async test => {
  const service = await serviceUnderTest(test)
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
  for (let asks = 0; asks < ASKS_MAX && (await row()).last_used_at === null; asks += 1);
  assert.deepEqual((await row()).last_used_at, service.clock.now())
  assert.deepEqual((await row()).origins, [SHOP_ORIGIN])
})

const ASKS_MAX = 10_000
const REFUSAL_MILLISECONDS_MAX = 1_000

/** Asks without a pause until the answer is 401. Only answers sent in time count as good. */
async function refusedSoon(ask: () => Promise<number>): Promise<void> {
  const start = performance.now()
  for (let asks = 0; asks < ASKS_MAX; asks += 1) {
    const askedAt = performance.now()
    if ((await ask()) === 401) return
    assert.ok(askedAt - start < REFUSAL_MILLISECONDS_MAX, 'a revoked key was taken too long')
  }
  assert.fail('the key was never refused')
}
