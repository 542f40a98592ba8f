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
} from '../../testing/fixtures/oauth.ts'
import { addAdAccount } from '../../testing/fixtures/people.ts'
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
    const under = await startOauthFixture(test)
    const { database } = under.service
    const mcp = await connectAgent(under)
    const management = await connectAgent(under, agentResource(under))
    assert.deepEqual(await checkTokenAccess(under, mcp.accessToken), { mcp: OPEN, agent: 401 })
    assert.deepEqual(await checkTokenAccess(under, management.accessToken), {
      mcp: 401,
      agent: 200,
    })
    await database.pool.query(apply)
    assert.deepEqual(await checkTokenAccess(under, mcp.accessToken), { mcp: 401, agent: 401 })
    assert.deepEqual(await checkTokenAccess(under, management.accessToken), {
      mcp: 401,
      agent: 401,
    })
    assert.equal(await refreshError(under, mcp), 'invalid_grant')
    await database.pool.query(undo)
    assert.equal((await checkTokenAccess(under, mcp.accessToken)).mcp, OPEN)
  })
}

it('revokes all tokens of one connection and none of another', async test => {
  const under = await startOauthFixture(test)
  const { workspaceId } = under.workspace
  const first = await connectAgent(under)
  const second = await connectAgent(under)
  const { database, clock } = under.service
  const { rows } = await database.pool.query('select id from agent_connections order by id')
  const connection = { workspaceId, connectionId: rows[0].id }
  assert.equal(await revokeConnection(database, connection, clock.now()), true)
  assert.equal(await revokeConnection(database, connection, clock.now()), false)
  assert.equal((await checkTokenAccess(under, first.accessToken)).mcp, 401)
  assert.equal(await refreshError(under, first), 'invalid_grant')
  assert.equal((await checkTokenAccess(under, second.accessToken)).mcp, OPEN)
  assert.equal(await refreshError(under, second), undefined)
})

it('revokes tokens when the ad account changes, and renews the connection by another approval', async test => {
  const under = await startOauthFixture(test)
  const { workspaceId, adAccountId: formerId } = under.workspace
  const before = await connectAgent(under)
  const { database } = under.service
  const adAccountId = await addAdAccount(under.service, workspaceId, 'Shop US')
  const { rows } = await database.pool.query('select id from agent_connections')
  const connection = { workspaceId, connectionId: rows[0].id }
  assert.equal(await rebindConnection(database, connection, adAccountId), formerId)
  assert.equal((await checkTokenAccess(under, before.accessToken)).mcp, 401)
  assert.equal(await refreshError(under, before), 'invalid_grant')
  const { rows: after } = await database.pool.query(
    'select id, ad_account_id, grant_id, revoked_at from agent_connections',
  )
  assert.deepEqual(after, [
    { id: connection.connectionId, ad_account_id: adAccountId, grant_id: null, revoked_at: null },
  ])
  const again = await approve(
    { ...under.workspace, adAccountId },
    await before.agent.authorizationUrl(),
  )
  const { access_token: token } = await before.agent.exchange(again)
  assert.equal((await checkTokenAccess(under, token)).mcp, OPEN)
  const { rows: renewed } = await database.pool.query('select id from agent_connections')
  assert.deepEqual(renewed, [{ id: connection.connectionId }])
})

it('revokes the whole connection by either token, for its own client only', async test => {
  const under = await startOauthFixture(test)
  for (const kind of ['accessToken', 'refreshToken'] as const) {
    const mine = await connectAgent(under)
    const another = await connectAgent(under)
    const revoke = (clientId: string) =>
      under.send('/oauth2/revoke', { form: { token: mine[kind], client_id: clientId } })
    const stranger = await revoke(another.agent.client.client_id)
    assert.equal(stranger.status, 200)
    assert.equal((await checkTokenAccess(under, mine.accessToken)).mcp, OPEN)
    assert.equal((await revoke(mine.agent.client.client_id)).status, 200)
    assert.equal((await checkTokenAccess(under, mine.accessToken)).mcp, 401)
    assert.equal(await refreshError(under, mine), 'invalid_grant')
    assert.equal((await checkTokenAccess(under, another.accessToken)).mcp, OPEN)
  }
  const unknown = await under.send('/oauth2/revoke', {
    form: { token: 'garbage', client_id: await under.register() },
  })
  assert.equal(unknown.status, 200)
})

async function refreshError(
  under: OauthFixture,
  { agent, refreshToken }: Awaited<ReturnType<typeof connectAgent>>,
): Promise<string | undefined> {
  const reply = await requestToken(under, agent, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    redirect_uri: null,
    code_verifier: null,
  })
  assert.equal(reply.status, reply.body.error === undefined ? 200 : 400)
  return reply.body.error
}
