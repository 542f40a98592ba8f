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
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'

const EVIL = 'https://evil.example'

it('code injection: rejects a code of another client or with another verifier', async test => {
  const fixture = await startOauthFixture(test)
  const honest = await createOauthAgent(fixture)
  const thief = await createOauthAgent(fixture)
  const code = (await approve(fixture.workspace, await honest.authorizationUrl())).searchParams.get(
    'code',
  )
  for (const changes of [
    { client_id: thief.client.client_id, code_verifier: thief.verifier },
    { client_id: thief.client.client_id },
    { code_verifier: thief.verifier },
    { code_verifier: null },
    { code_verifier: 'short' },
    { redirect_uri: 'http://127.0.0.1:9999/callback' },
    { redirect_uri: EVIL },
  ]) {
    const reply = await requestToken(fixture, honest, { code, ...changes })
    assert.equal(reply.status, 400, JSON.stringify(changes))
    assert.match(reply.body.error, /^invalid_(grant|request)$/)
  }
  assert.equal((await requestToken(fixture, honest, { code })).status, 200)
})

it('PKCE downgrade: rejects a missing challenge and `plain` before consent', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  for (const changes of [
    { code_challenge: null, code_challenge_method: null },
    { code_challenge: null },
    { code_challenge_method: 'plain' },
    { code_challenge_method: null },
    { code_challenge: 'short' },
  ]) {
    const url = await agent.authorizationUrl(changes)
    const page = await fixture.workspace.owner.client.get(url.pathname + url.search)
    const callback = new URL(page.redirects.at(-1) ?? '', fixture.service.url)
    assert.equal(callback.searchParams.get('error'), 'invalid_request', JSON.stringify(changes))
  }
})

it('redirect mismatch: never redirects to an unregistered URI', async test => {
  const fixture = await startOauthFixture(test)
  const registered = 'https://agent.example/callback'
  const clientId = await fixture.register([registered, CALLBACK])
  const agent = await createOauthAgent(fixture, { clientId, redirectUri: registered })
  for (const redirectUri of [
    `${registered}/more`,
    `${registered}?x=1`,
    `${registered}#x`,
    'https://agent.example/callbac',
    'https://agent.example:8443/callback',
    'https://agent.example./callback',
    'https://evil@agent.example/callback',
    'https://agent.example@evil.example/callback',
    'https://agent.example.evil.example/callback',
    'https://\u0430gent.example/callback',
    'http://agent.example/callback',
    'HTTPS://AGENT.EXAMPLE/callback',
    'http://127.0.0.1:1/other',
    'http://localhost:8765/callback',
    'javascript:alert(1)',
    '//agent.example/callback',
    EVIL,
    null,
  ]) {
    const url = await agent.authorizationUrl({ redirect_uri: redirectUri })
    const page = await fixture.workspace.owner.client.get(url.pathname + url.search)
    assert.equal(page.status, 400, String(redirectUri))
    assert.deepEqual(page.redirects, [], String(redirectUri))
    assert.match(page.text, /Connection failed/)
    assert.equal(page.text.includes('evil'), false)
  }
  const anyPort = await agent.authorizationUrl({ redirect_uri: 'http://127.0.0.1:1/callback' })
  assert.equal((await openApproval(fixture.workspace.owner.client, anyPort)).status, 200)
})

it('open redirect: does not redirect for an unknown client', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture, { clientId: 'nobody', redirectUri: EVIL })
  const url = await agent.authorizationUrl()
  const page = await fixture.workspace.owner.client.get(url.pathname + url.search)
  assert.equal(page.status, 400)
  assert.deepEqual(page.redirects, [])
})

it('mix-up: names the issuer, so that a client rejects another one', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const callback = await approve(fixture.workspace, await agent.authorizationUrl())
  for (const [name, value] of [
    ['iss', EVIL],
    ['state', 'another'],
  ] as const) {
    const forged = new URL(callback)
    forged.searchParams.set(name, value)
    await assert.rejects(agent.exchange(forged), new RegExp(name))
  }
  await agent.exchange(callback)
})

it('CSRF: returns 403 for an approval from another site', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const { adAccountId, owner } = fixture.workspace
  const page = await openApproval(owner.client, await agent.authorizationUrl())
  const fields = { ad_account_id: String(adAccountId), decision: 'approve' }
  for (const headers of [
    { origin: EVIL, 'sec-fetch-site': 'cross-site' },
    { origin: EVIL },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ]) {
    const reply = await owner.client.post(page.path, fields, headers as Record<string, string>)
    assert.equal(reply.status, 403, JSON.stringify(headers))
  }
  const { rows } = await fixture.service.database.pool.query('select 1 from agent_connections')
  assert.equal(rows.length, 0)
})

it('CSRF: returns 403 for a device form from another site, and rejects a forged form', async test => {
  const fixture = await startOauthFixture(test)
  const { client: browser } = fixture.workspace.owner
  const fields = { user_code: 'BBBB-BBBB', confirm: 'yes', xsrf: 'forged' }
  const cross = await browser.post('/oauth2/device', fields, { origin: EVIL })
  assert.equal(cross.status, 403)
  const forged = await browser.post('/oauth2/device', fields)
  assert.deepEqual(forged.redirects, ['/oauth2/device'])
  browser.cookies.delete('signalbox_oauth')
  await browser.get('/oauth2/device')
  const wrong = await browser.post('/oauth2/device', fields)
  assert.equal(wrong.status, 400)
})

it('clickjacking: forbids frames, scripts and referrers on consent pages', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const { client: browser } = fixture.workspace.owner
  const consent = await openApproval(browser, await agent.authorizationUrl())
  const device = await browser.get('/oauth2/device')
  const failed = await browser.get('/oauth2/authorize')
  const lost = await browser.get('/oauth2/interaction/unknown')
  for (const page of [consent, device, failed, lost]) {
    const policy = page.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.match(policy, /base-uri 'none'/)
    assert.equal(/unsafe|script-src|\*/.test(policy), false, policy)
    assert.equal(page.headers.get('x-frame-options'), 'DENY')
    assert.equal(page.headers.get('referrer-policy'), 'same-origin')
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
    assert.match(page.headers.get('request-id') ?? '', /^req_/)
    assert.equal(/<script|onload=|style=/.test(page.text), false)
  }
  const target = /form-action ([^;]*)/
  const policyOf = (page: typeof consent) => page.headers.get('content-security-policy') ?? ''
  assert.equal(target.exec(policyOf(consent))?.[1], "'self' http://127.0.0.1:8765")
  for (const page of [device, failed]) {
    assert.equal(target.exec(page.headers.get('content-security-policy') ?? '')?.[1], "'self'")
  }
})

it('privilege: returns 422 for an ad account that the person does not own', async test => {
  const fixture = await startOauthFixture(test)
  const stranger = await createTestWorkspace(fixture.service)
  const agent = await createOauthAgent(fixture)
  const { client: browser } = fixture.workspace.owner
  await openApproval(browser, await agent.authorizationUrl())
  for (const adAccountId of [String(stranger.adAccountId), '0', '-1', '1e1', ' ', 'x']) {
    const page = await browser.submit({
      fields: { ad_account_id: adAccountId, decision: 'approve' },
    })
    assert.equal(page.status, 422, adAccountId)
  }
  const { rows } = await fixture.service.database.pool.query('select 1 from agent_connections')
  assert.equal(rows.length, 0)
})

it('session fixation: does not approve a request of another browser', async test => {
  const fixture = await startOauthFixture(test)
  const attacker = await createTestWorkspace(fixture.service)
  const agent = await createOauthAgent(fixture)
  const begun = await openApproval(attacker.owner.client, await agent.authorizationUrl())
  const victim = fixture.workspace.owner.client
  const page = await victim.get(begun.path)
  assert.equal(page.status, 400)
  assert.match(page.text, /expired or was started in another browser/)
  const fields = { ad_account_id: String(fixture.workspace.adAccountId), decision: 'approve' }
  assert.equal((await victim.post(begun.path, fields)).status, 400)
})

it('two people in one browser: asks the second person separately', async test => {
  const fixture = await startOauthFixture(test)
  const second = await createTestWorkspace(fixture.service)
  await connectAgent(fixture)
  const { client: browser } = fixture.workspace.owner
  for (const [name, value] of second.owner.client.cookies) browser.cookies.set(name, value)
  const agent = await createOauthAgent(fixture)
  await openApproval(browser, await agent.authorizationUrl())
  const callback = await submitDecision(browser, {
    ad_account_id: String(second.adAccountId),
    decision: 'approve',
  })
  await agent.exchange(callback)
  const { rows } = await fixture.service.database.pool.query(
    'select user_id from agent_connections order by id',
  )
  assert.deepEqual(rows, [
    { user_id: fixture.workspace.owner.userId },
    { user_id: second.owner.userId },
  ])
})

it('replay: counts a page submitted twice as one approval, and rejects a second decision', async test => {
  const fixture = await startOauthFixture(test)
  const agent = await createOauthAgent(fixture)
  const { owner, adAccountId } = fixture.workspace
  const page = await openApproval(owner.client, await agent.authorizationUrl())
  const fields = { ad_account_id: String(adAccountId), decision: 'approve' }
  const cookies = owner.client.cookieHeader
  const post = () =>
    fetch(fixture.service.url + page.path, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: cookies, origin: fixture.service.url, 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams(fields),
    })
  const replies = await Promise.all([post(), post(), post()])
  assert.ok(replies.some(({ status }) => status === 303))
  const { rows } = await fixture.service.database.pool.query('select 1 from agent_connections')
  assert.equal(rows.length, 1)
  assert.equal((await post()).status, 400)
})

it('resource confusion: rejects a token of the other resource', async test => {
  const fixture = await startOauthFixture(test)
  const mcp = await connectAgent(fixture)
  const management = await connectAgent(fixture, agentResource(fixture))
  assert.deepEqual(await checkTokenAccess(fixture, mcp.accessToken), { mcp: 200, agent: 401 })
  assert.deepEqual(await checkTokenAccess(fixture, management.accessToken), {
    mcp: 401,
    agent: 200,
  })
  const agent = await createOauthAgent(fixture)
  for (const changes of [
    { resource: `${fixture.service.url}/mcp/` },
    { resource: `${fixture.service.url}/MCP` },
    { resource: 'https://evil.example/mcp' },
    { resource: fixture.service.url },
    { resource: 'mcp' },
  ]) {
    const url = await agent.authorizationUrl(changes)
    const page = await fixture.workspace.owner.client.get(url.pathname + url.search)
    const callback = new URL(page.redirects.at(-1) ?? '', fixture.service.url)
    assert.equal(callback.searchParams.get('error'), 'invalid_target', JSON.stringify(changes))
  }
  const both = await agent.authorizationUrl({ resource: `${fixture.service.url}/mcp` })
  both.searchParams.append('resource', `${fixture.service.url}/api/v1/agent`)
  const page = await fixture.workspace.owner.client.get(both.pathname + both.search)
  assert.match(page.redirects.at(-1) ?? '', /error=invalid_target/)
})

it('XSS: escapes a script in a client name', async test => {
  const fixture = await startOauthFixture(test)
  const name = '<script>alert(1)</script>"\'&'
  const clientId = await fixture.register([CALLBACK], name)
  const agent = await createOauthAgent(fixture, { clientId })
  const page = await openApproval(
    fixture.workspace.owner.client,
    await agent.authorizationUrl({ state: '"><script>' }),
  )
  assert.equal(page.status, 200)
  assert.equal(page.text.includes('<script>'), false)
  assert.match(page.text, /&#60;script&#62;alert\(1\)/)
})
