import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setUpAuthenticatorApp } from '../../../testing/fixtures/authenticator-app.ts'
import {
  createOauthAgent,
  openApproval,
  startOauthFixture,
  submitDecision,
} from '../../../testing/fixtures/oauth.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import {
  addAdAccount,
  createTestWorkspace,
  TEST_PASSWORD,
} from '../../../testing/fixtures/users.ts'

const PURPOSE = /An agent asks for access to one of your ad accounts/

it('asks for a recent confirmation before an agent is connected, then returns to it', async test => {
  const fixture = await startOauthFixture(test)
  const { owner, adAccountId } = fixture.workspace
  const agent = await createOauthAgent(fixture)
  fixture.advance(15 * 60)
  const page = await openApproval(owner.client, await agent.authorizationUrl())
  assert.match(page.path, /^\/account\/confirm\?return_to=/)
  assert.match(page.text, PURPOSE)
  const consent = await owner.client.submit({ fields: { password: TEST_PASSWORD } })
  assert.match(consent.text, /Connect “<bdi>Test agent/)
  const decision = { ad_account_id: String(adAccountId), decision: 'approve' }
  const callback = await submitDecision(owner.client, decision)
  assert.ok((await agent.exchange(callback)).access_token)
})

it('says before the sign-in that an agent asks, and only then', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const visitor = new PageClient(fixture.service.url)
  const { pathname, search } = await agent.authorizationUrl()
  const page = await visitor.get(`${pathname}${search}`)
  assert.match(page.path, /^\/sign-in\?return_to=%2Foauth2%2Finteraction%2F/)
  assert.match(page.text, PURPOSE)
  for (const path of ['/sign-in', '/sign-in?return_to=/account', '/sign-in?return_to=/oauth2/']) {
    assert.doesNotMatch((await visitor.get(path)).text, PURPOSE, path)
  }
  const device = await visitor.get('/sign-in?return_to=/oauth2/device%3Fuser_code%3DBBBB-CCCC')
  assert.match(device.text, PURPOSE)
})

it('offers only ad accounts whose workspaces the session may open', async test => {
  const fixture = await startOauthFixture(test)
  const { workspace, service } = fixture
  const { client } = workspace.owner
  await service.database.query
    .updateTable('workspaces')
    .set({ requires_second_factor: true })
    .where('id', '=', workspace.workspaceId)
    .execute()
  const agent = await createOauthAgent(fixture)
  const refused = await openApproval(client, await agent.authorizationUrl())
  assert.equal(refused.status, 403)
  assert.match(refused.text, /requires a second factor/)

  const other = await createTestWorkspace(service, { name: 'Other', owner: workspace.owner })
  await addAdAccount(service, other.workspaceId, 'Other shop')
  const limited = await openApproval(client, await agent.authorizationUrl())
  const choice = new RegExp(`id="ad-account-${workspace.adAccountId}"`)
  assert.doesNotMatch(limited.text, choice)
  assert.match(limited.text, /Other shop/)
  await submitDecision(client, {
    ad_account_id: String(workspace.adAccountId),
    decision: 'approve',
  })
  assert.equal(client.page?.status, 422)

  await setUpAuthenticatorApp(client)
  const full = await openApproval(client, await agent.authorizationUrl())
  assert.match(full.text, choice)
})
