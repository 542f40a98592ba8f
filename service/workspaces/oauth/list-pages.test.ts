import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import {
  checkTokenAccess,
  connectAgent,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  addAdAccount,
  createTestWorkspace,
  type TestUser,
  type TestWorkspace,
} from '../../../testing/fixtures/users.ts'

/** More than fit on several pages. */
const DEAD_ROWS = 230

/** Tokens that expired or were revoked after the live one was issued. */
async function addDeadTokens({ database }: TestService, { workspaceId }: TestWorkspace) {
  await database.pool.query(
    `insert into execution_tokens (workspace_id, ad_account_id, token_digest, tier, name,
       last_characters, issued_by, created_at, expires_at, revoked_at)
     select workspace_id, ad_account_id, sha256(number::text::bytea), tier, 'dead ' || number,
       last_characters, issued_by, created_at,
       case when number % 2 = 0 then created_at else expires_at end,
       case when number % 2 = 0 then null else created_at end
     from execution_tokens, generate_series(1, $2::integer) number
     where workspace_id = $1 order by number`,
    [workspaceId, DEAD_ROWS],
  )
}

async function addRevokedConnections({ database }: TestService, { workspaceId }: TestWorkspace) {
  await database.pool.query(
    `insert into agent_connections (client_id, user_id, workspace_id, ad_account_id, audience,
       permissions, name, created_at, revoked_at)
     select client_id, user_id, workspace_id, ad_account_id, audience, permissions,
       'dead ' || number, created_at, created_at
     from agent_connections, generate_series(1, $2::integer) number
     where workspace_id = $1 order by number`,
    [workspaceId, DEAD_ROWS],
  )
}

/** Reads all pages of a list of the browser API. */
async function readAll({ client }: TestUser, path: string, member: string) {
  const rows: { id: number; name: string; revoked_at: string | null }[] = []
  for (let page = 1; ; page += 1) {
    const { status, body } = await client.call('GET', `${path}?page=${page}`)
    assert.equal(status, 200)
    assert.equal(body.page, page)
    assert.ok(body[member].length <= body.per_page)
    rows.push(...body[member])
    if (!body.has_more) return rows
  }
}

it('lists a live token before 230 dead ones, and all of them over its pages', async test => {
  const service = await startTestService(test)
  const workspace = await createTestWorkspace(service)
  const { owner, workspaceId, adAccountId } = workspace
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/execution-tokens`
  const body = { name: 'Forgotten', ad_account_id: adAccountId, tier: 'write', days: 365 }
  const issued = await owner.client.call('POST', path, { body })
  assert.equal(issued.status, 201)
  await addDeadTokens(service, workspace)

  const tokens = await readAll(owner, path, 'tokens')
  assert.equal(tokens[0]?.id, issued.body.id)
  assert.equal(new Set(tokens.map(({ id }) => id)).size, DEAD_ROWS + 1)
  assert.deepEqual(
    tokens.slice(1).map(({ id }) => id),
    tokens
      .slice(1)
      .map(({ id }) => id)
      .toSorted((one, other) => other - one),
    'newest first',
  )

  const revoked = await owner.client.call('DELETE', `${path}/${issued.body.id}`)
  assert.equal(revoked.status, 204)
})

it('lists a live connection before 230 revoked ones, and changes its ad account', async test => {
  const fixture = await startOauthFixture(test)
  const { service, workspace } = fixture
  const { owner, workspaceId } = workspace
  const { accessToken } = await connectAgent(fixture)
  await addRevokedConnections(service, workspace)
  const other = await addAdAccount(service, workspaceId)

  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/connections`
  const connections = await readAll(owner, path, 'connections')
  assert.equal(connections.length, DEAD_ROWS + 1)
  const live = connections[0]
  assert.equal(live?.revoked_at, null)
  const body = { ad_account_id: other }
  const changed = await owner.client.call('PATCH', `${path}/${live?.id}`, { body })
  assert.equal(changed.status, 204)
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, 401)
})

it('answers the first page for a page that is no number, and an empty one past the end', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/execution-tokens`
  for (const [page, number] of [
    ...[
      ['x', 1],
      ['0', 1],
      ['-1', 1],
      ['', 1],
      ['99999999999', 1],
    ],
    ['2147483647', 2147483647],
  ] as const) {
    const { status, body } = await owner.client.call('GET', `${path}?page=${page}`)
    assert.equal(status, 200, page)
    assert.deepEqual(body, { tokens: [], page: number, per_page: 50, has_more: false }, page)
  }
})
