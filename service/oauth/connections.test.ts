import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  checkTokenAccess,
  connectAgent,
  type OauthFixture,
  startOauthFixture,
} from '../../testing/fixtures/oauth.ts'
import {
  addAdAccount,
  addMember,
  createTestPerson,
  createTestWorkspace,
} from '../../testing/fixtures/people.ts'
import { eventually } from '../../testing/fixtures/program.ts'

const OPEN = 200

it('shows, renames and revokes a connection without JavaScript', async test => {
  const under = await startOauthFixture(test)
  const { accessToken } = await connectAgent(under)
  const { client: browser } = under.workspace.owner
  const path = pathOf(under)
  const page = await browser.get(path)
  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /Test agent/)
  assert.match(page.text, /not verified/)
  assert.match(page.text, /Last used<\/dt><dd>never/)
  const id = await connectionId(under)
  const renamed = await browser.submit({
    action: `${path}/${id}/rename`,
    fields: { name: 'Reporting & <more>' },
  })
  assert.match(renamed.text, /Reporting &#38; &#60;more&#62;/)
  assert.match(renamed.text, /Connection renamed/)
  const revoked = await browser.submit({ action: `${path}/${id}/revoke` })
  assert.match(revoked.text, /Connection revoked/)
  assert.match(revoked.text, /No agents connected/)
  assert.equal((await checkTokenAccess(under, accessToken)).mcp, 401)
})

it('returns 422 for an invalid name or ad account and changes nothing', async test => {
  const under = await startOauthFixture(test)
  const { accessToken } = await connectAgent(under)
  const stranger = await createTestWorkspace(under.service)
  const { client: browser } = under.workspace.owner
  const path = `${pathOf(under)}/${await connectionId(under)}`
  for (const name of ['', ' ', 'x'.repeat(101), 'two\nlines', 'turned \u202e']) {
    const page = await browser.post(`${path}/rename`, { name })
    assert.equal(page.status, 422, name)
    assert.match(page.text, /Enter a name of 1 to 100 characters/)
  }
  for (const adAccountId of [String(stranger.adAccountId), '0', 'x', '']) {
    const page = await browser.post(`${path}/ad-account`, { ad_account_id: adAccountId })
    assert.equal(page.status, 422, adAccountId)
  }
  assert.equal((await checkTokenAccess(under, accessToken)).mcp, OPEN)
})

it('returns 422 without changes when one field is invalid, and 204 when all are valid', async test => {
  const under = await startOauthFixture(test)
  const { accessToken } = await connectAgent(under)
  const stranger = await createTestWorkspace(under.service)
  const { client } = under.workspace.owner
  const list = `/browser/workspaces/${under.workspace.workspaceId}/connections`
  const path = `${list}/${await connectionId(under)}`
  const before = (await client.call('GET', list, {})).body
  for (const body of [
    { name: 'Another', ad_account_id: stranger.adAccountId },
    { name: ' ', ad_account_id: under.workspace.adAccountId },
    {},
  ]) {
    assert.equal((await client.call('PATCH', path, { body })).status, 422, JSON.stringify(body))
    assert.deepEqual((await client.call('GET', list, {})).body, before)
  }
  const renamed = await client.call('PATCH', path, { body: { name: 'Another' } })
  assert.equal(renamed.status, 204)
  assert.match(JSON.stringify((await client.call('GET', list, {})).body), /"Another"/)
  assert.equal((await checkTokenAccess(under, accessToken)).mcp, OPEN)
})

it('stops the agent until a new approval after a change of the ad account', async test => {
  const under = await startOauthFixture(test)
  const { accessToken } = await connectAgent(under)
  const second = await addAdAccount(under.service, under.workspace.workspaceId, 'Shop US')
  const { client: browser } = under.workspace.owner
  const path = pathOf(under)
  await browser.get(path)
  const page = await browser.submit({
    action: `${path}/${await connectionId(under)}/ad-account`,
    fields: { ad_account_id: String(second) },
  })
  assert.match(page.text, /must\s+be\s+approved again/)
  assert.equal((await checkTokenAccess(under, accessToken)).mcp, 401)
})

it('returns 403 to other roles, 404 to outsiders, and redirects anonymous visitors to sign in', async test => {
  const under = await startOauthFixture(test)
  await connectAgent(under)
  const { workspaceId } = under.workspace
  const path = pathOf(under)
  const id = await connectionId(under)
  const admin = await createTestPerson(under.service)
  await addMember(under.service, { workspaceId, userId: admin.userId, role: 'admin' })
  const { owner: stranger } = await createTestWorkspace(under.service)
  for (const [person, status] of [
    [admin, 403],
    [stranger, 404],
  ] as const) {
    assert.equal((await person.client.get(path)).status, status)
    for (const action of ['rename', 'ad-account', 'revoke']) {
      const page = await person.client.post(`${path}/${id}/${action}`, { name: 'x' })
      assert.equal(page.status, status, action)
    }
  }
  const anonymous = await fetch(under.service.url + path, { redirect: 'manual' })
  assert.equal(anonymous.status, 303)
  const { owner } = under.workspace
  assert.equal((await owner.client.post(`${path}/999/revoke`)).status, 404)
  const foreign = await owner.client.post(
    `${path}/${id}/revoke`,
    {},
    { origin: 'https://evil.example' },
  )
  assert.equal(foreign.status, 403)
})

it('returns 404 for a connection of another workspace', async test => {
  const under = await startOauthFixture(test)
  const { accessToken } = await connectAgent(under)
  const id = await connectionId(under)
  const { owner, workspaceId } = await createTestWorkspace(under.service)
  const page = await owner.client.post(`/workspaces/${workspaceId}/connections/${id}/revoke`)
  assert.equal(page.status, 404)
  const call = await owner.client.call(
    'DELETE',
    `/browser/workspaces/${workspaceId}/connections/${id}`,
  )
  assert.equal(call.status, 404)
  assert.equal((await checkTokenAccess(under, accessToken)).mcp, OPEN)
})

it('lets one of two concurrent revocations succeed and returns 404 to the other', async test => {
  const under = await startOauthFixture(test)
  await connectAgent(under)
  const path = `/browser/workspaces/${under.workspace.workspaceId}/connections`
  const { client } = under.workspace.owner
  const id = await connectionId(under)
  const replies = await Promise.all([1, 2, 3].map(() => client.call('DELETE', `${path}/${id}`)))
  assert.deepEqual(replies.map(({ status }) => status).sort(), [204, 404, 404])
})

it('records the last use of a connection', async test => {
  const under = await startOauthFixture(test)
  const { accessToken } = await connectAgent(under, {
    resource: `${under.service.url}/api/v1/agent`,
    scope: 'ad-account.read',
  })
  under.advance(60)
  assert.equal((await checkTokenAccess(under, accessToken)).agent, 200)
  await eventually('the use is noted', async () => {
    const { rows } = await under.service.database.pool.query(
      'select last_used_at from agent_connections',
    )
    return rows[0].last_used_at?.getTime() === under.service.clock.now().getTime()
  })
})

function pathOf({ workspace }: OauthFixture): string {
  return `/workspaces/${workspace.workspaceId}/connections`
}

async function connectionId({ service }: OauthFixture): Promise<number> {
  const { rows } = await service.database.pool.query('select max(id) as id from agent_connections')
  return rows[0].id
}
