import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import { runSimultaneously } from '../../../testing/concurrency/lock-barrier.ts'
import { blockAuditWrites, failCommits, readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { findEmailTraces } from '../../../testing/fixtures/database-dump.ts'
import { samplePurchase } from '../../../testing/fixtures/sample-events.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'

const EMAIL = 'jane@example.com'
const DIGEST = hash('sha256', EMAIL)

function forget(service: TestService, options: object = {}) {
  const body = { identifier_hash: DIGEST, identifier_type: 'email' }
  return service.request('DELETE', '/api/v1/user-data', { body, ...options })
}

async function written({ database, tracker }: TestService) {
  return readAuditEntries(database, tracker.workspaceId, 'user_data.erased')
}

it('records an erasure with counts and receipt, without the identity', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  service.clock.advance(60)
  const { body } = await forget(service)
  await forget(service)
  const entries = await written(service)
  const tracker = { type: 'tracker', id: service.tracker.trackerId }
  const entry = { at: '2026-11-21T12:01:00.000Z', actor: tracker, subject: tracker }
  const receipt_id = body.deletion_request_id
  assert.partialDeepStrictEqual(entries, [
    { ...entry, details: { receipt_id, events: 1, sessions: 1, is_repeat: false } },
    { ...entry, details: { receipt_id, events: 0, sessions: 0, is_repeat: true } },
  ])
  const members = ['receipt_id', 'events', 'sessions', 'is_repeat'].sort()
  for (const { details } of entries) assert.deepEqual(Object.keys(details).sort(), members)
  assert.deepEqual(findEmailTraces(EMAIL, DIGEST, JSON.stringify(entries)), [])
  const { rows } = await service.database.pool.query(
    `select encode(keyed_digest, 'hex') as keyed from deletion_requests`,
  )
  assert.match(rows[0].keyed, /^[0-9a-f]{64}$/)
  assert.ok(!JSON.stringify(entries).includes(rows[0].keyed))
})

it('records each of several concurrent equal erasures, one of them as the first', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ user_data: { em: EMAIL } }))
  const ask = () => forget(service)
  const replies = await Promise.all([ask(), ask(), ask()])
  // All of them add to the same receipt.
  replies.push(...(await runSimultaneously(service.database, 'deletion_requests', [ask, ask])))
  assert.ok(replies.every(({ status }) => status === 200))
  const entries = await written(service)
  assert.deepEqual(
    entries.map(({ details }) => details.is_repeat),
    [false, true, true, true, true],
  )
  assert.equal(new Set(entries.map(({ details }) => details.receipt_id)).size, 1)
})

it('does not record an erasure whose receipt was rolled back', async test => {
  const service = await startTestService(test)
  await failCommits(service.database, 'deletion_requests')
  assert.equal((await forget(service)).status, 500)
  assert.deepEqual(await written(service), [])
})

it('does not record a refused erasure; an unrecorded one has no receipt', async test => {
  const service = await startTestService(test)
  await service.submit(samplePurchase({ event_id: 'theirs', user_data: { em: EMAIL } }))
  assert.equal((await forget(service, { body: { identifier_hash: 'x' } })).status, 422)
  assert.equal((await forget(service, { secret: null })).status, 401)
  assert.deepEqual(await written(service), [])
  await blockAuditWrites(service.database)
  assert.equal((await forget(service)).status, 500)
  assert.deepEqual(await written(service), [])
  const { rows } = await service.database.pool.query('select id from deletion_requests')
  assert.deepEqual(rows, [])
  // The caller got an error; a repeated request returns the receipt.
  await service.database.pool.query('alter table audit_entries drop constraint unwritable')
  const { status, body } = await forget(service)
  assert.deepEqual([status, body.duplicate], [200, false])
  assert.equal((await written(service)).length, 1)
})
