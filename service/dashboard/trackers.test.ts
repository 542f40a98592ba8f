import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import {
  SHOP_ORIGIN,
  samplePageView,
  samplePurchase,
} from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { createTestWorkspace } from '../../testing/fixtures/users.ts'
import { TRACKERS_MAX } from '../signals/access/tracker-store.ts'

it('creates a tracker in an empty workspace, with keys that work at once', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const path = `/browser/workspaces/${workspaceId}/trackers`
  assert.deepEqual((await owner.client.call('GET', path)).body, { trackers: [] })

  const origins = [SHOP_ORIGIN, `${SHOP_ORIGIN}:443`]
  const created = await owner.client.call('POST', path, {
    body: { name: ' Shop  EU ', origins, share_page_ids: true },
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  assert.equal(created.headers.get('cache-control'), 'no-store')
  const { keys, ...tracker } = created.body
  assert.equal(tracker.name, 'Shop EU')
  assert.deepEqual((await owner.client.call('GET', path)).body, { trackers: [tracker] })

  const purchase = { secret: keys.secret, body: samplePurchase() }
  assert.equal((await service.request('POST', '/api/v1/events', purchase)).status, 202)
  const headers = { origin: SHOP_ORIGIN }
  const view = { secret: keys.publishable, body: samplePageView(), headers }
  assert.equal((await service.request('POST', '/api/v1/events', view)).status, 202)
  assert.match(keys.forwarding, /^sbx_fwd_/)
})

it('issues only a secret for a tracker without websites', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const path = `/browser/workspaces/${workspaceId}/trackers`
  const { body } = await owner.client.call('POST', path, { body: { name: 'Till' } })
  assert.match(body.keys.secret, /^sbx_sk_/)
  assert.deepEqual([body.keys.publishable, body.keys.forwarding], [null, null])
})

it('audits a new tracker and its keys with the person, without names and keys', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const path = `/browser/workspaces/${workspaceId}/trackers`
  const body = { name: 'Secret launch', origins: [SHOP_ORIGIN], share_page_ids: false }
  const created = await owner.client.call('POST', path, { body })
  await owner.client.call('PATCH', `${path}/${created.body.id}`, { body: { name: 'Launched' } })
  await owner.client.call('PATCH', `${path}/${created.body.id}`, { body: { name: 'Launched' } })

  const entries = await readAuditEntries(service.database, workspaceId)
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['tracker.created', 'key.issued', 'key.issued', 'key.issued', 'tracker.renamed'],
  )
  for (const { actor } of entries) {
    assert.deepEqual(actor, { type: 'person', id: String(owner.userId) })
  }
  const text = JSON.stringify(entries)
  for (const secret of ['Secret launch', 'Launched', SHOP_ORIGIN, created.body.keys.secret]) {
    assert.ok(!text.includes(secret), secret)
  }
  assert.ok(!service.logged().includes(created.body.keys.secret))
})

it('returns 422 naming every invalid field of a tracker', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const path = `/browser/workspaces/${workspaceId}/trackers`
  const fieldsOf = async (body: unknown) => {
    const reply = await owner.client.call('POST', path, { body })
    assert.equal(reply.status, 422)
    return Object.keys(reply.body.errors).sort()
  }
  assert.deepEqual(await fieldsOf({}), ['name'])
  assert.deepEqual(await fieldsOf({ name: 5, origins: 'https://shop.example' }), [
    'name',
    'origins',
  ])
  const origins = [SHOP_ORIGIN, 'https://shop.example/cart', '*', 'shop.example']
  assert.deepEqual(await fieldsOf({ name: '\u200b', origins }), [
    'name',
    'origins.1',
    'origins.2',
    'origins.3',
    'share_page_ids',
  ])
  assert.deepEqual((await owner.client.call('GET', path)).body, { trackers: [] })
})

it('creates no more trackers than a workspace may have, when two people add the last', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  await service.database.pool.query(
    `insert into trackers (id, workspace_id, name, created_at)
     select gen_random_uuid(), $1, 'Shop ' || number, now()
     from generate_series(2, ${TRACKERS_MAX}) as number`,
    [workspaceId],
  )
  const path = `/browser/workspaces/${workspaceId}/trackers`
  const add = () => owner.client.call('POST', path, { body: { name: 'Last' } })
  const replies = await Promise.all([add(), add(), add()])
  assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 422, 422])
  const refused = replies.find(({ status }) => status === 422)
  assert.match(refused?.body.errors.name[0], /at most 200 trackers/)
})

it('renames a tracker for every page that lists it', async test => {
  const service = await startTestService(test)
  const { owner, path, tracker } = await openDashboardWorkspace(service)
  const empty = await owner.client.call('PATCH', path, { body: { name: ' ' } })
  assert.deepEqual([empty.status, Object.keys(empty.body.errors)], [422, ['name']])
  await owner.client.call('PATCH', path, { body: { name: 'Shop DE' } })
  const listed = await owner.client.call(
    'GET',
    `/browser/workspaces/${tracker.workspaceId}/trackers`,
  )
  assert.deepEqual(
    listed.body.trackers.map(({ name }: { name: string }) => name),
    ['Shop DE'],
  )
})

it('sets the consent categories of a tracker, by which its events are read', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const path = `/browser/workspaces/${workspaceId}/trackers`
  const create = async (name: string) =>
    (await owner.client.call('POST', path, { body: { name } })).body
  const [plain, shop] = [await create('Plain'), await create('Shop')]
  const change = (body: object) => owner.client.call('PATCH', `${path}/${shop.id}`, { body })
  const consent_categories = { C0004: 'other', C0006: 'advertising' }
  assert.equal((await change({ consent_categories })).status, 204)
  assert.equal((await change({ consent_categories: { C1: 'all' } })).status, 422)
  const { trackers } = (await owner.client.call('GET', path)).body
  const categoriesOf = (tracker: typeof shop) =>
    trackers.find(({ id }: typeof shop) => id === tracker.id).consent_categories
  assert.deepEqual([plain, shop].map(categoriesOf), [{}, consent_categories])
  const submit = async ({ keys }: typeof shop, groups: string) => {
    const body = samplePurchase({ event_id: groups, consent: { groups } })
    return (await service.request('POST', '/api/v1/events', { secret: keys.secret, body })).status
  }
  assert.equal(await submit(plain, 'C0004:0,C0006:1'), 422)
  assert.equal(await submit(shop, 'C0004:0,C0006:1'), 202)
  assert.equal(await submit(shop, 'C0004:1,C0006:0'), 422)
  const [last] = (await readAuditEntries(service.database, workspaceId)).slice(-1)
  assert.equal(last?.action, 'tracker.consent_categories_changed')
})

it('asks whether pages share event IDs, and audits a change', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const path = `/browser/workspaces/${workspaceId}/trackers`
  const unasked = { name: 'Shop', origins: [SHOP_ORIGIN] }
  const refused = await owner.client.call('POST', path, { body: unasked })
  assert.deepEqual(refused.body.errors, {
    share_page_ids: ['Say whether pages share their event IDs with the tracker secret.'],
  })
  const body = { ...unasked, share_page_ids: true }
  const { id, share_page_ids } = (await owner.client.call('POST', path, { body })).body
  assert.equal(share_page_ids, true)
  const change = (isShared: boolean) =>
    owner.client.call('PATCH', `${path}/${id}`, { body: { share_page_ids: isShared } })
  assert.equal((await change(false)).status, 204)
  assert.equal((await change(false)).status, 204)
  const [tracker] = (await owner.client.call('GET', path)).body.trackers
  assert.equal(tracker.share_page_ids, false)
  const entries = await readAuditEntries(service.database, workspaceId)
  const changes = entries.filter(({ action }) => action === 'tracker.page_id_sharing_changed')
  assert.deepEqual(
    changes.map(({ details }) => details),
    [{ share_page_ids: false }],
  )
})
