import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { it } from 'node:test'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDestination } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { findPlatformTarget } from '../../testing/fixtures/simulator.ts'
import { createTestWorkspace } from '../../testing/fixtures/users.ts'
import { createOfflinePlatforms } from '../signals/platforms/registry.ts'

const TOKEN = 'EAAB-a-token-of-the-test'
const SUBMISSION = { type: 'meta', config: { dataset_id: '1234567890' }, access_token: TOKEN }

it('creates a destination that receives the next events', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId, adAccountId } = await createTestWorkspace(service)
  const workspace = `/browser/workspaces/${workspaceId}/trackers`
  const created = await owner.client.call('POST', workspace, { body: { name: 'Shop' } })
  const secret = created.body.keys.secret
  const list = `${workspace}/${created.body.id}/destinations`
  const { accessToken, datasetId } = await findPlatformTarget(service, service.tracker)

  // The tracker's destinations are cached as "none" before the first one is created.
  const body = samplePurchase({ event_id: 'before' })
  await service.request('POST', '/api/v1/events', { secret, body })
  const reply = await owner.client.call('POST', list, {
    body: {
      type: 'meta',
      config: { dataset_id: ` ${datasetId} ` },
      access_token: `${accessToken}\n`,
      ad_account_id: adAccountId,
    },
  })
  assert.equal(reply.status, 201, JSON.stringify(reply.body))
  assert.equal(reply.body.platform_ad_account_id, adAccountId)
  assert.deepEqual(reply.body.config, {
    dataset_id: datasetId,
    test_event_code: null,
    test_mode_until: null,
    status_reason: null,
  })
  const after = samplePurchase({ event_id: 'after' })
  await service.request('POST', '/api/v1/events', { secret, body: after })
  await service.deliver()
  const { events } = await service.received()
  assert.deepEqual(
    events.map(({ event_id }) => event_id),
    ['after'],
  )
  const { body: listed } = await owner.client.call('GET', list)
  const [status] = listed.destinations
  assert.deepEqual(
    [status.credential, status.queue.waiting, status.last_request.outcome],
    ['accepted', 0, 'accepted'],
  )
})

it('connects Google Ads with a key file, and with the members that it needs only', async test => {
  const service = await startTestService(test)
  const { owner, list } = await openDestination(service)
  const create = (body: object) =>
    owner.client.call('POST', list, { body: { type: 'google_ads', ...body } })
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const key = {
    type: 'service_account',
    client_email: 'sender@shop.iam.gserviceaccount.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    token_uri: 'https://elsewhere.example/token',
  }
  const access_token = JSON.stringify(key)
  const created = await create({ config: { customer_id: '123-456-7890' }, access_token })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  assert.deepEqual(created.body.config, {
    customer_id: '123-456-7890',
    test_event_code: null,
    test_mode_until: null,
    status_reason: null,
  })
  const bare = await create({ config: { customer_id: '1112223334' }, access_token: 'ya29.token' })
  assert.deepEqual([bare.status, Object.keys(bare.body.errors)], [422, ['access_token']])
  const cut = JSON.stringify({ ...key, private_key: key.private_key.slice(0, 400) })
  const broken = await create({ config: { customer_id: '1112223334' }, access_token: cut })
  assert.deepEqual([broken.status, Object.keys(broken.body.errors)], [422, ['access_token']])
  assert.match(broken.body.message, /RSA, at least 2048 bits, PKCS#8/)
  const wrong = await create({ config: { merchant_id: '77' }, access_token })
  assert.deepEqual([wrong.status, Object.keys(wrong.body.errors)], [422, ['config.customer_id']])
})

it('seals the token, audits the person, and shows the token nowhere', async test => {
  const service = await startTestService(test)
  const { owner, tracker, list, one } = await openDestination(service)
  const created = await owner.client.call('POST', list, { body: SUBMISSION })
  const body = { access_token: `${TOKEN}-2`, config: { dataset_id: '99' } }
  const replaced = await owner.client.call('PUT', `${one}/credential`, { body })
  const listed = await owner.client.call('GET', list)
  for (const reply of [created, replaced, listed]) {
    assert.ok(!JSON.stringify(reply.body).includes(TOKEN))
  }
  assert.ok(!service.logged().includes(TOKEN))
  const { rows } = await service.database.pool.query('select sealed_credential from destinations')
  for (const { sealed_credential: sealed } of rows) assert.ok(!sealed.includes(TOKEN))

  const entries = await readAuditEntries(service.database, tracker.workspaceId)
  const written = entries
    .filter(({ subject }) => subject.type === 'destination')
    .map(({ action, actor, subject, details }) => [action, actor.id, subject.id, details])
  const user = String(owner.userId)
  assert.deepEqual(written, [
    [
      'destination.created',
      user,
      created.body.id,
      { tracker_id: tracker.trackerId, platform: 'meta' },
    ],
    ['credential.changed', user, tracker.destinationId, { changed_members: ['dataset_id'] }],
  ])
})

it('returns 422 naming every invalid field of a destination', async test => {
  const service = await startTestService(test)
  const { owner, list } = await openDestination(service)
  const other = await createTestWorkspace(service)
  const refuse = async (changes: object) => {
    const reply = await owner.client.call('POST', list, { body: { ...SUBMISSION, ...changes } })
    assert.equal(reply.status, 422)
    assert.ok(!JSON.stringify(reply.body).includes(TOKEN))
    return Object.keys(reply.body.errors).sort()
  }
  assert.deepEqual(await refuse({ type: undefined, config: [], access_token: 5 }), [
    'access_token',
    'config',
    'type',
  ])
  assert.deepEqual(await refuse({ type: 'unknown' }), ['type'])
  for (const dataset_id of [undefined, null, 5, '', 'act_12', '1'.repeat(21)]) {
    assert.deepEqual(await refuse({ config: { dataset_id } }), ['config.dataset_id'])
  }
  for (const access_token of [`${TOKEN} ${TOKEN}`, `${TOKEN}\u00e9`, ' ', '']) {
    assert.deepEqual(await refuse({ access_token }), ['access_token'])
  }
  assert.deepEqual(await refuse({ ad_account_id: other.adAccountId }), ['ad_account_id'])
})

it('creates one destination when two people connect the same dataset', async test => {
  const service = await startTestService(test)
  const { owner, list } = await openDestination(service)
  const add = () => owner.client.call('POST', list, { body: SUBMISSION })
  const replies = await Promise.all([add(), add(), add()])
  assert.deepEqual(replies.map(({ status }) => status).sort(), [201, 422, 422])
  const refused = replies.find(({ status }) => status === 422)
  assert.match(refused?.body.errors['config.dataset_id'][0], /already sends to Meta 1234567890/)
})

it('limits the destinations of a tracker', async test => {
  const service = await startTestService(test)
  const { owner, list } = await openDestination(service)
  for (let number = 2; number <= 20; number += 1) {
    const body = { ...SUBMISSION, config: { dataset_id: String(number) } }
    assert.equal((await owner.client.call('POST', list, { body })).status, 201)
  }
  const { body } = await owner.client.call('POST', list, { body: SUBMISSION })
  assert.match(body.errors.type[0], /at most 20 destinations/)
})

it('refuses to send events elsewhere until the person confirms their identity', async test => {
  const service = await startTestService(test)
  const { owner, list, one, tracker } = await openDestination(service)
  service.clock.advance(3_600)
  const body = { access_token: TOKEN }
  const trackers = `/browser/workspaces/${tracker.workspaceId}/trackers`
  const calls = [
    ['POST', list, SUBMISSION],
    ['PUT', `${one}/credential`, body],
    ['POST', trackers, { name: 'Shop' }],
  ] as const
  for (const [method, path, body] of calls) {
    const reply = await owner.client.call(method, path, { body })
    assert.equal(reply.status, 403)
    assert.match(reply.body.message, /Confirm your identity/)
  }
  // What changes nothing about where events go needs no confirmation.
  const on = await owner.client.call('PATCH', `${one}/test-mode`, { body: { enabled: true } })
  assert.equal(on.status, 200)
})

it('returns 404 for a destination of another tracker', async test => {
  const service = await startTestService(test)
  const { owner, list } = await openDestination(service)
  const { destinationId } = await service.newTracker()
  const bodies = { credential: { access_token: TOKEN }, 'test-mode': { enabled: true } }
  const calls = [
    ['PUT', 'credential', bodies.credential],
    ['PATCH', 'test-mode', bodies['test-mode']],
    ['POST', 'test-purchases', {}],
    ['POST', 'check', undefined],
    ['PATCH', '', { paused: true }],
    ['DELETE', '', undefined],
  ] as const
  for (const id of [destinationId, 'not-an-id']) {
    for (const [method, name, body] of calls) {
      const options = body === undefined ? {} : { body }
      const reply = await owner.client.call(method, `${list}/${id}${name && `/${name}`}`, options)
      assert.equal(reply.status, 404, name)
    }
  }
})

it('names each wrong field of each platform by its label, and none that is right', async test => {
  const service = await startTestService(test)
  const { owner, list } = await openDestination(service)
  for (const platform of createOfflinePlatforms().all) {
    const { name: type, targetFields, credentialForms } = platform
    const { config, credential } = platform.createSimulatorDestination()
    const refuse = async (members: object) => {
      const body = { type, config, access_token: credential, ad_account_id: null, ...members }
      const reply = await owner.client.call('POST', list, { body })
      assert.equal(reply.status, 422, JSON.stringify(reply.body))
      return reply.body.errors
    }
    for (const { name, label, hint } of targetFields) {
      const wrong = { config: { ...config, [name]: 'no such value!' } }
      const expected = [`The ${label} has an invalid format. ${hint}`]
      assert.deepEqual(await refuse(wrong), { [`config.${name}`]: expected })
      const names = [`config.${name}`, 'access_token']
      assert.deepEqual(Object.keys(await refuse({ ...wrong, access_token: 'a b' })), names)
    }
    const required = targetFields.filter(({ optional }) => !optional)
    assert.deepEqual(
      await refuse({ config: {} }),
      Object.fromEntries(
        required.map(({ name, label, hint }) => [
          `config.${name}`,
          [`The ${label} is required. ${hint}`],
        ]),
      ),
    )
    for (const access_token of [
      'two words',
      'é',
      'x'.repeat(2_001),
      '{"type":"service_account"}',
    ]) {
      const { access_token: sentences } = await refuse({ access_token })
      assert.ok(
        credentialForms.some(({ hint }) => sentences[0].includes(hint)),
        sentences[0],
      )
      assert.ok(!sentences[0].includes(access_token))
    }
  }
})
