import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runSimultaneously } from '../../testing/concurrency/lock-barrier.ts'
import {
  blockAuditWrites,
  createTestAuditTrail,
  failCommits,
  readAuditEntries,
} from '../../testing/fixtures/audit.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { listLiveKeys } from './store.ts'
import { hashToken } from './token-format.ts'
import { issueKey, revokeTrackerKey } from './tracker-keys.ts'

const KIND = 'forwarding'

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
      subject: { type: 'key', id: digest.toString('hex') },
      details: { tracker_id: trackerId, kind: KIND, last_characters: lastCharacters },
    },
  ])
  assert.equal(written.length, 1)
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
  const live = await listLiveKeys(database, trackerId, KIND)
  assert.deepEqual(
    live.map(({ key_digest }) => key_digest),
    [digest],
  )
})
