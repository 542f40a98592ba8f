import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { readAuditEntries } from '../../testing/fixtures/audit.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { startTestService } from '../../testing/fixtures/service.ts'

const EMAIL = 'jane@example.com'
const DIGEST = hash('sha256', EMAIL)

async function openPrivacy(test: TestContext) {
  const service = await startTestService(test)
  const { owner, path } = await openDashboardWorkspace(service)
  const erase = (body: object) => owner.client.call('POST', `${path}/erasures`, { body })
  const list = (query = '') => owner.client.call('GET', `${path}/erasures${query}`)
  return { service, owner, erase, list, tracker: service.tracker }
}

it('erases a person for the signed-in person, whom the audit log names', async test => {
  const { service, owner, erase, list, tracker } = await openPrivacy(test)
  await service.submit(samplePurchase({ event_id: 'order-1', user_data: { em: EMAIL } }))
  const erased = await erase({ identifier_hash: DIGEST.toUpperCase(), identifier_type: 'email' })
  assert.equal(erased.status, 200)
  assert.deepEqual([erased.body.events_updated, erased.body.duplicate], [1, false])
  const { body } = await service.read('order-1')
  assert.deepEqual([body.event.payload_expired, body.event.user_data_hashed], [true, {}])
  const entries = await readAuditEntries(service.database, tracker.workspaceId, 'user_data.erased')
  assert.partialDeepStrictEqual(entries, [
    {
      actor: { type: 'person', id: String(owner.userId) },
      subject: { type: 'tracker', id: tracker.trackerId },
      details: { receipt_id: erased.body.deletion_request_id, events: 1 },
    },
  ])
  const again = await erase({ identifier_hash: DIGEST })
  assert.equal(again.body.duplicate, true)
  const id = erased.body.deletion_request_id
  assert.partialDeepStrictEqual((await list()).body, {
    receipts: [{ id, requests: 2, events_updated: 1, sessions_updated: 1 }],
    next_cursor: null,
  })
})

it('gives the request of a server and that of a person one receipt', async test => {
  const { service, erase, list } = await openPrivacy(test)
  const body = { identifier_hash: DIGEST, identifier_type: 'email' }
  const byServer = await service.request('DELETE', '/api/v1/user-data', { body })
  const byUser = await erase(body)
  assert.equal(byUser.body.deletion_request_id, byServer.body.deletion_request_id)
  assert.equal((await list()).body.receipts.length, 1)
})

it('returns 422 naming every invalid field of an erasure', async test => {
  const { erase } = await openPrivacy(test)
  const fieldsOf = async (body: object) => {
    const reply = await erase(body)
    return [reply.status, Object.keys(reply.body.errors)]
  }
  assert.deepEqual(await fieldsOf({}), [422, ['identifier_hash']])
  const both = { identifier_hash: EMAIL, identifier_type: 'name' }
  assert.deepEqual(await fieldsOf(both), [422, ['identifier_hash', 'identifier_type']])
})

it('pages through the receipts of a tracker without a gap, the newest first', async test => {
  const { service, list, tracker } = await openPrivacy(test)
  const other = await service.newTracker()
  await service.database.pool.query(
    `insert into deletion_requests
     select tracker, sha256(number::text::bytea),
       'del_0190aaaa-0000-7000-8000-' || lpad(number::text, 12, '0'), 1, number, 0,
       timestamptz '2026-01-01', timestamptz '2026-01-01'
     from generate_series(1, 120) number, unnest($1::uuid[]) tracker`,
    [[tracker.trackerId, other.trackerId]],
  )
  const seen: number[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { body } = await list(cursor === '' ? '' : `?cursor=${cursor}`)
    seen.push(...body.receipts.map((receipt: { events_updated: number }) => receipt.events_updated))
    cursor = body.next_cursor
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 120 }, (_, index) => 120 - index),
  )
  const refused = await list('?cursor=WyJ4Il0')
  assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [422, ['cursor']])
})
