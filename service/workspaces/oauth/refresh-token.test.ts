import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  agentResource,
  checkTokenAccess,
  connectAgent,
  type OauthAgent,
  type OauthFixture,
  requestToken,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { deleteExpiredOauthRecords } from './artifact-store.ts'

const OPEN = 200
const REPEAT_SECONDS = 10

const refresh = (refreshToken: string, more: Record<string, string> = {}) => ({
  grant_type: 'refresh_token',
  refresh_token: refreshToken,
  redirect_uri: null,
  code_verifier: null,
  ...more,
})

it('exchanges a refresh token for a new pair with the same scope', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, accessToken, refreshToken } = await connectAgent(fixture)
  const again = await agent.refresh(refreshToken)
  assert.notEqual(again.access_token, accessToken)
  assert.notEqual(again.refresh_token, refreshToken)
  assert.equal(again.scope, 'mcp:use')
  assert.equal(again.expires_in, 3_600)
  assert.equal((await checkTokenAccess(fixture, again.access_token)).mcp, OPEN)
})

it('returns 400 invalid_grant for a reused refresh token and revokes the connection', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(fixture)
  const honest = await agent.refresh(refreshToken)
  fixture.advance(REPEAT_SECONDS + 1)
  await assertRevokes(fixture, agent, refreshToken)
  assert.deepEqual(await checkTokenAccess(fixture, honest.access_token), { mcp: 401, agent: 401 })
  const next = await requestToken(fixture, agent, refresh(honest.refresh_token ?? ''))
  assert.equal(next.body.error, 'invalid_grant')
})

it('exchanges the same refresh token three times within ten seconds, and no more', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(fixture)
  const { agent: stranger } = await connectAgent(fixture)
  const pairs = [await agent.refresh(refreshToken)]
  fixture.advance(REPEAT_SECONDS)
  pairs.push(await agent.refresh(refreshToken), await agent.refresh(refreshToken))
  const refused = [
    await requestToken(fixture, stranger, refresh(refreshToken)),
    await requestToken(fixture, agent, refresh(refreshToken)),
  ]
  for (const { status, body } of refused) {
    assert.deepEqual([status, body.error], [400, 'invalid_grant'])
  }
  assert.equal(new Set(pairs.map(pair => pair.refresh_token)).size, pairs.length)
  for (const { access_token: token } of pairs) {
    assert.equal((await checkTokenAccess(fixture, token)).mcp, OPEN)
  }
})

it('ends the other pairs when the refresh token of one is used', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(fixture)
  const one = await agent.refresh(refreshToken)
  const other = await agent.refresh(refreshToken)
  const next = await agent.refresh(one.refresh_token ?? '')
  assert.equal((await checkTokenAccess(fixture, other.access_token)).mcp, 401)
  assert.equal((await checkTokenAccess(fixture, next.access_token)).mcp, OPEN)
  // The pair that was used goes on, also repeatedly.
  const again = await agent.refresh(one.refresh_token ?? '')
  assert.equal((await checkTokenAccess(fixture, again.access_token)).mcp, OPEN)
  await assertRevokes(fixture, agent, other.refresh_token ?? '')
  assert.equal((await checkTokenAccess(fixture, again.access_token)).mcp, 401)
})

it('revokes the connection when a token is reused after one of its pairs was used', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(fixture)
  const one = await agent.refresh(refreshToken)
  await agent.refresh(one.refresh_token ?? '')
  await assertRevokes(fixture, agent, refreshToken)
})

it('recognizes a token whose predecessor has expired in the meantime', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(fixture)
  fixture.advance(29 * DAY_SECONDS)
  const one = await agent.refresh(refreshToken)
  const other = await agent.refresh(refreshToken)
  fixture.advance(29 * DAY_SECONDS)
  const { database, clock } = fixture.service
  await deleteExpiredOauthRecords(database, clock.now())
  await agent.refresh(one.refresh_token ?? '')
  await assertRevokes(fixture, agent, other.refresh_token ?? '')
})

/** The token is refused, and the connection of the fixture revoked. */
async function assertRevokes(
  fixture: OauthFixture,
  agent: OauthAgent,
  refreshToken: string,
): Promise<void> {
  const { pool } = fixture.service.database
  const revoked = 'select revoked_at is not null as is_revoked from agent_connections'
  assert.deepEqual((await pool.query(revoked)).rows, [{ is_revoked: false }])
  const { status, body } = await requestToken(fixture, agent, refresh(refreshToken))
  assert.deepEqual([status, body.error], [400, 'invalid_grant'])
  assert.deepEqual((await pool.query(revoked)).rows, [{ is_revoked: true }])
}

it('expires refresh tokens after 30 days, each new one after 30 more', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(fixture)
  fixture.advance(29 * DAY_SECONDS)
  const later = await agent.refresh(refreshToken)
  fixture.advance(29 * DAY_SECONDS)
  const last = await agent.refresh(later.refresh_token ?? '')
  fixture.advance(30 * DAY_SECONDS)
  const reply = await requestToken(fixture, agent, refresh(last.refresh_token ?? ''))
  assert.equal(reply.status, 400)
  assert.equal(reply.body.error, 'invalid_grant')
})

it('does not widen the scope or the resource on refresh', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(fixture)
  const { resource = '' } = agentResource(fixture)
  for (const [more, error] of [
    [{ scope: 'mcp:use ad-account.read' }, 'invalid_scope'],
    [{ scope: 'ad-account.read' }, 'invalid_scope'],
    [{ resource }, 'invalid_target'],
  ] as const) {
    const another = error === 'invalid_target' ? await connectAgent(fixture) : null
    const used = another ?? { agent, refreshToken }
    const reply = await requestToken(fixture, used.agent, refresh(used.refreshToken, more))
    assert.equal(reply.status, 400)
    assert.equal(reply.body.error, error)
  }
})

it('returns 400 invalid_grant for a refresh token of another client', async test => {
  const fixture = await startOauthFixture(test)
  const { refreshToken } = await connectAgent(fixture)
  const { agent: stranger } = await connectAgent(fixture)
  const reply = await requestToken(fixture, stranger, refresh(refreshToken))
  assert.equal(reply.body.error, 'invalid_grant')
})

it('does not use up the refresh token of a request with a wrong resource or scope', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(fixture)
  const { resource = '' } = agentResource(fixture)
  for (const more of [
    { resource },
    { resource: 'https://evil.example' },
    { resource: 'mcp' },
    { scope: 'ad-account.read' },
  ]) {
    const reply = await requestToken(fixture, agent, refresh(refreshToken, more))
    assert.equal(reply.status, 400, JSON.stringify(more))
    assert.match(reply.body.error, /^invalid_(target|scope)$/)
  }
  const again = await agent.refresh(refreshToken)
  assert.equal((await checkTokenAccess(fixture, again.access_token)).mcp, OPEN)
})

it('ends a chain of refresh tokens 90 days after the approval', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(fixture)
  let current = refreshToken
  for (const days of [29, 29, 29]) {
    fixture.advance(days * DAY_SECONDS)
    current = (await agent.refresh(current)).refresh_token ?? ''
  }
  fixture.advance(2 * DAY_SECONDS)
  const last = await agent.refresh(current)
  fixture.advance(DAY_SECONDS)
  const reply = await requestToken(fixture, agent, refresh(last.refresh_token ?? ''))
  assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_grant'])
})
