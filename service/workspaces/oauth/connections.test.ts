import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  checkTokenAccess,
  connectAgent,
  type OauthFixture,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import {
  addAdAccount,
  addMember,
  createTestUser,
  createTestWorkspace,
} from '../../../testing/fixtures/users.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

const OPEN = 200

it('shows, renames and revokes a connection without JavaScript', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken } = await connectAgent(fixture)
  const { client: browser } = fixture.workspace.owner
  const path = pathOf(fixture)
  const page = await browser.get(path)
  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /Test agent/)
  assert.match(page.text, /not verified/)
  assert.match(page.text, /Last used<\/dt><dd>never/)
  const id = await connectionId(fixture)
  const renamed = await browser.submit({
    action: `${path}/${id}/rename`,
    fields: { name: 'Reporting & <more>' },
  })
  assert.match(renamed.text, /Reporting &#38; &#60;more&#62;/)
  assert.match(renamed.text, /Agent renamed/)
  const revoked = await browser.submit({ action: `${path}/${id}/revoke` })
  assert.match(revoked.text, /Agent revoked/)
  assert.match(revoked.text, /No agents connected/)
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, 401)
})

it('returns 422 for an invalid name or ad account and changes nothing', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken } = await connectAgent(fixture)
  const stranger = await createTestWorkspace(fixture.service)
  const { client: browser } = fixture.workspace.owner
  const path = `${pathOf(fixture)}/${await connectionId(fixture)}`
  for (const name of ['', ' ', 'x'.repeat(101), 'two\nlines', 'turned \u202e']) {
    const page = await browser.post(`${path}/rename`, { name })
    assert.equal(page.status, 422, name)
    assert.match(page.text, /Enter a name of 1 to 100 characters/)
  }
  for (const adAccountId of [String(stranger.adAccountId), '0', 'x', '']) {
    const page = await browser.post(`${path}/ad-account`, { ad_account_id: adAccountId })
    assert.equal(page.status, 422, adAccountId)
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
  const { client: browser } = fixture.workspace.owner
  const path = pathOf(fixture)
  await browser.get(path)
  const page = await browser.submit({
    action: `${path}/${await connectionId(fixture)}/ad-account`,
    fields: { ad_account_id: String(second) },
  })
  assert.match(page.text, /must\s+be\s+approved again/)
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, 401)
})

it('returns 403 to other roles, 404 to outsiders, and redirects anonymous visitors to sign in', async test => {
  const fixture = await startOauthFixture(test)
  await connectAgent(fixture)
  const { workspaceId } = fixture.workspace
  const path = pathOf(fixture)
  const id = await connectionId(fixture)
  const admin = await createTestUser(fixture.service)
  await addMember(fixture.service, { workspaceId, userId: admin.userId, role: 'admin' })
  const { owner: stranger } = await createTestWorkspace(fixture.service)
  for (const [user, status] of [
    [admin, 403],
    [stranger, 404],
  ] as const) {
    assert.equal((await user.client.get(path)).status, status)
    for (const action of ['rename', 'ad-account', 'revoke']) {
      const page = await user.client.post(`${path}/${id}/${action}`, { name: 'x' })
      assert.equal(page.status, status, action)
    }
  }
  const anonymous = await fetch(fixture.service.url + path, { redirect: 'manual' })
  assert.equal(anonymous.status, 303)
  const { owner } = fixture.workspace
  assert.equal((await owner.client.post(`${path}/999/revoke`)).status, 404)
  const foreign = await owner.client.post(
    `${path}/${id}/revoke`,
    {},
    { origin: 'https://evil.example' },
  )
  assert.equal(foreign.status, 403)
})

it('returns 404 for a connection of another workspace', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken } = await connectAgent(fixture)
  const id = await connectionId(fixture)
  const { owner, workspaceId } = await createTestWorkspace(fixture.service)
  const page = await owner.client.post(`/workspaces/${workspaceId}/connections/${id}/revoke`)
  assert.equal(page.status, 404)
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
  return `/workspaces/${workspace.workspaceId}/connections`
}

async function connectionId({ service }: OauthFixture): Promise<number> {
  const { rows } = await service.database.pool.query('select max(id) as id from agent_connections')
  return rows[0].id
}
