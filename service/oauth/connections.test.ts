import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  connected,
  type OauthUnderTest,
  oauthUnderTest,
  opens,
} from '../../testing/oauth-under-test.ts'
import {
  addAdAccount,
  addMember,
  personUnderTest,
  workspaceUnderTest,
} from '../../testing/people-under-test.ts'
import { eventually } from '../../testing/program-under-test.ts'

const OPEN = 200

it('the page shows a connection, renames it and revokes it, without JavaScript', async test => {
  const under = await oauthUnderTest(test)
  const { accessToken } = await connected(under)
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
  assert.match(renamed.text, /The connection has its new name/)
  const revoked = await browser.submit({ action: `${path}/${id}/revoke` })
  assert.match(revoked.text, /is revoked/)
  assert.match(revoked.text, /No agent is connected/)
  assert.equal((await opens(under, accessToken)).mcp, 401)
})

it('422 shows what is wrong with a name or an ad account, and changes nothing', async test => {
  const under = await oauthUnderTest(test)
  const { accessToken } = await connected(under)
  const stranger = await workspaceUnderTest(under.service)
  const { client: browser } = under.workspace.owner
  const path = `${pathOf(under)}/${await connectionId(under)}`
  for (const name of ['', ' ', 'x'.repeat(101), 'two\nlines', 'turned \u202e']) {
    const page = await browser.post(`${path}/rename`, { name })
    assert.equal(page.status, 422, name)
    assert.match(page.text, /Give a name of 1 to 100 characters/)
  }
  for (const adAccountId of [String(stranger.adAccountId), '0', 'x', '']) {
    const page = await browser.post(`${path}/ad-account`, { ad_account_id: adAccountId })
    assert.equal(page.status, 422, adAccountId)
  }
  assert.equal((await opens(under, accessToken)).mcp, OPEN)
})

it('422 for a change of which one member is wrong changes nothing, and 204 for a good one does', async test => {
  const under = await oauthUnderTest(test)
  const { accessToken } = await connected(under)
  const stranger = await workspaceUnderTest(under.service)
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
  assert.equal((await opens(under, accessToken)).mcp, OPEN)
})

it('changing the ad account on the page stops the agent until it is approved again', async test => {
  const under = await oauthUnderTest(test)
  const { accessToken } = await connected(under)
  const second = await addAdAccount(under.service, under.workspace.workspaceId, 'Shop US')
  const { client: browser } = under.workspace.owner
  const path = pathOf(under)
  await browser.get(path)
  const page = await browser.submit({
    action: `${path}/${await connectionId(under)}/ad-account`,
    fields: { ad_account_id: String(second) },
  })
  assert.match(page.text, /has to be\s+approved again/)
  assert.equal((await opens(under, accessToken)).mcp, 401)
})

it('403 for who is no owner, 404 for who belongs elsewhere, the sign-in for nobody', async test => {
  const under = await oauthUnderTest(test)
  await connected(under)
  const { workspaceId } = under.workspace
  const path = pathOf(under)
  const id = await connectionId(under)
  const admin = await personUnderTest(under.service)
  await addMember(under.service, { workspaceId, userId: admin.userId, role: 'admin' })
  const { owner: stranger } = await workspaceUnderTest(under.service)
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
  const nobody = await fetch(under.service.url + path, { redirect: 'manual' })
  assert.equal(nobody.status, 303)
  const { owner } = under.workspace
  assert.equal((await owner.client.post(`${path}/999/revoke`)).status, 404)
  const foreign = await owner.client.post(
    `${path}/${id}/revoke`,
    {},
    { origin: 'https://evil.example' },
  )
  assert.equal(foreign.status, 403)
})

it('a connection of another workspace cannot be reached through one of mine', async test => {
  const under = await oauthUnderTest(test)
  const { accessToken } = await connected(under)
  const id = await connectionId(under)
  const { owner, workspaceId } = await workspaceUnderTest(under.service)
  const page = await owner.client.post(`/workspaces/${workspaceId}/connections/${id}/revoke`)
  assert.equal(page.status, 404)
  const call = await owner.client.call(
    'DELETE',
    `/browser/workspaces/${workspaceId}/connections/${id}`,
  )
  assert.equal(call.status, 404)
  assert.equal((await opens(under, accessToken)).mcp, OPEN)
})

it('two owners revoke at once: one does it, the other is told that it is done', async test => {
  const under = await oauthUnderTest(test)
  await connected(under)
  const path = `/browser/workspaces/${under.workspace.workspaceId}/connections`
  const { client } = under.workspace.owner
  const id = await connectionId(under)
  const replies = await Promise.all([1, 2, 3].map(() => client.call('DELETE', `${path}/${id}`)))
  assert.deepEqual(replies.map(({ status }) => status).sort(), [204, 404, 404])
})

it('the last use of a connection is kept', async test => {
  const under = await oauthUnderTest(test)
  const { accessToken } = await connected(under, {
    resource: `${under.service.url}/api/v1/agent`,
    scope: 'ad-account.read',
  })
  under.forward(60)
  assert.equal((await opens(under, accessToken)).agent, 200)
  await eventually('the use is noted', async () => {
    const { rows } = await under.service.database.pool.query(
      'select last_used_at from agent_connections',
    )
    return rows[0].last_used_at?.getTime() === under.service.clock.now().getTime()
  })
})

function pathOf({ workspace }: OauthUnderTest): string {
  return `/workspaces/${workspace.workspaceId}/connections`
}

async function connectionId({ service }: OauthUnderTest): Promise<number> {
  const { rows } = await service.database.pool.query('select max(id) as id from agent_connections')
  return rows[0].id
}
