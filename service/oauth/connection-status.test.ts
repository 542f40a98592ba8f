import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  agentResource,
  approve,
  connected,
  type OauthUnderTest,
  oauthUnderTest,
  opens,
  tokenRequest,
} from '../../testing/oauth-under-test.ts'
import { addAdAccount } from '../../testing/people-under-test.ts'
import { rebindConnection, revokeConnection } from './connection-store.ts'

const OPEN = 200

/** What takes the ground from under a connection, and what puts it back. */
const GROUNDS: [name: string, take: string, putBack: string][] = [
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

for (const [name, take, putBack] of GROUNDS) {
  it(`401 and invalid_grant at once when ${name}`, async test => {
    const under = await oauthUnderTest(test)
    const { database } = under.service
    const mcp = await connected(under)
    const management = await connected(under, agentResource(under))
    assert.deepEqual(await opens(under, mcp.accessToken), { mcp: OPEN, agent: 401 })
    assert.deepEqual(await opens(under, management.accessToken), { mcp: 401, agent: 200 })
    await database.pool.query(take)
    assert.deepEqual(await opens(under, mcp.accessToken), { mcp: 401, agent: 401 })
    assert.deepEqual(await opens(under, management.accessToken), { mcp: 401, agent: 401 })
    assert.equal(await refreshError(under, mcp), 'invalid_grant')
    await database.pool.query(putBack)
    assert.equal((await opens(under, mcp.accessToken)).mcp, OPEN)
  })
}

it('revoking one of two connections stops all of its tokens and none of the other', async test => {
  const under = await oauthUnderTest(test)
  const { workspaceId } = under.workspace
  const first = await connected(under)
  const second = await connected(under)
  const { database, clock } = under.service
  const { rows } = await database.pool.query('select id from agent_connections order by id')
  const connection = { workspaceId, connectionId: rows[0].id }
  assert.equal(await revokeConnection(database, connection, clock.now()), true)
  assert.equal(await revokeConnection(database, connection, clock.now()), false)
  assert.equal((await opens(under, first.accessToken)).mcp, 401)
  assert.equal(await refreshError(under, first), 'invalid_grant')
  assert.equal((await opens(under, second.accessToken)).mcp, OPEN)
  assert.equal(await refreshError(under, second), undefined)
})

it('changing the ad account revokes what was issued; another approval renews the connection', async test => {
  const under = await oauthUnderTest(test)
  const { workspaceId, adAccountId: formerId } = under.workspace
  const before = await connected(under)
  const { database } = under.service
  const adAccountId = await addAdAccount(under.service, workspaceId, 'Shop US')
  const { rows } = await database.pool.query('select id from agent_connections')
  const connection = { workspaceId, connectionId: rows[0].id }
  assert.equal(await rebindConnection(database, connection, adAccountId), formerId)
  assert.equal((await opens(under, before.accessToken)).mcp, 401)
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
  assert.equal((await opens(under, token)).mcp, OPEN)
  const { rows: renewed } = await database.pool.query('select id from agent_connections')
  assert.deepEqual(renewed, [{ id: connection.connectionId }])
})

it('the revocation endpoint ends the whole connection, by either token, for its client alone', async test => {
  const under = await oauthUnderTest(test)
  for (const kind of ['accessToken', 'refreshToken'] as const) {
    const mine = await connected(under)
    const another = await connected(under)
    const revoke = (clientId: string) =>
      under.send('/oauth2/revoke', { form: { token: mine[kind], client_id: clientId } })
    const stranger = await revoke(another.agent.client.client_id)
    assert.equal(stranger.status, 200)
    assert.equal((await opens(under, mine.accessToken)).mcp, OPEN)
    assert.equal((await revoke(mine.agent.client.client_id)).status, 200)
    assert.equal((await opens(under, mine.accessToken)).mcp, 401)
    assert.equal(await refreshError(under, mine), 'invalid_grant')
    assert.equal((await opens(under, another.accessToken)).mcp, OPEN)
  }
  const unknown = await under.send('/oauth2/revoke', {
    form: { token: 'garbage', client_id: await under.register() },
  })
  assert.equal(unknown.status, 200)
})

async function refreshError(
  under: OauthUnderTest,
  { agent, refreshToken }: Awaited<ReturnType<typeof connected>>,
): Promise<string | undefined> {
  const reply = await tokenRequest(under, agent, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    redirect_uri: null,
    code_verifier: null,
  })
  assert.equal(reply.status, reply.body.error === undefined ? 200 : 400)
  return reply.body.error
}
