import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  checkTokenAccess,
  connectAgent,
  type OauthFixture,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { addAdAccount, createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

const OPEN = 200

it('lists, renames and revokes a connection', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken } = await connectAgent(fixture)
  const { client } = fixture.workspace.owner
  const list = pathOf(fixture)
  const path = `${list}/${await connectionId(fixture)}`
  const read = async () => (await client.call('GET', list)).body.connections[0]
  const { name, client_name: clientName, last_used_at: usedAt } = await read()
  assert.deepEqual([name, clientName, usedAt], ['Test agent', 'Test agent', null])
  const body = { name: 'Reporting & <more>' }
  assert.equal((await client.call('PATCH', path, { body })).status, 204)
  assert.equal((await read()).name, body.name)
  assert.equal((await client.call('DELETE', path)).status, 204)
  assert.notEqual((await read()).revoked_at, null)
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, 401)
})

it('returns 422 for an invalid name or ad account and changes nothing', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken } = await connectAgent(fixture)
  const stranger = await createTestWorkspace(fixture.service)
  const { client } = fixture.workspace.owner
  const path = `${pathOf(fixture)}/${await connectionId(fixture)}`
  for (const name of ['', ' ', 'x'.repeat(101), 'two\nlines', 'turned \u202e']) {
    const reply = await client.call('PATCH', path, { body: { name } })
    assert.equal(reply.status, 422, name)
    assert.match(reply.body.errors.name[0], /Enter a name of 1 to 100 characters/)
  }
  for (const adAccountId of [stranger.adAccountId, 0, 'x', '', null]) {
    const reply = await client.call('PATCH', path, { body: { ad_account_id: adAccountId } })
    assert.equal(reply.status, 422, String(adAccountId))
  }
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, OPEN)
})

it('returns 422 without changes when one field is invalid, and 204 when all are valid', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken } = await connectAgent(fixture)
  const stranger = await createTestWorkspace(fixture.service)
  const { client } = fixture.workspace.owner
  const list = `/browser/workspaces/${fixture.workspace.workspaceId}/connections`
  const path = `${list}/${await connectionId(fixture)}`
  const before = (await client.call('GET', list, {})).body
  for (const body of [
    { name: 'Another', ad_account_id: stranger.adAccountId },
    { name: ' ', ad_account_id: fixture.workspace.adAccountId },
    {},
  ]) {
    assert.equal((await client.call('PATCH', path, { body })).status, 422, JSON.stringify(body))
    assert.deepEqual((await client.call('GET', list, {})).body, before)
  }
  const renamed = await client.call('PATCH', path, { body: { name: 'Another' } })
  assert.equal(renamed.status, 204)
  assert.match(JSON.stringify((await client.call('GET', list, {})).body), /"Another"/)
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, OPEN)
})

it('stops the agent until a new approval after a change of the ad account', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken } = await connectAgent(fixture)
  const second = await addAdAccount(fixture.service, fixture.workspace.workspaceId, 'Shop US')
  const { client } = fixture.workspace.owner
  const list = pathOf(fixture)
  const body = { ad_account_id: second }
  const path = `${list}/${await connectionId(fixture)}`
  assert.equal((await client.call('PATCH', path, { body })).status, 204)
  assert.equal((await client.call('GET', list)).body.connections[0].needs_approval, true)
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, 401)
})

it('returns 404 for a connection of another workspace', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken } = await connectAgent(fixture)
  const id = await connectionId(fixture)
  const { owner, workspaceId } = await createTestWorkspace(fixture.service)
  const call = await owner.client.call(
    'DELETE',
    `/browser/workspaces/${workspaceId}/connections/${id}`,
  )
  assert.equal(call.status, 404)
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, OPEN)
})

it('lets one of two concurrent revocations succeed and returns 404 to the other', async test => {
  const fixture = await startOauthFixture(test)
  await connectAgent(fixture)
  const path = `/browser/workspaces/${fixture.workspace.workspaceId}/connections`
  const { client } = fixture.workspace.owner
  const id = await connectionId(fixture)
  const replies = await Promise.all([1, 2, 3].map(() => client.call('DELETE', `${path}/${id}`)))
  assert.deepEqual(replies.map(({ status }) => status).sort(), [204, 404, 404])
})

it('records the last use of a connection', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken } = await connectAgent(fixture, {
    resource: `${fixture.service.url}/api/v1/agent`,
    scope: 'ad-account.read',
  })
  fixture.advance(60)
  assert.equal((await checkTokenAccess(fixture, accessToken)).agent, 200)
  await waitUntil('the use is noted', async () => {
    const { rows } = await fixture.service.database.pool.query(
      'select last_used_at from agent_connections',
    )
    return rows[0].last_used_at?.getTime() === fixture.service.clock.now().getTime()
  })
})

function pathOf({ workspace }: OauthFixture): string {
  return `/browser/workspaces/${workspace.workspaceId}/connections`
}

async function connectionId({ service }: OauthFixture): Promise<number> {
  const { rows } = await service.database.pool.query('select max(id) as id from agent_connections')
  return rows[0].id
}
