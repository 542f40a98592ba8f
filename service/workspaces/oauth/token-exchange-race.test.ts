import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { it, type TestContext } from 'node:test'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import {
  approve,
  CALLBACK,
  checkTokenAccess,
  connectAgent,
  createOauthAgent,
  type OauthFixture,
  requestToken,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import type { Database } from '../../runtime/db/database.ts'
import { createOauthProvider } from './provider.ts'
import { createProviderPages } from './provider-pages.ts'

const RUNS = 10
const PARALLEL = 6

it('issues tokens at most once for six concurrent exchanges of a code', async test => {
  const fixture = await startOauthFixture(test)
  for (let run = 0; run < RUNS; run += 1) {
    const agent = await createOauthAgent(fixture)
    const callback = await approve(fixture.workspace, await agent.authorizationUrl())
    const code = callback.searchParams.get('code')
    const replies = await atOnce(() => requestToken(fixture, agent, { code }))
    assert.ok(succeeded(replies) <= 1, `run ${run}`)
    assertInvalidGrants(replies)
  }
})

it('issues three pairs for six concurrent refreshes, of which one can be used', async test => {
  const fixture = await startOauthFixture(test)
  for (let run = 0; run < RUNS; run += 1) {
    const { agent, refreshToken } = await connectAgent(fixture)
    const refresh = (token: string) =>
      requestToken(fixture, agent, {
        grant_type: 'refresh_token',
        refresh_token: token,
        redirect_uri: null,
        code_verifier: null,
      })
    const replies = await atOnce(() => refresh(refreshToken))
    assert.equal(succeeded(replies), 3, `run ${run}`)
    assertInvalidGrants(replies)
    const pairs = replies.filter(({ status }) => status === 200).map(({ body }) => body)
    for (const { access_token: token } of pairs) {
      assert.equal((await checkTokenAccess(fixture, token)).mcp, 200, `run ${run}`)
    }
    const next = await Promise.all(pairs.map(pair => refresh(pair.refresh_token)))
    assert.ok(succeeded(next) <= 1, `run ${run}`)
    assertInvalidGrants(next)
    // Any of the three could be the thief.
    for (const { access_token: token } of [...pairs, ...next.map(({ body }) => body)]) {
      if (token) assert.equal((await checkTokenAccess(fixture, token)).mcp, 401, `run ${run}`)
    }
  }
})

it('issues tokens several times with a check-then-act store, which proves the race', async test => {
  const fixture = await startOauthFixture(test)
  const origin = await naiveServer(test, fixture)
  let worst = 0
  for (let run = 0; run < RUNS && worst < 2; run += 1) {
    const agent = await createOauthAgent(fixture)
    const callback = await approve(fixture.workspace, await agent.authorizationUrl())
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: agent.client.client_id,
      redirect_uri: CALLBACK,
      code_verifier: agent.verifier,
      code: callback.searchParams.get('code') ?? '',
    })
    const replies = await atOnce(() =>
      fetch(`${origin}/oauth2/token`, { method: 'POST', body: form }),
    )
    for (const reply of replies) await reply.arrayBuffer()
    worst = Math.max(worst, succeeded(replies))
  }
  assert.ok(worst > 1, 'the control has to fail, or the tests above prove nothing')
})

/** The same library and store, except for one statement. */
async function naiveServer(test: TestContext, { service }: OauthFixture): Promise<string> {
  const provider = createOauthProvider({
    database: service.database,
    now: service.clock.now,
    audit: createTestAuditTrail(service),
    origin: service.url,
    cookieKeys: ['naive'],
    pages: createProviderPages(),
    userCodeLimit: null,
    consume: naiveConsume,
  })
  const server = createServer(provider.callback())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => new Promise(resolve => server.close(resolve)))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Check-then-act, as many adapters do. Never do this. */
async function naiveConsume(
  { pool }: Database,
  { model, id, at }: { model: string; id: string; at: Date },
): Promise<boolean> {
  const { rows } = await pool.query(
    'select consumed_at from oauth_artifacts where model = $1 and id = $2',
    [model, id],
  )
  if (rows[0]?.consumed_at) return false
  await pool.query('update oauth_artifacts set consumed_at = $3 where model = $1 and id = $2', [
    model,
    id,
    at,
  ])
  return true
}

function atOnce<Result>(ask: () => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: PARALLEL }, ask))
}

function succeeded(replies: readonly { status: number }[]): number {
  return replies.filter(({ status }) => status === 200).length
}

function assertInvalidGrants(replies: readonly { status: number; body: { error?: string } }[]) {
  for (const { status, body } of replies) {
    if (status === 200) continue
    assert.equal(status, 400)
    assert.equal(body.error, 'invalid_grant')
  }
}
