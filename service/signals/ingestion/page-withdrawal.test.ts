import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { it } from 'node:test'
import {
  deliveryOf,
  JANE,
  liftWithdrawals,
  listWithdrawals,
  purchaseOf,
  statusOf,
  submitFromPage,
  submitPurchaseOf,
  VISITOR,
  withdrawOnPage,
} from '../../../testing/fixtures/page-withdrawals.ts'
import { SHOP_ORIGIN } from '../../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

it("stops the back end's purchases of its visitor, and of what these carried", async test => {
  const service = await startTestService(test)
  await submitPurchaseOf(service, 'waiting', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  service.clock.advance(1)
  const reply = await withdrawOnPage(service, { visitor_id: VISITOR })
  assert.equal(reply.status, 202, reply.text)
  await submitPurchaseOf(service, 'later', { visitor_id: VISITOR, user_data: { ph: JANE.ph } })
  await submitPurchaseOf(service, 'by-mail', { user_data: { em: JANE.em } })
  const hashed = { em: hash('sha256', JANE.em) }
  await submitPurchaseOf(service, 'by-digest', { user_data: hashed })
  await submitPurchaseOf(service, 'of-another', { user_data: { em: 'john@example.com' } })
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
    await submitPurchaseOf(service, key, { user_data: { [key]: value } })
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
    // Made without random numbers, or copied from a manual.
    '00000000-0000-4000-8000-000000000000',
    '11111111-1111-4111-8111-111111111111',
    '550E8400-E29B-41D4-A716-446655440000',
  ]) {
    await submitPurchaseOf(service, `back-${visitor_id}`, {
      visitor_id,
      user_data: { em: JANE.em },
    })
    await submitFromPage(service, purchaseOf(`page-${visitor_id}`, { visitor_id, user_data: {} }))
    service.clock.advance(1)
    assert.equal((await withdrawOnPage(service, { visitor_id })).status, 202)
    await submitPurchaseOf(service, `back-later-${visitor_id}`, {
      visitor_id,
      user_data: { em: JANE.em },
    })
    await submitPurchaseOf(service, `back-id-${visitor_id}`, {
      user_data: { external_id: visitor_id },
    })
    const later = purchaseOf(`page-later-${visitor_id}`, { visitor_id, user_data: {} })
    await submitFromPage(service, later)
    for (const name of ['page', 'page-later']) {
      const status = await statusOf(service, `${name}-${visitor_id}`, 'publishable')
      assert.equal(status, 'skipped:consent', `${name} ${visitor_id}`)
    }
    for (const name of ['back', 'back-later', 'back-id']) {
      assert.equal(await statusOf(service, `${name}-${visitor_id}`), 'queued', visitor_id)
    }
  }
  const reached = (await listWithdrawals(service)).map(({ reaches }: never) => reaches)
  assert.deepEqual(reached, Array(6).fill('page_events'))
})

it('counts only identifiers that events of the secret carried', async test => {
  const service = await startTestService(test)
  const forged = purchaseOf('forged', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  assert.equal((await submitFromPage(service, forged)).status, 202)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  await submitPurchaseOf(service, 'order', { user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'order'), 'queued')
  assert.equal(await statusOf(service, 'forged', 'publishable'), 'skipped:consent')
})

it('does not withdraw again when its event is repeated after lifting, or names another', async test => {
  const service = await startTestService(test)
  const withdrawal = { event_id: 'bye', visitor_id: VISITOR }
  await withdrawOnPage(service, withdrawal)
  const [{ id }] = await listWithdrawals(service)
  await liftWithdrawals(service, [id])
  const repeated = await withdrawOnPage(service, withdrawal)
  assert.equal(repeated.status, 200)
  await withdrawOnPage(service, { event_id: 'bye', visitor_id: randomUUID() })
  assert.deepEqual(await listWithdrawals(service, '?state=in_force'), [])
  await submitPurchaseOf(service, 'order', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'order'), 'queued')
})

it('completes when its event is repeated after a crash', async test => {
  const service = await startTestService(test)
  await submitPurchaseOf(service, 'carried', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  await withdrawOnPage(service, { event_id: 'bye', visitor_id: VISITOR })
  // As if the process had died before it looked again.
  await service.database.pool.query(`delete from page_withdrawal_keys where key <> $1`, [VISITOR])
  assert.equal(
    (await withdrawOnPage(service, { event_id: 'bye', visitor_id: VISITOR })).status,
    200,
  )
  await submitPurchaseOf(service, 'by-mail', { user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'by-mail'), 'skipped:consent')
})

it('is reopened by a consent that is captured later', async test => {
  const service = await startTestService(test)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  service.clock.advance(3_600)
  const consent = { ad_user_data: 'granted', captured_at: '2026-11-21T12:30:00Z' }
  await submitPurchaseOf(service, 'order', {
    visitor_id: VISITOR,
    user_data: { em: JANE.em },
    consent,
  })
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
  await submitPurchaseOf(service, 'by-mail', { user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'by-mail'), 'skipped:consent')
})

it('goes with a visitor who is erased', async test => {
  const service = await startTestService(test)
  await withdrawOnPage(service, { visitor_id: 'Customer-9' })
  await withdrawOnPage(service, { visitor_id: 'customer-9' })
  const [{ id }] = await listWithdrawals(service, '?visitor_id=customer-9')
  assert.equal((await liftWithdrawals(service, [id])).body.lifted, 1)
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
  assert.equal((await submitFromPage(service, page)).status, 202)
})
