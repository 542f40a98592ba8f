import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createTestAuditTrail, readAuditLines } from '../../../testing/fixtures/audit.ts'
import {
  checkTokenAccess,
  connectAgent,
  requestToken,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { setUserStatus } from '../users/user-store.ts'
import { issueExecutionToken, revokeCredentialsOfUser } from './execution-tokens.ts'

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
