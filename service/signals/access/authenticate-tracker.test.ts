import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  generateToken,
  hashToken,
  TOKEN_PREFIXES,
  type TokenKind,
} from '../../runtime/util/token-format.ts'
import { insertKey, revokeKey } from './key-store.ts'
import { issueKey, type KeyRequest } from './tracker-keys.ts'

const OPERATIONS = [
  ['POST', '/api/v1/events'],
  ['POST', '/api/v1/verification-events'],
  ['GET', '/api/v1/events/order-1001'],
] as const

it('returns the same 401 from every operation without a tracker secret', async test => {
  const service = await startTestService(test)
  const { trackerSecret } = service.tracker
  await service.submit(samplePurchase())
  const headers: (string | undefined)[] = [
    undefined,
    'Bearer',
    'Bearer garbage',
    `Basic ${btoa(`${trackerSecret}:`)}`,
    trackerSecret,
    `Bearer ${trackerSecret} ${trackerSecret}`,
    `Bearer ${trackerSecret.slice(0, -1)}`,
    `Bearer ${trackerSecret.toUpperCase()}`,
    `Bearer ${generateToken('tracker_secret')}`,
  ]
  for (const [method, path] of OPERATIONS) {
    for (const authorization of headers) {
      const reply = await service.request(method, path, {
        secret: null,
        ...(authorization === undefined ? {} : { headers: { authorization } }),
        ...(method === 'POST' ? { body: samplePurchase({ event_id: 'intruder' }) } : {}),
      })
      assert.equal(reply.status, 401, `${method} ${path} ${authorization}`)
      assert.equal(reply.text, '{"message":"Unauthenticated."}')
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer')
    }
  }
  assert.equal((await service.read('intruder')).status, 404)
})

it('returns 401 for every other kind of credential, even a stored one', async test => {
  const service = await startTestService(test)
  const kinds = Object.keys(TOKEN_PREFIXES) as TokenKind[]
  for (const kind of kinds.filter(name => name !== 'tracker_secret')) {
    const secret = generateToken(kind)
    await insertKey(service.database, {
      trackerId: service.tracker.trackerId,
      kind,
      digest: hashToken(secret),
      lastCharacters: secret.slice(-4),
      createdAt: service.clock.now(),
    })
    for (const [method, path] of OPERATIONS) {
      if (kind === 'publishable' && path === '/api/v1/events') continue
      const reply = await service.request(method, path, { secret })
      assert.equal(reply.status, 401, `${kind} on ${method} ${path}`)
      assert.deepEqual(reply.body, { message: 'Unauthenticated.' })
    }
  }
})

it('returns 401 before it reads path, query, cookie or body', async test => {
  const service = await startTestService(test)
  const { trackerSecret } = service.tracker
  const hidden = { headers: { cookie: `secret=${trackerSecret}`, 'x-api-key': trackerSecret } }
  const path = `/api/v1/events/order-1001?access_token=${trackerSecret}`
  assert.equal((await service.request('GET', path, { secret: null, ...hidden })).status, 401)
  const body = samplePurchase({ access_token: trackerSecret, event_time: 'wrong' })
  const submitted = await service.request('POST', '/api/v1/events', { secret: null, body })
  assert.equal(submitted.status, 401)
  assert.ok(!service.logged().includes(trackerSecret))
})

it('accepts the Bearer scheme in any case', async test => {
  const service = await startTestService(test)
  for (const [scheme, status] of [
    ['bearer', 202],
    ['BEARER', 200],
    ['Bearer', 200],
  ] as const) {
    const authorization = `${scheme} ${service.tracker.trackerSecret}`
    const reply = await service.submit(samplePurchase(), { authorization })
    assert.equal(reply.status, status, scheme)
  }
})

it('accepts both secrets of a rotation and returns 401 for the revoked one only', async test => {
  const service = await startTestService(test)
  const { trackerId, workspaceId, trackerSecret: oldSecret } = service.tracker
  const at = service.clock.now()
  const issuedAt = at
  const another: KeyRequest = { trackerId, workspaceId, kind: 'tracker_secret', issuedAt }
  const scope = { database: service.database, audit: createTestAuditTrail(service) }
  const newSecret = await issueKey(scope, another)
  await assert.rejects(issueKey(scope, another), /the tracker has 2 live keys/)
  assert.equal(await statusWith(service, oldSecret), 202)
  assert.equal(await statusWith(service, newSecret), 200)
  const revocation = { trackerId, digest: hashToken(oldSecret), revokedAt: at }
  const stranger = { ...revocation, trackerId: (await service.newTracker()).trackerId }
  assert.equal(await revokeKey(service.database, stranger), false)
  assert.equal(await revokeKey(service.database, revocation), true)
  assert.equal(await revokeKey(service.database, revocation), false)
  await refusedWithin(service, oldSecret)
  assert.equal(await statusWith(service, newSecret), 200)
})

it('returns 401 for a revoked secret within a second under constant use', async test => {
  const service = await startTestService(test)
  const { trackerId, trackerSecret } = service.tracker
  assert.equal(await statusWith(service, trackerSecret), 202)
  await revokeKey(service.database, {
    trackerId,
    digest: hashToken(trackerSecret),
    revokedAt: service.clock.now(),
  })
  await refusedWithin(service, trackerSecret)
  assert.equal(await statusWith(service, trackerSecret), 401)
})

it('stores when a secret was last used, and only the digest of the secret', async test => {
  const service = await startTestService(test)
  const { trackerSecret } = service.tracker
  const usedAt = async () => {
    const { rows } = await service.database.pool.query(
      `select * from tracker_keys left join tracker_key_uses using (tracker_id, key_digest)
       where kind = 'tracker_secret'`,
    )
    assert.ok(!JSON.stringify(rows).includes(trackerSecret.slice(7, 40)))
    return rows[0].last_used_at as Date | null
  }
  assert.equal(await usedAt(), null)
  await statusWith(service, trackerSecret)
  // The request does not wait for the write.
  for (let attempts = 0; attempts < ATTEMPTS_MAX && (await usedAt()) === null; attempts += 1);
  assert.deepEqual(await usedAt(), service.clock.now())
})

const ATTEMPTS_MAX = 10_000
const REFUSAL_MILLISECONDS_MAX = 1_000

/** Sends without a pause until the response is 401, which must come within a second. */
async function refusedWithin(service: TestService, secret: string): Promise<void> {
  const start = performance.now()
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    const askedAt = performance.now()
    if ((await statusWith(service, secret)) === 401) return
    assert.ok(askedAt - start < REFUSAL_MILLISECONDS_MAX, 'a revoked secret was taken too long')
  }
  assert.fail('the secret was never refused')
}

async function statusWith(service: TestService, secret: string): Promise<number> {
  const body = samplePurchase()
  return (await service.request('POST', '/api/v1/events', { secret, body })).status
}
