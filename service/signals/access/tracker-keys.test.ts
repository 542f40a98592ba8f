import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runSimultaneously } from '../../../testing/concurrency/lock-barrier.ts'
import {
  blockAuditWrites,
  createTestAuditTrail,
  failCommits,
  readAuditEntries,
  readAuditLines,
} from '../../../testing/fixtures/audit.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { hashToken } from '../../runtime/util/token-format.ts'
import { listLiveDigests } from './key-store.ts'
import { issueKey, type KeyKind, revokeTrackerKey, toKeyId } from './tracker-keys.ts'

const KIND: KeyKind = 'forwarding'

it('audits one entry when a key is revoked several times concurrently', async test => {
  const service = await startTestService(test)
  const { database, tracker, clock } = service
  const { trackerId, workspaceId, forwardingSecret } = tracker
  const scope = { database, audit: createTestAuditTrail(service) }
  const digest = hashToken(forwardingSecret)
  const lastCharacters = forwardingSecret.slice(-4)
  const key = { trackerId, workspaceId, kind: KIND, digest, lastCharacters }
  const end = () => revokeTrackerKey(scope, key, clock.now())
  const ends = await runSimultaneously(database, 'tracker_keys', [end, end, end])
  assert.deepEqual(ends.sort(), [false, false, true])
  const written = await readAuditEntries(database, workspaceId, 'key.revoked')
  assert.partialDeepStrictEqual(written, [
    {
      actor: { type: 'operator', id: null },
      subject: { type: 'key', id: toKeyId(digest) },
      details: { tracker_id: trackerId, kind: KIND, last_characters: lastCharacters },
    },
  ])
  assert.equal(written.length, 1)
})

it('writes a log line for each issued and revoked key, with no more than its ending', async test => {
  const service = await startTestService(test)
  const { database, tracker, clock } = service
  const { trackerId, workspaceId } = tracker
  const scope = { database, audit: createTestAuditTrail(service) }
  const before = readAuditLines(service, workspaceId).length
  const tokens: string[] = []
  for (const kind of ['tracker_secret', 'publishable', 'forwarding'] as const) {
    const token = await issueKey(scope, { trackerId, workspaceId, kind, issuedAt: clock.now() })
    const [digest, lastCharacters] = [hashToken(token), token.slice(-4)]
    const key = { trackerId, workspaceId, kind, digest, lastCharacters }
    await revokeTrackerKey(scope, key, clock.now())
    tokens.push(token)
  }
  const lines = readAuditLines(service, workspaceId).slice(before)
  assert.deepEqual(
    lines.map(({ event, details }) => [event, details.last_characters]),
    tokens.flatMap(token => {
      const lastCharacters = token.slice(-4)
      return [
        ['key.issued', lastCharacters],
        ['key.revoked', lastCharacters],
      ]
    }),
  )
  for (const token of tokens) assert.ok(!service.logged().includes(token.slice(0, -4)))
})

it('audits nothing when issuing or revoking is rolled back', async test => {
  const service = await startTestService(test)
  const { database, tracker, clock } = service
  const { trackerId, workspaceId, forwardingSecret } = tracker
  const scope = { database, audit: createTestAuditTrail(service) }
  const before = await readAuditEntries(database, workspaceId)
  await failCommits(database, 'tracker_keys')
  const request = { trackerId, workspaceId, kind: KIND, issuedAt: clock.now() } as const
  await assert.rejects(issueKey(scope, request), /this commit fails/)
  const digest = hashToken(forwardingSecret)
  const key = { trackerId, workspaceId, kind: KIND, digest, lastCharacters: 'abcd' }
  await assert.rejects(revokeTrackerKey(scope, key, clock.now()), /this commit fails/)
  assert.deepEqual(await readAuditEntries(database, workspaceId), before)
})

it('neither issues nor revokes a key when the audit entry fails', async test => {
  const service = await startTestService(test)
  const { database, tracker, clock } = service
  const { trackerId, workspaceId, forwardingSecret } = tracker
  const scope = { database, audit: createTestAuditTrail(service) }
  await blockAuditWrites(database)
  const request = { trackerId, workspaceId, kind: KIND, issuedAt: clock.now() } as const
  await assert.rejects(issueKey(scope, request), { code: '23514' })
  const digest = hashToken(forwardingSecret)
  const key = { trackerId, workspaceId, kind: KIND, digest, lastCharacters: 'abcd' }
  await assert.rejects(revokeTrackerKey(scope, key, clock.now()), { code: '23514' })
  const live = await listLiveDigests(database, trackerId, KIND)
  assert.deepEqual(live, [digest])
})

it('issues one second key when it is requested several times concurrently', async test => {
  const service = await startTestService(test)
  const { database, tracker, clock } = service
  const { trackerId, workspaceId } = tracker
  const scope = { database, audit: createTestAuditTrail(service) }
  const request = { trackerId, workspaceId, kind: KIND, issuedAt: clock.now() } as const
  const issue = () => issueKey(scope, request).catch(error => error)
  const results = await runSimultaneously(database, 'trackers', [issue, issue, issue])
  assert.equal(results.filter(result => typeof result === 'string').length, 1)
  assert.equal((await listLiveDigests(database, trackerId, KIND)).length, 2)
})

it('never writes the digest of a forwarding secret, which signs requests, to the audit log', async test => {
  const service = await startTestService(test)
  const { database, tracker, clock } = service
  const { trackerId, workspaceId, forwardingSecret } = tracker
  const digest = hashToken(forwardingSecret)
  const key = { trackerId, workspaceId, kind: KIND, digest, lastCharacters: 'abcd' }
  const scope = { database, audit: createTestAuditTrail(service) }
  assert.ok(await revokeTrackerKey(scope, key, clock.now()))
  const { rows } = await database.pool.query('select body from audit_entries')
  assert.ok(rows.length >= 4)
  assert.ok(rows.every(({ body }) => !body.includes(digest.toString('hex'))))
})
