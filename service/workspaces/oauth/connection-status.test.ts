import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  agentResource,
  approve,
  checkTokenAccess,
  connectAgent,
  type OauthFixture,
  requestToken,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { addAdAccount } from '../../../testing/fixtures/users.ts'
import { rebindConnection, revokeConnection } from './connection-store.ts'

const OPEN = 200

/** Changes that invalidate a connection, and how to undo them. */
const INVALIDATIONS: [name: string, apply: string, undo: string][] = [
  [
    'the person is disabled',
    `update people.users set status = 'disabled'`,
    `update people.users set status = 'active'`,
  ],
  [
    'the workspace is disabled',
    `update workspaces set status = 'disabled'`,
    `update workspaces set status = 'active'`,
  ],
  [
    'the ad account is disabled',
    `update ad_accounts set status = 'disabled'`,
    `update ad_accounts set status = 'active'`,
  ],
  [
    'the person is no owner any more',
    `update members set role = 'admin'`,
    `update members set role = 'owner'`,
  ],
]

for (const [name, apply, undo] of INVALIDATIONS) {
  it(`returns 401 and invalid_grant immediately when ${name}`, async test => {
    const fixture = await startOauthFixture(test)
    const { database } = fixture.service
    const mcp = await connectAgent(fixture)
    const management = await connectAgent(fixture, agentResource(fixture))
    assert.deepEqual(await checkTokenAccess(fixture, mcp.accessToken), { mcp: OPEN, agent: 401 })
    assert.deepEqual(await checkTokenAccess(fixture, management.accessToken), {
      mcp: 401,
      agent: 200,
    })
    await database.pool.query(apply)
    assert.deepEqual(await checkTokenAccess(fixture, mcp.accessToken), { mcp: 401, agent: 401 })
    assert.deepEqual(await checkTokenAccess(fixture, management.accessToken), {
      mcp: 401,
      agent: 401,
    })
    assert.equal(await refreshError(fixture, mcp), 'invalid_grant')
    await database.pool.query(undo)
    assert.equal((await checkTokenAccess(fixture, mcp.accessToken)).mcp, OPEN)
  })
}

it('revokes all tokens of one connection and none of another', async test => {
  const fixture = await startOauthFixture(test)
  const { workspaceId } = fixture.workspace
  const first = await connectAgent(fixture)
  const second = await connectAgent(fixture)
  const { database, clock } = fixture.service
  const { rows } = await database.pool.query('select id from agent_connections order by id')
  const connection = { workspaceId, connectionId: rows[0].id }
  assert.equal(await revokeConnection(database, connection, clock.now()), true)
  assert.equal(await revokeConnection(database, connection, clock.now()), false)
  assert.equal((await checkTokenAccess(fixture, first.accessToken)).mcp, 401)
  assert.equal(await refreshError(fixture, first), 'invalid_grant')
  assert.equal((await checkTokenAccess(fixture, second.accessToken)).mcp, OPEN)
  assert.equal(await refreshError(fixture, second), undefined)
})

it('revokes tokens when the ad account changes, and renews the connection by another approval', async test => {
  const fixture = await startOauthFixture(test)
  const { workspaceId, adAccountId: formerId } = fixture.workspace
  const before = await connectAgent(fixture)
  const { database } = fixture.service
  const adAccountId = await addAdAccount(fixture.service, workspaceId, 'Shop US')
  const { rows } = await database.pool.query('select id from agent_connections')
  const connection = { workspaceId, connectionId: rows[0].id }
  assert.equal(await rebindConnection(database, connection, adAccountId), formerId)
  assert.equal((await checkTokenAccess(fixture, before.accessToken)).mcp, 401)
  assert.equal(await refreshError(fixture, before), 'invalid_grant')
  const { rows: after } = await database.pool.query(
    'select id, ad_account_id, grant_id, revoked_at from agent_connections',
  )
  assert.deepEqual(after, [
    { id: connection.connectionId, ad_account_id: adAccountId, grant_id: null, revoked_at: null },
  ])
  const again = await approve(
    { ...fixture.workspace, adAccountId },
    await before.agent.authorizationUrl(),
  )
  const { access_token: token } = await before.agent.exchange(again)
  assert.equal((await checkTokenAccess(fixture, token)).mcp, OPEN)
  const { rows: renewed } = await database.pool.query('select id from agent_connections')
  assert.deepEqual(renewed, [{ id: connection.connectionId }])
})

it('revokes the whole connection by either token, for its own client only', async test => {
  const fixture = await startOauthFixture(test)
  for (const kind of ['accessToken', 'refreshToken'] as const) {
    const mine = await connectAgent(fixture)
    const another = await connectAgent(fixture)
    const revoke = (clientId: string) =>
      fixture.send('/oauth2/revoke', { form: { token: mine[kind], client_id: clientId } })
    const stranger = await revoke(another.agent.client.client_id)
    assert.equal(stranger.status, 200)
    assert.equal((await checkTokenAccess(fixture, mine.accessToken)).mcp, OPEN)
    assert.equal((await revoke(mine.agent.client.client_id)).status, 200)
    assert.equal((await checkTokenAccess(fixture, mine.accessToken)).mcp, 401)
    assert.equal(await refreshError(fixture, mine), 'invalid_grant')
    assert.equal((await checkTokenAccess(fixture, another.accessToken)).mcp, OPEN)
  }
  const unknown = await fixture.send('/oauth2/revoke', {
    form: { token: 'garbage', client_id: await fixture.register() },
  })
  assert.equal(unknown.status, 200)
})

async function refreshError(
  fixture: OauthFixture,
  { agent, refreshToken }: Awaited<ReturnType<typeof connectAgent>>,
): Promise<string | undefined> {
  const reply = await requestToken(fixture, agent, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    redirect_uri: null,
    code_verifier: null,
  })
  assert.equal(reply.status, reply.body.error === undefined ? 200 : 400)
  return reply.body.error
}
