import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { SHOP_ORIGIN, samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

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

it('is lifted by its ID, and queues what it alone had stopped', async test => {
  const service = await startTestService(test)
  const { workspaceId } = service.tracker
  await submit(service, 'waiting', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  await submit(service, 'by-secret', { visitor_id: 'v2', user_data: { ph: JANE.ph } })
  service.clock.advance(1)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  await submit(service, 'later', { visitor_id: VISITOR, user_data: { ph: JANE.ph } })
  await submit(service, 'by-mail', { user_data: { em: JANE.em } })
  const secret = { event_name: 'consent_withdrawal', consent_basis: 'legitimate_interest' }
  await service.submit({ ...secret, event_id: 'bye', user_data: { ph: JANE.ph } })
  const [{ id }] = await listWithdrawals(service)

  const reply = await lift(service, [id.toUpperCase()])
  assert.equal(reply.status, 200, reply.text)
  const expected = { lifted: 1, already_lifted: 0, not_found: [], queued: 2, expired: 0 }
  assert.partialDeepStrictEqual(reply.body, { ...expected, still_withheld: 1, capped: false })
  assert.match((await deliveryOf(service, 'waiting')).explanation, /withdrawal .* was lifted/)
  await service.deliver()
  assert.equal(await statusOf(service, 'waiting'), 'accepted')
  assert.equal(await statusOf(service, 'by-mail'), 'accepted')
  assert.equal(await statusOf(service, 'later'), 'skipped:consent')
  assert.equal(await statusOf(service, 'by-secret'), 'skipped:consent')
  await submit(service, 'new', { visitor_id: VISITOR, user_data: { em: JANE.em } })
  assert.equal(await statusOf(service, 'new'), 'queued')
  const [lifted] = await listWithdrawals(service, '?state=lifted')
  assert.partialDeepStrictEqual(lifted, { id, lift_reason: 'Sent by a script.' })
  assert.deepEqual(await listWithdrawals(service, '?state=in_force'), [])
  const [entry] = await readAuditEntries(service.database, workspaceId, 'withdrawals.lifted')
  assert.deepEqual(entry?.details, { withdrawal_ids: [id], lifted: 1 })

  const again = await lift(service, [id])
  assert.partialDeepStrictEqual(again.body, { lifted: 0, already_lifted: 1, queued: 0 })
})

it('holds again when the visitor withdraws after it was lifted', async test => {
  const service = await startTestService(test)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  const [{ id }] = await listWithdrawals(service)
  await lift(service, [id])
  service.clock.advance(60)
  await withdrawOnPage(service, { visitor_id: VISITOR })
  await submit(service, 'order', { visitor_id: VISITOR, user_data: { em: JANE.em } })
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
  assert.equal((await lift(service, [randomUUID()])).status, 500)
})
