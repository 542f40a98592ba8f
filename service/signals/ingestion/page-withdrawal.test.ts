import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { SHOP_ORIGIN, samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

const EVENTS = '/api/v1/events'
const WITHDRAWALS = '/api/v1/withdrawals'
const JANE = { em: 'jane@example.com', ph: '+49 1512 3456789', external_id: 'Customer-9' }
const VISITOR = '0d5b2c1e-6f0a-4f4e-9d53-1d6f2f7c8a90'

function sendFromPage(service: TestService, body: object, headers = {}) {
  const secret = service.tracker.publishableKey
  const sent = { secret, headers: { origin: SHOP_ORIGIN, ...headers }, body }
  return service.request('POST', EVENTS, sent)
}

function withdrawOnPage(service: TestService, person: object) {
  const event_id = `withdrawal-${randomUUID()}`
  const consent_basis = 'legitimate_interest'
  const body = { event_id, event_name: 'consent_withdrawal', consent_basis, ...person }
  return sendFromPage(service, body)
}

/** A purchase of a person who is known only by `person`. */
function purchaseOf(event_id: string, person: object) {
  return samplePurchase({ event_id, visitor_id: undefined, click_ids: undefined, ...person })
}

async function submit(service: TestService, eventId: string, person: object): Promise<void> {
  const reply = await service.submit(purchaseOf(eventId, person))
  assert.equal(reply.status, 202, reply.text)
}

async function deliveryOf(service: TestService, eventId: string, space = 'secret') {
  const path = `${EVENTS}/${eventId}?space=${space}`
  const { body } = await service.request('GET', path)
  return body.deliveries[0]
}

async function statusOf(service: TestService, eventId: string, space?: string) {
  const { status } = await deliveryOf(service, eventId, space)
  return status as string
}

async function listWithdrawals(service: TestService, query = '') {
  const { status, body } = await service.request('GET', `${WITHDRAWALS}${query}`)
  assert.equal(status, 200)
  return body.withdrawals
}

function lift(service: TestService, withdrawal_ids: string[], reason = 'Sent by a script.') {
  return service.request('POST', `${WITHDRAWALS}/lift`, { body: { withdrawal_ids, reason } })
}

it("stops the back end's purchases of its visitor, and of what these carried", async test => {
  const service = await startTestService(test)
  await submit(service, 'waiting', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  service.clock.advance(1)
  const reply = await withdrawOnPage(service, { visitor_id: VISITOR })
  assert.equal(reply.status, 202, reply.text)
  await submit(service, 'later', { visitor_id: VISITOR, user_data: { ph: JANE.ph } })
  await submit(service, 'by-mail', { user_data: { em: JANE.em } })
  const hashed = { em: hash('sha256', JANE.em) }
  await submit(service, 'by-digest', { user_data: hashed })
  await submit(service, 'of-another', { user_data: { em: 'john@example.com' } })
  for (const eventId of ['waiting', 'later', 'by-mail', 'by-digest']) {
    assert.equal(await statusOf(service, eventId), 'skipped:consent', eventId)
  }
  assert.equal(await statusOf(service, 'of-another'), 'queued')
  const [withdrawal] = await listWithdrawals(service)
  assert.partialDeepStrictEqual(withdrawal, {
    visitor_id: VISITOR,
    origin: SHOP_ORIGIN,
    reaches: 'all_events',
    identifiers: 1,
    lifted_at: null,
  })
  const { explanation } = await deliveryOf(service, 'later')
  assert.ok(explanation.includes(`page withdrawal ${withdrawal.id}`), explanation)
})

it('ignores identifiers that a page names, and refuses one that names nothing else', async test => {
  const service = await startTestService(test)
  for (const [key, value] of Object.entries(JANE)) {
    await submit(service, key, { user_data: { [key]: value } })
    const alone = await withdrawOnPage(service, { user_data: { [key]: value } })
    assert.equal(alone.status, 422, key)
    assert.deepEqual(Object.keys(alone.body.errors), ['visitor_id'])
    const many = Array.from({ length: 10 }, (_, index) => `${index}${value}`)
    assert.equal((await withdrawOnPage(service, { user_data: { [key]: many } })).status, 422)
  }
  const named = { visitor_id: VISITOR, user_data: { ...JANE, email: ['x@example.com'] } }
  const reply = await withdrawOnPage(service, named)
  assert.equal(reply.status, 202, reply.text)
  const ignored = reply.body.notices.map(({ code, field }: Record<string, string>) => [code, field])
  assert.deepEqual(
    ignored,
    ['em', 'ph', 'external_id', 'email'].map(key => ['member_ignored', `user_data.${key}`]),
  )
  service.clock.advance(1)
  await service.deliver()
  for (const key of Object.keys(JANE)) assert.equal(await statusOf(service, key), 'accepted', key)
})

it('reaches events of pages only for a visitor ID that others may guess', async test => {
  const service = await startTestService(test)
  for (const visitor_id of [
    'customer-9',
    '4915123456789',
    '9a1e3b52-6f0a-1f4e-9d53-1d6f2f7c8a90',
  ]) {
    await submit(service, `back-${visitor_id}`, { visitor_id, user_data: { em: JANE.em } })
    await sendFromPage(service, purchaseOf(`page-${visitor_id}`, { visitor_id, user_data: {} }))
    service.clock.advance(1)
    assert.equal((await withdrawOnPage(service, { visitor_id })).status, 202)
    await submit(service, `back-later-${visitor_id}`, { visitor_id, user_data: { em: JANE.em } })
    await submit(service, `back-id-${visitor_id}`, { user_data: { external_id: visitor_id } })
    const later = purchaseOf(`page-later-${visitor_id}`, { visitor_id, user_data: {} })
    await sendFromPage(service, later)
    for (const name of ['page', 'page-later']) {
      const status = await statusOf(service, `${name}-${visitor_id}`, 'publishable')
      assert.equal(status, 'skipped:consent', `${name} ${visitor_id}`)
    }
    for (const name of ['back', 'back-later', 'back-id']) {
      assert.equal(await statusOf(service, `${name}-${visitor_id}`), 'queued', visitor_id)
    }
  }
  const reached = (await listWithdrawals(service)).map(({ reaches }: never) => reaches)
  assert.deepEqual(reached, ['page_events', 'page_events', 'page_events'])
})

it('counts only identifiers that events of the secret carried', async test => {
  const service = await startTestService(test)
  const forged = purchaseOf('forged', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  assert.equal((await sendFromPage(service, forged)).status, 202)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  await submit(service, 'order', { user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'order'), 'queued')
  assert.equal(await statusOf(service, 'forged', 'publishable'), 'skipped:consent')
})

it('does not withdraw again when its event is repeated after lifting, or names another', async test => {
  const service = await startTestService(test)
  const withdrawal = { event_id: 'bye', visitor_id: VISITOR }
  await withdrawOnPage(service, withdrawal)
  const [{ id }] = await listWithdrawals(service)
  await lift(service, [id])
  const repeated = await withdrawOnPage(service, withdrawal)
  assert.equal(repeated.status, 200)
  await withdrawOnPage(service, { event_id: 'bye', visitor_id: randomUUID() })
  assert.deepEqual(await listWithdrawals(service, '?state=in_force'), [])
  await submit(service, 'order', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'order'), 'queued')
})

it('completes when its event is repeated after a crash', async test => {
  const service = await startTestService(test)
  await submit(service, 'carried', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  await withdrawOnPage(service, { event_id: 'bye', visitor_id: VISITOR })
  // As if the process had died before it looked again.
  await service.database.pool.query(`delete from page_withdrawal_keys where key <> $1`, [VISITOR])
  assert.equal(
    (await withdrawOnPage(service, { event_id: 'bye', visitor_id: VISITOR })).status,
    200,
  )
  await submit(service, 'by-mail', { user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'by-mail'), 'skipped:consent')
})

it('is reopened by a consent that is captured later', async test => {
  const service = await startTestService(test)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  service.clock.advance(3_600)
  const consent = { ad_user_data: 'granted', captured_at: '2026-11-21T12:30:00Z' }
  await submit(service, 'order', { visitor_id: VISITOR, user_data: { em: JANE.em }, consent })
  assert.equal(await statusOf(service, 'order'), 'queued')
})

it('reaches what is stored at the same moment', async test => {
  const service = await startTestService(test)
  const order = purchaseOf('order', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  const [bought, withdrawn] = await Promise.all([
    service.submit(order),
    withdrawOnPage(service, { visitor_id: VISITOR }),
  ])
  assert.deepEqual([bought.status, withdrawn.status], [202, 202])
  await waitUntil('the purchase is skipped', async () => {
    return (await statusOf(service, 'order')) === 'skipped:consent'
  })
  await submit(service, 'by-mail', { user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'by-mail'), 'skipped:consent')
})

it('goes with a visitor who is erased', async test => {
  const service = await startTestService(test)
  await withdrawOnPage(service, { visitor_id: 'Customer-9' })
  await withdrawOnPage(service, { visitor_id: VISITOR })
  const identifier_hash = hash('sha256', 'customer-9')
  const body = { identifier_hash, identifier_type: 'external_id' }
  assert.equal((await service.request('DELETE', '/api/v1/user-data', { body })).status, 200)
  const left = (await listWithdrawals(service)).map((one: { visitor_id: string }) => one.visitor_id)
  assert.deepEqual(left, [VISITOR])
  const { rows } = await service.database.pool.query('select key from page_withdrawal_keys')
  assert.ok(!JSON.stringify(rows).includes('ustomer-9'))
})

it('has a limit of its own for each address and each tracker', async test => {
  const service = await startTestService(test, { limits: { pageWithdrawalRatePerMinute: 2 } })
  const statuses: number[] = []
  for (let count = 0; count < 4; count += 1) {
    const reply = await withdrawOnPage(service, { visitor_id: randomUUID() })
    statuses.push(reply.status)
    if (reply.status === 429) assert.match(reply.headers.get('retry-after') ?? '', /^\d+$/)
  }
  assert.deepEqual(statuses, [202, 202, 429, 429])
  assert.equal((await listWithdrawals(service)).length, 2)
  const page = purchaseOf('page', { visitor_id: VISITOR, user_data: {} })
  assert.equal((await sendFromPage(service, page)).status, 202)
})
