import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  agentResource,
  approve,
  CALLBACK,
  checkTokenAccess,
  connectAgent,
  createOauthAgent,
  openApproval,
  requestToken,
  startOauthFixture,
  submitDecision,
} from '../../../testing/fixtures/oauth.ts'
import { addAdAccount } from '../../../testing/fixtures/users.ts'

/** Verifies a token at a resource without a server. */
const OPEN = 200

it('issues tokens after approval to an agent that only knows the address', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const callback = await approve(fixture.workspace, await agent.authorizationUrl())
  assert.equal(callback.origin + callback.pathname, CALLBACK)
  assert.deepEqual([...callback.searchParams.keys()].sort(), ['code', 'iss', 'state'])
  assert.equal(callback.searchParams.get('state'), agent.state)
  assert.equal(callback.searchParams.get('iss'), fixture.service.url)
  const tokens = await agent.exchange(callback)
  assert.equal(tokens.token_type, 'bearer')
  assert.equal(tokens.expires_in, 3_600)
  assert.equal(tokens.scope, 'mcp:use')
  assert.match(tokens.access_token, /^[\w-]{43}$/)
  assert.match(tokens.refresh_token ?? '', /^[\w-]{43}$/)
  assert.equal('id_token' in tokens, false)
  assert.deepEqual(await checkTokenAccess(fixture, tokens.access_token), { mcp: OPEN, agent: 401 })
})

it('binds client, person, permissions and one ad account into a connection', async test => {
  const fixture = await startOauthFixture(test)
  const { agent } = await connectAgent(fixture)
  const { rows } = await fixture.service.database.pool.query(
    `select client_id, user_id, workspace_id, ad_account_id, audience, permissions, name,
       created_at, revoked_at from agent_connections`,
  )
  assert.deepEqual(rows, [
    {
      client_id: agent.client.client_id,
      user_id: fixture.workspace.owner.userId,
      workspace_id: fixture.workspace.workspaceId,
      ad_account_id: fixture.workspace.adAccountId,
      audience: 'mcp',
      permissions: ['ad-account.read', 'actions.propose'],
      name: 'Test agent',
      created_at: fixture.service.clock.now(),
      revoked_at: null,
    },
  ])
})

it('returns access_denied and creates nothing after a denial', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const { client: browser } = fixture.workspace.owner
  await openApproval(browser, await agent.authorizationUrl())
  const callback = await submitDecision(browser, { decision: 'deny' })
  assert.equal(callback.searchParams.get('error'), 'access_denied')
  assert.equal(callback.searchParams.get('state'), agent.state)
  assert.equal(callback.searchParams.get('iss'), fixture.service.url)
  const { rows } = await fixture.service.database.pool.query(
    `select 1 from agent_connections union all
     select 1 from oauth_artifacts where model in ('Grant', 'AuthorizationCode')`,
  )
  assert.equal(rows.length, 0)
})

it('redirects to sign in first, and then back to the request', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const { client: browser } = fixture.workspace.owner
  const cookies = new Map(browser.cookies)
  browser.cookies.clear()
  const url = await agent.authorizationUrl()
  const page = await browser.get(url.pathname + url.search)
  const [, path = ''] = /^\/sign-in\?return_to=(.+)$/.exec(page.redirects.at(-1) ?? '') ?? []
  assert.match(decodeURIComponent(path), /^\/oauth2\/interaction\/[\w-]+$/)
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  const back = await browser.get(decodeURIComponent(path))
  assert.equal(back.status, 200)
  const callback = await submitDecision(browser, {
    ad_account_id: String(fixture.workspace.adAccountId),
    decision: 'approve',
  })
  assert.ok(callback.searchParams.get('code'))
})

it('preselects a single ad account, and returns 422 when none of several is chosen', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const { owner, workspaceId, adAccountId } = fixture.workspace
  const one = await openApproval(owner.client, await agent.authorizationUrl())
  assert.equal(one.text.match(/ checked/g)?.length, 1)
  const second = await addAdAccount(fixture.service, workspaceId, 'Shop US')
  const several = await openApproval(owner.client, await agent.authorizationUrl())
  assert.equal(several.text.match(/ checked/g), null)
  const again = await owner.client.submit({ fields: { decision: 'approve' } })
  assert.equal(again.status, 422)
  assert.match(again.text, /Choose the ad account that this agent may access\./)
  const callback = await submitDecision(owner.client, {
    ad_account_id: String(second),
    decision: 'approve',
  })
  const { access_token: token } = await agent.exchange(callback)
  assert.notEqual(second, adAccountId)
  assert.deepEqual(await checkTokenAccess(fixture, token), { mcp: OPEN, agent: 401 })
})

it('defaults to the scope of the resource, and returns invalid_scope for an unknown one', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const { workspace } = fixture
  const { resource = '' } = agentResource(fixture)
  const mcp = `${fixture.service.url}/mcp`
  for (const [changes, scope] of [
    [{ scope: null }, 'mcp:use'],
    [{ scope: null, resource }, 'ad-account.read'],
    [{ scope: 'ad-account.read' }, 'ad-account.read'],
    // Some clients request every advertised scope, and one for the refresh token.
    [{ scope: 'mcp:use ad-account.read' }, 'mcp:use'],
    [{ scope: 'mcp:use ad-account.read', resource }, 'ad-account.read'],
    [{ scope: 'ad-account.read mcp:use offline_access', resource: mcp }, 'mcp:use'],
    [{ scope: 'mcp:use offline_access' }, 'mcp:use'],
    [{ scope: 'offline_access', prompt: 'consent' }, 'mcp:use'],
    [{ scope: 'ad-account.read offline_access' }, 'ad-account.read'],
    [{ prompt: 'consent' }, 'mcp:use'],
  ] as const) {
    const callback = await approve(workspace, await agent.authorizationUrl(changes))
    const tokens = await agent.exchange(callback)
    assert.equal(tokens.scope, scope)
    assert.ok(tokens.refresh_token)
    const isMcp = scope === 'mcp:use'
    assert.deepEqual(
      await checkTokenAccess(fixture, tokens.access_token),
      isMcp ? { mcp: OPEN, agent: 401 } : { mcp: 401, agent: OPEN },
    )
  }
  for (const scope of ['openid', 'mcp:admin', 'MCP:USE', 'mcp:use ad-account.read openid']) {
    const url = await agent.authorizationUrl({ scope })
    const page = await workspace.owner.client.get(url.pathname + url.search)
    const callback = new URL(page.redirects.at(-1) ?? '')
    assert.equal(callback.searchParams.get('error'), 'invalid_scope', scope)
  }
})

it('returns 400 invalid_grant for a reused code and revokes its tokens', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const callback = await approve(fixture.workspace, await agent.authorizationUrl())
  const code = callback.searchParams.get('code')
  const first = await requestToken(fixture, agent, { code })
  assert.equal(first.status, 200)
  const second = await requestToken(fixture, agent, { code })
  assert.equal(second.status, 400)
  assert.equal(second.body.error, 'invalid_grant')
  assert.deepEqual(await checkTokenAccess(fixture, first.body.access_token), {
    mcp: 401,
    agent: 401,
  })
})

it('returns 400 invalid_grant for a code after 60 seconds', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  for (const [seconds, status] of [
    [59, 200],
    [60, 400],
  ] as const) {
    const callback = await approve(fixture.workspace, await agent.authorizationUrl())
    fixture.advance(seconds)
    const reply = await requestToken(fixture, agent, { code: callback.searchParams.get('code') })
    assert.equal(reply.status, status, `${seconds} ${reply.text}`)
  }
})

it('returns 401 for an access token after an hour', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken } = await connectAgent(fixture)
  fixture.advance(3_599)
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, OPEN)
  fixture.advance(1)
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, 401)
})

it('forbids caching of token responses and names their request ID', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const callback = await approve(fixture.workspace, await agent.authorizationUrl())
  const reply = await requestToken(fixture, agent, { code: callback.searchParams.get('code') })
  assert.equal(reply.headers.get('cache-control'), 'no-store')
  assert.match(reply.headers.get('request-id') ?? '', /^req_[0-9a-f]{32}$/)
  assert.equal(reply.headers.get('x-content-type-options'), 'nosniff')
})
