import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { runSimultaneously } from '../../testing/concurrency/lock-barrier.ts'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
} from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { hashToken } from '../runtime/util/token-format.ts'
import { toKeyId } from '../signals/access/tracker-keys.ts'

const CONFIRM_AGAIN_SECONDS = 16 * 60

async function openKeys(test: TestContext) {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const call = (method: string, rest = '', body?: object) =>
    owner.client.call(method, `${path}/keys${rest}`, body ? { body } : {})
  const idOf = (token: string) => toKeyId(hashToken(token))
  return { service, owner, path, call, idOf, tracker: service.tracker }
}

it('lists the live keys of a tracker with their last use, and no part of a key', async test => {
  const { service, call, tracker } = await openKeys(test)
  await service.submit(samplePurchase())
  const isUsed = async () => (await call('GET')).body.live.some(isLastUsed)
  await waitUntil('the use is stored', isUsed)
  const { status, body } = await call('GET')
  assert.equal(status, 200)
  const { publishableKey, forwardingSecret, trackerSecret } = tracker
  const summary = body.live.map((key: Record<string, unknown>) => [
    ...[key.kind, key.last_characters, key.origins, key.last_used_at, key.revoked_at],
  ])
  assert.deepEqual(summary, [
    ['forwarding', forwardingSecret.slice(-4), [], null, null],
    ['publishable', publishableKey.slice(-4), [SHOP_ORIGIN], null, null],
    ['tracker_secret', trackerSecret.slice(-4), [], '2026-11-21T12:00:00.000Z', null],
  ])
  assert.deepEqual([body.revoked, body.live_max, body.next_cursor], [[], 2, null])
  const text = JSON.stringify(body)
  for (const key of [publishableKey, forwardingSecret, trackerSecret]) {
    assert.ok(!text.includes(key.slice(7, 40)))
    assert.ok(!text.includes(hashToken(key).toString('hex')))
  }
})

it('rotates a tracker secret: both work until the first one is revoked', async test => {
  const { service, owner, call, idOf, tracker } = await openKeys(test)
  const { trackerSecret: first, workspaceId, trackerId } = tracker
  const rotated = await call('POST', `/${idOf(first)}/rotation`)
  assert.equal(rotated.status, 201)
  const { token: second, key } = rotated.body
  assert.match(second, /^sbx_sk_[0-9a-f]{72}$/)
  assert.deepEqual([key.kind, key.id], ['tracker_secret', idOf(second)])
  const send = (secret: string) =>
    service.request('POST', '/api/v1/events', {
      secret,
      body: samplePurchase({ event_id: randomUUID() }),
    })
  assert.equal((await send(first)).status, 202)
  assert.equal((await send(second)).status, 202)
  assert.equal((await call('DELETE', `/${idOf(first)}`)).status, 204)
  await waitUntil('the first is refused', async () => (await send(first)).status === 401)
  assert.equal((await send(second)).status, 202)
  const written = await readAuditEntries(service.database, workspaceId)
  const actor = { type: 'person', id: String(owner.userId) }
  assert.partialDeepStrictEqual(written.slice(-2), [
    { action: 'key.issued', actor, subject: { type: 'key', id: idOf(second) } },
    {
      action: 'key.revoked',
      actor,
      subject: { type: 'key', id: idOf(first) },
      details: {
        tracker_id: trackerId,
        kind: 'tracker_secret',
        last_characters: first.slice(-4),
      },
    },
  ])
})

it('rotates a publishable key with its origins', async test => {
  const { service, call, idOf, tracker } = await openKeys(test)
  const { token, key } = (await call('POST', `/${idOf(tracker.publishableKey)}/rotation`)).body
  assert.deepEqual(key.origins, [SHOP_ORIGIN])
  const options = { secret: token, headers: { origin: SHOP_ORIGIN }, body: samplePageView() }
  assert.equal((await service.request('POST', '/api/v1/events', options)).status, 202)
})

it('issues one second key when two people do it at the same time', async test => {
  const { service, call } = await openKeys(test)
  const issue = () => call('POST', '', { kind: 'forwarding' })
  const replies = await runSimultaneously(service.database, 'trackers', [issue, issue])
  assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 422])
  const refused = replies.find(({ status }) => status === 422)
  assert.match(refused?.body.errors.kind[0], /^Revoke a key first: the tracker has 2 live keys/)
})

it('stores the origins of a publishable key as browsers send them', async test => {
  const { call } = await openKeys(test)
  const origins = ['HTTPS://Shop.Example:443', 'https://*.shop.example', 'https://shop.example']
  const { status, body } = await call('POST', '', { kind: 'publishable', origins })
  assert.equal(status, 201)
  assert.deepEqual(body.key.origins, ['https://shop.example', 'https://*.shop.example'])
})

it('returns 422 naming every invalid field of a key', async test => {
  const { call } = await openKeys(test)
  const fieldsOf = async (body: object) => {
    const reply = await call('POST', '', body)
    assert.equal(reply.status, 422)
    return Object.keys(reply.body.errors)
  }
  assert.deepEqual(await fieldsOf({}), ['kind'])
  assert.deepEqual(await fieldsOf({ kind: 'execution', origins: 'x' }), ['kind', 'origins'])
  assert.deepEqual(await fieldsOf({ kind: 'publishable' }), ['origins'])
  assert.deepEqual(await fieldsOf({ kind: 'forwarding', origins: [SHOP_ORIGIN] }), ['origins'])
  const origins = ['https://shop.example/path', SHOP_ORIGIN, 'https://*.com', '\x07']
  assert.deepEqual(await fieldsOf({ kind: 'publishable', origins }), [
    ...['origins.0', 'origins.2', 'origins.3'],
  ])
})

it('issues no key until the person confirms their identity again, and revokes one anyway', async test => {
  const { service, call, idOf, tracker } = await openKeys(test)
  service.clock.advance(CONFIRM_AGAIN_SECONDS)
  const issued = await call('POST', '', { kind: 'forwarding' })
  assert.equal(issued.status, 403)
  assert.match(issued.body.message, /^Confirm your identity first/)
  const id = idOf(tracker.forwardingSecret)
  assert.equal((await call('POST', `/${id}/rotation`)).status, 403)
  assert.equal((await call('DELETE', `/${id}`)).status, 204)
})

it('revokes a key once, and rotates no revoked, unknown or foreign key', async test => {
  const { service, call, idOf, tracker } = await openKeys(test)
  const id = idOf(tracker.forwardingSecret)
  const statuses = [await call('DELETE', `/${id}`), await call('DELETE', `/${id}`)]
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [204, 204],
  )
  const { database } = service
  const written = await readAuditEntries(database, tracker.workspaceId, 'key.revoked')
  assert.equal(written.length, 1)
  const rotated = await call('POST', `/${id}/rotation`)
  assert.deepEqual([rotated.status, Object.keys(rotated.body.errors)], [422, ['key']])
  const other = await service.newTracker()
  for (const unknown of [idOf(other.trackerSecret), '0'.repeat(24), 'x'.repeat(1_000), '%00']) {
    assert.equal((await call('POST', `/${unknown}/rotation`)).status, 404, unknown)
    assert.equal((await call('DELETE', `/${unknown}`)).status, 404, unknown)
  }
})

it('pages through revoked keys without a gap, the last revoked one first', async test => {
  const { service, call, tracker } = await openKeys(test)
  await service.database.pool.query(
    `insert into tracker_keys
       (tracker_id, key_digest, kind, last_characters, created_at, revoked_at)
     select $1::uuid, sha256(number::text::bytea), 'forwarding', lpad(number::text, 4, '0'),
       '2026-01-01', timestamptz '2026-01-01' + number / 3 * interval '1 minute'
     from generate_series(1, 120) number`,
    [tracker.trackerId],
  )
  const seen: { last_characters: string; revoked_at: string }[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body } = await call('GET', cursor === '' ? '' : `?cursor=${cursor}`)
    assert.equal(body.live.length, 3)
    seen.push(...body.revoked)
    cursor = body.next_cursor
  }
  assert.equal(new Set(seen.map(({ last_characters }) => last_characters)).size, 120)
  const times = seen.map(({ revoked_at }) => revoked_at)
  assert.deepEqual(times, times.toSorted().reverse())
  for (const invalid of ['x', 'WyJ4Il0', Buffer.from('["2026-01-01","x"]').toString('base64url')]) {
    const refused = await call('GET', `?cursor=${invalid}`)
    assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['cursor']])
  }
})

function isLastUsed({ last_used_at }: { last_used_at: string | null }): boolean {
  return last_used_at !== null
}
