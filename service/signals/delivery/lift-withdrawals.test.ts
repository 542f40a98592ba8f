import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  deliveryOf,
  JANE,
  liftWithdrawals,
  listWithdrawals,
  statusOf,
  submitPurchaseOf,
  VISITOR,
  WITHDRAWALS,
  withdrawOnPage,
} from '../../../testing/fixtures/page-withdrawals.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'

it('is lifted by its ID, and queues what it alone had stopped', async test => {
  const service = await startTestService(test)
  const { workspaceId } = service.tracker
  await submitPurchaseOf(service, 'waiting', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  await submitPurchaseOf(service, 'by-secret', { visitor_id: 'v2', user_data: { ph: JANE.ph } })
  service.clock.advance(1)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  await submitPurchaseOf(service, 'later', { visitor_id: VISITOR, user_data: { ph: JANE.ph } })
  await submitPurchaseOf(service, 'by-mail', { user_data: { em: JANE.em } })
  const secret = { event_name: 'consent_withdrawal', consent_basis: 'legitimate_interest' }
  await service.submit({ ...secret, event_id: 'bye', user_data: { ph: JANE.ph } })
  const [{ id }] = await listWithdrawals(service)

  const reply = await liftWithdrawals(service, [id.toUpperCase()])
  assert.equal(reply.status, 200, reply.text)
  const expected = { lifted: 1, already_lifted: 0, not_found: [], queued: 2, expired: 0 }
  assert.partialDeepStrictEqual(reply.body, { ...expected, still_withheld: 1, capped: false })
  assert.match((await deliveryOf(service, 'waiting')).explanation, /withdrawal .* was lifted/)
  await service.deliver()
  assert.equal(await statusOf(service, 'waiting'), 'accepted')
  assert.equal(await statusOf(service, 'by-mail'), 'accepted')
  assert.equal(await statusOf(service, 'later'), 'skipped:consent')
  assert.equal(await statusOf(service, 'by-secret'), 'skipped:consent')
  await submitPurchaseOf(service, 'new', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'new'), 'queued')
  const [lifted] = await listWithdrawals(service, '?state=lifted')
  assert.partialDeepStrictEqual(lifted, { id, lift_reason: 'Sent by a script.' })
  assert.deepEqual(await listWithdrawals(service, '?state=in_force'), [])
  const [entry] = await readAuditEntries(service.database, workspaceId, 'withdrawals.lifted')
  assert.deepEqual(entry?.details, { withdrawal_ids: [id], lifted: 1 })

  const again = await liftWithdrawals(service, [id])
  assert.partialDeepStrictEqual(again.body, { lifted: 0, already_lifted: 1, queued: 0 })
})

it('does not queue what the destination does not select', async test => {
  const service = await startTestService(test)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  await submitPurchaseOf(service, 'order', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  await service.database.pool.query(
    `update destinations set routing = '{"filter": {"event_names": ["Lead"]}}'`,
  )
  const [{ id }] = await listWithdrawals(service)
  const { body } = await liftWithdrawals(service, [id])
  assert.partialDeepStrictEqual(body, { lifted: 1, queued: 0, still_withheld: 1 })
  assert.equal(await statusOf(service, 'order'), 'skipped:consent')
})

it('holds again when the visitor withdraws after it was lifted', async test => {
  const service = await startTestService(test)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  const [{ id }] = await listWithdrawals(service)
  await liftWithdrawals(service, [id])
  service.clock.advance(60)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  await submitPurchaseOf(service, 'order', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'order'), 'skipped:consent')
  assert.deepEqual(
    (await listWithdrawals(service, '?state=in_force')).map((one: { id: string }) => one.id),
    [id],
  )
})

it('lists those of the tracker, in pages', async test => {
  const service = await startTestService(test)
  const other = await service.newTracker()
  for (let count = 0; count < 55; count += 1) {
    await withdrawOnPage(service, { visitor_id: randomUUID() })
    service.clock.advance(1)
  }
  const first = await service.request('GET', WITHDRAWALS)
  assert.equal(first.body.withdrawals.length, 50)
  const rest = await listWithdrawals(service, `?cursor=${first.body.next_cursor}`)
  assert.equal(rest.length, 5)
  const all = [...first.body.withdrawals, ...rest].map(({ withdrawn_at }) => withdrawn_at)
  assert.deepEqual(all, all.toSorted().reverse())
  const { visitor_id, id } = rest[0]
  assert.equal((await listWithdrawals(service, `?visitor_id=${visitor_id}`)).length, 1)

  const asOther = { secret: other.trackerSecret }
  const theirs = await service.request('GET', WITHDRAWALS, asOther)
  assert.deepEqual(theirs.body, { withdrawals: [], next_cursor: null })
  const body = { withdrawal_ids: [id], reason: 'Not ours' }
  const stolen = await service.request('POST', `${WITHDRAWALS}/lift`, { ...asOther, body })
  assert.partialDeepStrictEqual(stolen.body, { lifted: 0, not_found: [id] })
})

it('refuses other credentials and invalid requests', async test => {
  const service = await startTestService(test)
  const body = { withdrawal_ids: [randomUUID()], reason: 'r' }
  for (const secret of [null, 'sbx_sk_wrong', service.tracker.publishableKey]) {
    const list = await service.request('GET', WITHDRAWALS, { secret })
    const lifted = await service.request('POST', `${WITHDRAWALS}/lift`, { secret, body })
    assert.deepEqual([list.status, lifted.status], [401, 401])
  }
  const refused: [object, string][] = [
    [{ withdrawal_ids: [], reason: 'r' }, 'withdrawal_ids'],
    [{ withdrawal_ids: ['x'], reason: 'r' }, 'withdrawal_ids.0'],
    [{ withdrawal_ids: [randomUUID()] }, 'reason'],
    [{ withdrawal_ids: [randomUUID()], reason: '' }, 'reason'],
    [{ withdrawal_ids: [randomUUID()], reason: 'a\0b' }, 'reason'],
    [{ ...body, note: 'jane@example.com' }, 'note'],
  ]
  for (const [given, field] of refused) {
    const reply = await service.request('POST', `${WITHDRAWALS}/lift`, { body: given })
    assert.equal(reply.status, 422, field)
    assert.deepEqual(Object.keys(reply.body.errors), [field])
  }
  for (const query of ['?state=other', '?cursor=x', '?visitor_id=']) {
    assert.equal((await service.request('GET', `${WITHDRAWALS}${query}`)).status, 422, query)
  }
})

it('returns 500 when the store fails', async test => {
  const service = await startTestService(test, { isShared: false })
  await service.database.pool.query('drop table page_withdrawals')
  assert.equal((await service.request('GET', WITHDRAWALS)).status, 500)
  assert.equal((await liftWithdrawals(service, [randomUUID()])).status, 500)
})
