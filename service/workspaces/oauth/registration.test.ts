import assert from 'node:assert/strict'
import { it } from 'node:test'
import { approve, createOauthAgent, startOauthFixture } from '../../../testing/fixtures/oauth.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { deleteExpiredOauthRecords } from './artifact-store.ts'

it('returns 201 with exactly six members, also if a client requests more', async test => {
  const fixture = await startOauthFixture(test)
  const redirectUris = ['https://agent.example/callback', 'http://127.0.0.1:4000/cb']
  const { status, body } = await fixture.send('/oauth/register', {
    json: {
      client_name: 'Agent',
      redirect_uris: redirectUris,
      grant_types: ['password', 'client_credentials'],
      token_endpoint_auth_method: 'client_secret_basic',
      scope: 'everything',
      client_id: 'chosen',
      client_secret: 'chosen',
    },
  })
  assert.equal(status, 201)
  const { client_id: clientId, ...rest } = body
  assert.match(clientId, /^[\da-f]{8}-[\da-f-]{27}$/)
  assert.deepEqual(rest, {
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: redirectUris,
    scope: 'mcp:use',
    token_endpoint_auth_method: 'none',
  })
})

it('creates only a client', async test => {
  const fixture = await startOauthFixture(test)
  const counts = () =>
    fixture.service.database.pool
      .query(
        `select (select count(*) from people.users) as people,
           (select count(*) from agent_connections) as connections,
           (select count(*) from oauth_artifacts) as artifacts,
           (select count(*) from execution_tokens) as tokens,
           (select count(*) from oauth_clients) as clients`,
      )
      .then(({ rows }) => rows[0])
  const before = await counts()
  await fixture.register()
  assert.deepEqual(await counts(), { ...before, clients: before.clients + 1 })
})

const REFUSED: [why: string, uri: string][] = [
  ['http elsewhere', 'http://agent.example/cb'],
  ['http at a private address', 'http://10.0.0.1/cb'],
  ['http at a name that begins like loopback', 'http://127.0.0.1.agent.example/cb'],
  ['http at localhost in disguise', 'http://localhost.agent.example/cb'],
  ['another spelling of loopback', 'http://0x7f000001/cb'],
  ['https at loopback', 'https://localhost/cb'],
  ['a fragment', 'https://agent.example/cb#x'],
  ['an empty fragment', 'https://agent.example/cb#'],
  ['a user', 'https://user@agent.example/cb'],
  ['a user and a password', 'https://bank.example:x@agent.example/cb'],
  ['an empty user', 'https://@agent.example/cb'],
  ['a wildcard host', 'https://*.agent.example/cb'],
  ['a wildcard path', 'https://agent.example/*'],
  ['a homograph', 'https://\u0430gent.example/cb'],
  ['a homograph in punycode', 'https://xn--gent-83d.example/cb'],
  ['a full-width dot', 'https://agent\uff0eexample/cb'],
  ['a dot at the end of the host', 'https://agent.example./cb'],
  ['a host without a dot', 'https://intranet/cb'],
  ['an address in brackets', 'https://[2001:db8::1]/cb'],
  ['a backslash', 'https://agent.example\\@evil.example/cb'],
  ['a space', 'https://agent.example/a b'],
  ['a line break', 'https://agent.example/cb\n'],
  ['a tab', 'https://agent.example/\tcb'],
  ['dot segments', 'https://agent.example/a/../cb'],
  ['upper case', 'https://Agent.Example/cb'],
  ['the default port', 'https://agent.example:443/cb'],
  ['javascript', 'javascript:alert(1)'],
  ['data', 'data:text/html,x'],
  ['file', 'file:///etc/passwd'],
  ['an unapproved scheme', 'myapp://cb'],
  ['a scheme in another case', 'Cursor://cb'],
  ['a relative path', '/cb'],
  ['a protocol-relative URL', '//agent.example/cb'],
  ['nothing', ''],
  ['too much', `https://agent.example/${'a'.repeat(2_000)}`],
]

it('returns 400 for every ambiguous redirect URI', async test => {
  const fixture = await startOauthFixture(test)
  for (const [why, uri] of REFUSED) {
    const json = { client_name: 'Agent', redirect_uris: ['https://agent.example/cb', uri] }
    const reply = await fixture.send('/oauth/register', { json })
    assert.equal(reply.status, 400, why)
    assert.deepEqual(Object.keys(reply.body), ['error', 'error_description'], why)
    assert.equal(reply.body.error, 'invalid_redirect_uri', why)
    assert.match(reply.body.error_description, /^[A-Z].+\.$/)
    assert.equal(uri !== '' && reply.text.includes(uri), false, why)
  }
})

it('accepts https, loopback with any port, and approved native schemes', async test => {
  const fixture = await startOauthFixture(test)
  for (const uri of [
    'https://agent.example',
    'https://agent.example/cb?x=1',
    'https://agent.example:8443/cb',
    'http://localhost:3000/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:1/cb',
    'cursor://anysphere.cursor-retrieval/oauth/callback',
    'vscode://agent/cb',
  ]) {
    await fixture.register([uri])
  }
})

it('returns 400 as an OAuth error for any malformed body', async test => {
  const fixture = await startOauthFixture(test)
  const good = ['https://agent.example/cb']
  for (const json of [
    null,
    [],
    'text',
    {},
    { client_name: 'Agent' },
    { redirect_uris: good },
    { client_name: 7, redirect_uris: good },
    { client_name: '  ', redirect_uris: good },
    { client_name: 'x'.repeat(101), redirect_uris: good },
    { client_name: 'two\nlines', redirect_uris: good },
    { client_name: 'turned \u202e round', redirect_uris: good },
    { client_name: 'hidden\u200b', redirect_uris: good },
    { client_name: '\u3164', redirect_uris: good },
    { client_name: 'a\u3164b', redirect_uris: good },
    { client_name: '\u2800\u2800', redirect_uris: good },
    { client_name: '\ufe0f', redirect_uris: good },
    { client_name: '"', redirect_uris: good },
    { client_name: '”', redirect_uris: good },
    { client_name: 'Claude” is verified. Approve “Claude', redirect_uris: good },
    { client_name: 'Claude (verified)', redirect_uris: good },
    { client_name: 'Claude (VÉRIFIED)', redirect_uris: good },
    { client_name: 'Claude (ver\u0456fied)', redirect_uris: good },
    { client_name: 'Claude ✓', redirect_uris: good },
    { client_name: 'The official Claude', redirect_uris: good },
    { client_name: 'https://evil.example', redirect_uris: good },
    { client_name: 'Agent', redirect_uris: [] },
    { client_name: 'Agent', redirect_uris: good[0] },
    { client_name: 'Agent', redirect_uris: [7] },
    { client_name: 'Agent', redirect_uris: Array(11).fill(good[0]) },
  ]) {
    const reply = await fixture.send('/oauth/register', { json })
    assert.equal(reply.status, 400, JSON.stringify(json))
    assert.equal(reply.body.error, 'invalid_request', JSON.stringify(json))
    assert.equal(reply.headers.get('access-control-allow-origin'), '*')
  }
  for (const [rawBody, type] of [
    ['{', 'application/json'],
    ['client_name=Agent', 'application/x-www-form-urlencoded'],
    [' '.repeat(65_537), 'application/json'],
  ] as const) {
    const reply = await fixture.service.request('POST', '/oauth/register', {
      secret: null,
      rawBody,
      headers: { 'content-type': type },
    })
    assert.equal(reply.status, 400)
    assert.deepEqual(Object.keys(reply.body), ['error', 'error_description'])
  }
})

it('returns 429 as an OAuth error with Retry-After after too many registrations', async test => {
  const fixture = await startOauthFixture(test, {
    limits: { registrationRatePerMinute: 3 },
    monotonicSeconds: () => 0,
  })
  for (let count = 0; count < 3; count += 1) await fixture.register()
  const json = { client_name: 'Flood', redirect_uris: ['https://agent.example/cb'] }
  const reply = await fixture.send('/oauth/register', { json })
  assert.equal(reply.status, 429)
  assert.equal(reply.body.error, 'temporarily_unavailable')
  assert.match(reply.headers.get('retry-after') ?? '', /^\d+$/)
  const { rows } = await fixture.service.database.pool.query('select 1 from oauth_clients')
  assert.equal(rows.length, 3)
})

it('answers a preflight with 204', async test => {
  const fixture = await startOauthFixture(test)
  const reply = await fixture.send('/oauth/register', {
    method: 'OPTIONS',
    headers: { origin: 'https://agent.example', 'access-control-request-method': 'POST' },
  })
  assert.equal(reply.status, 204)
  assert.equal(reply.headers.get('access-control-allow-origin'), '*')
  assert.equal(reply.headers.get('access-control-allow-methods'), 'POST')
})

it('deletes an unapproved client after 30 days and keeps an approved one', async test => {
  const fixture = await startOauthFixture(test)
  const approved = await createOauthAgent(fixture)
  await approve(fixture.workspace, await approved.authorizationUrl())
  const unapproved = await fixture.register()
  const { database, clock } = fixture.service
  fixture.advance(30 * DAY_SECONDS)
  const early = await deleteExpiredOauthRecords(database, clock.now())
  assert.equal(early.clients, 0)
  assert.ok(early.artifacts > 0)
  fixture.advance(1)
  assert.deepEqual(await deleteExpiredOauthRecords(database, clock.now()), {
    clients: 1,
    artifacts: 0,
  })
  const { rows } = await database.pool.query('select client_id from oauth_clients')
  assert.deepEqual(rows, [{ client_id: approved.client.client_id }])
  assert.notEqual(unapproved, approved.client.client_id)
})
