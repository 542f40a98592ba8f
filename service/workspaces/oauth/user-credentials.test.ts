import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  createTestAuditTrail,
  readAuditEntries,
  readAuditLines,
} from '../../../testing/fixtures/audit.ts'
import {
  checkTokenAccess,
  connectAgent,
  requestToken,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { addMember, createTestUser } from '../../../testing/fixtures/users.ts'
import { setUserStatus } from '../users/user-store.ts'
import { issueExecutionToken, revokeCredentialsOfUser } from './execution-tokens.ts'

it('ends the connections and tokens of an owner who is removed, also if invited again', async test => {
  const fixture = await startOauthFixture(test, { isShared: false })
  const { service, workspace } = fixture
  const { database, clock } = service
  const { workspaceId, adAccountId, owner } = workspace
  const connected = await connectAgent(fixture)
  const context = { database, now: clock.now, audit: createTestAuditTrail(service) }
  const place = { workspaceId, adAccountId, tier: 'read', days: 30, name: 'Token' } as const
  const issue = { ...place, issuedBy: owner.userId, issuedAt: clock.now() }
  const { token } = await issueExecutionToken(context, issue)
  const other = await createTestUser(service)
  await addMember(service, { workspaceId, userId: other.userId, role: 'owner' })
  const path = `/browser/workspaces/${workspaceId}/members/${owner.userId}`
  assert.equal((await other.client.call('DELETE', path)).status, 204)
  await addMember(service, { workspaceId, userId: owner.userId, role: 'owner' })
  const none = { mcp: 401, agent: 401 }
  assert.deepEqual(await checkTokenAccess(fixture, connected.accessToken), none)
  assert.deepEqual(await checkTokenAccess(fixture, token), none)
  const entries = await readAuditEntries(database, workspaceId)
  const revoked = entries.filter(({ action }) =>
    /^(connection|execution_token).revoked/.test(action),
  )
  assert.deepEqual(
    revoked.map(({ details, actor }) => [details.reason, actor.id]),
    [
      ['member_removed', String(other.userId)],
      ['member_removed', String(other.userId)],
    ],
  )
})

it('ends the connections and tokens of a disabled person for good', async test => {
  const fixture = await startOauthFixture(test)
  const { service, workspace } = fixture
  const { database, clock } = service
  const { workspaceId, adAccountId, owner } = workspace
  const connected = await connectAgent(fixture)
  const context = { database, now: clock.now, audit: createTestAuditTrail(service) }
  const { token } = await issueExecutionToken(context, {
    workspaceId,
    adAccountId,
    tier: 'read',
    days: 30,
    name: 'Token',
    issuedBy: owner.userId,
    issuedAt: clock.now(),
  })
  await setUserStatus(database, owner.email, 'disabled')
  await revokeCredentialsOfUser(context, owner.userId)
  await revokeCredentialsOfUser(context, owner.userId)
  await setUserStatus(database, owner.email, 'active')
  const none = { mcp: 401, agent: 401 }
  assert.deepEqual(await checkTokenAccess(fixture, connected.accessToken), none)
  assert.deepEqual(await checkTokenAccess(fixture, token), none)
  const refreshed = await requestToken(fixture, connected.agent, {
    grant_type: 'refresh_token',
    refresh_token: connected.refreshToken,
    redirect_uri: null,
    code_verifier: null,
  })
  assert.equal(refreshed.body.error, 'invalid_grant')
  const { rows } = await database.pool.query(
    `select action, body::jsonb -> 'actor' ->> 'type' as actor from audit_entries
     where action like '%.revoked' order by sequence`,
  )
  assert.deepEqual(rows, [
    { action: 'connection.revoked', actor: 'operator' },
    { action: 'execution_token.revoked', actor: 'operator' },
  ])
  assert.deepEqual(
    readAuditLines(service, workspaceId)
      .map(({ event }) => event)
      .filter(event => /^(connection|execution_token)\./.test(event)),
    [
      'connection.approved',
      'execution_token.issued',
      'connection.revoked',
      'execution_token.revoked',
    ],
  )
  assert.ok(!service.logged().includes(token))
})
