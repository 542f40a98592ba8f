import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Tier, TokenDays } from '@signalbox/contract/session/agent-permissions.ts'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import {
  checkTokenAccess,
  type OauthFixture,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { addMember, createTestUser, createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { DAY_SECONDS } from '../../runtime/util/time.ts'
import { parseTokenKind } from '../../runtime/util/token-format.ts'
import { verifyAgentToken } from './authenticate-agent.ts'
import { issueExecutionToken } from './execution-tokens.ts'

const OPEN = 200

it('issues a token that is answered once and opens only MCP', async test => {
  const fixture = await startOauthFixture(test)
  const { client } = fixture.workspace.owner
  const { workspaceId, adAccountId } = fixture.workspace
  const path = `/browser/workspaces/${workspaceId}/execution-tokens`
  const body = { name: 'CI', tier: 'write', days: 90, ad_account_id: adAccountId }
  const { token, id } = (await client.call('POST', path, { body })).body
  assert.equal(parseTokenKind(token), 'execution')
  assert.deepEqual(await checkTokenAccess(fixture, token), { mcp: OPEN, agent: 401 })
  const { tokens } = (await client.call('GET', path)).body
  assert.equal(JSON.stringify(tokens).includes(token), false)
  assert.deepEqual([tokens[0].last_characters, tokens[0].status], [token.slice(-4), 'active'])
  assert.equal((await client.call('DELETE', `${path}/${id}`)).status, 204)
  assert.equal((await client.call('GET', path)).body.tokens[0].status, 'revoked')
  assert.equal((await checkTokenAccess(fixture, token)).mcp, 401)
})

it('grants the permissions of the tier, for one ad account only', async test => {
  const fixture = await startOauthFixture(test)
  for (const [tier, permissions] of [
    ['read', ['ad-account.read']],
    ['write', ['ad-account.read', 'actions.propose']],
    ['admin', ['ad-account.read', 'actions.propose']],
  ] as const) {
    const { token } = await issue(fixture, { tier })
    const principal = await verifyAgentToken(fixture.service.database, {
      authorization: `Bearer ${token}`,
      audience: 'mcp',
      origin: fixture.service.url,
      now: fixture.service.clock.now(),
    })
    assert.equal(principal.kind, 'execution_token')
    assert.deepEqual(principal.permissions, permissions)
    assert.equal(principal.adAccountId, fixture.workspace.adAccountId)
    assert.equal(principal.workspaceId, fixture.workspace.workspaceId)
  }
})

for (const days of [30, 90, 365] as const) {
  it(`expires a token after ${days} days`, async test => {
    const fixture = await startOauthFixture(test)
    const { token } = await issue(fixture, { days })
    fixture.advance(days * DAY_SECONDS - 1)
    assert.equal((await checkTokenAccess(fixture, token)).mcp, OPEN)
    fixture.advance(1)
    assert.equal((await checkTokenAccess(fixture, token)).mcp, 401)
  })
}

it('returns 401 immediately when the issuer, the workspace or the ad account is disabled', async test => {
  for (const [table, where] of [
    ['people.users', ''],
    ['workspaces', ''],
    ['ad_accounts', ''],
  ] as const) {
    const fixture = await startOauthFixture(test)
    const { token } = await issue(fixture, {})
    await fixture.service.database.pool.query(`update ${table} set status = 'disabled' ${where}`)
    assert.equal((await checkTokenAccess(fixture, token)).mcp, 401, table)
    test.mock.timers.reset()
  }
})

it('returns 422 naming every invalid field', async test => {
  const fixture = await startOauthFixture(test)
  const { client } = fixture.workspace.owner
  const stranger = await createTestWorkspace(fixture.service)
  const path = `/browser/workspaces/${fixture.workspace.workspaceId}/execution-tokens`
  const good = { name: 'CI', ad_account_id: fixture.workspace.adAccountId, tier: 'read', days: 30 }
  const empty = await client.call('POST', path, { body: {} })
  assert.equal(empty.status, 422)
  assert.deepEqual(Object.keys(empty.body.errors).sort(), ['ad_account_id', 'days', 'name', 'tier'])
  for (const [field, value] of [
    ['name', ' '],
    ['name', 7],
    ['tier', 'owner'],
    ['days', 31],
    ['days', '30'],
    ['ad_account_id', stranger.adAccountId],
    ['ad_account_id', '1'],
    ['ad_account_id', 2 ** 40],
    ['ad_account_id', null],
  ] as const) {
    const reply = await client.call('POST', path, { body: { ...good, [field]: value } })
    assert.equal(reply.status, 422, `${field} ${value}`)
    assert.deepEqual(Object.keys(reply.body.errors), [field])
  }
  assert.equal((await client.call('POST', path, { body: good })).status, 201)
})

it('enforces the permission table for every operation and role', async test => {
  const fixture = await startOauthFixture(test)
  const { service, workspace } = fixture
  const { workspaceId, adAccountId, owner } = workspace
  const admin = await createTestUser(service)
  await addMember(service, { workspaceId, userId: admin.userId, role: 'admin' })
  const member = await createTestUser(service)
  await addMember(service, { workspaceId, userId: member.userId, role: 'member' })
  const { owner: stranger } = await createTestWorkspace(service)
  const base = `/browser/workspaces/${workspaceId}`
  const found: Record<string, number[]> = {}
  for (const [method, path, body] of [
    ['GET', '/connections', undefined],
    ['PATCH', '/connections/1', { name: 'x' }],
    ['DELETE', '/connections/1', undefined],
    ['GET', '/execution-tokens', undefined],
    [
      'POST',
      '/execution-tokens',
      { name: 'x', ad_account_id: adAccountId, tier: 'read', days: 30 },
    ],
    ['DELETE', '/execution-tokens/1', undefined],
  ] as const) {
    const statuses: number[] = []
    for (const { client } of [owner, admin, member, stranger]) {
      const reply = await client.call(method, base + path, body ? { body } : {})
      statuses.push(reply.status)
    }
    const anonymous = await fetch(service.url + base + path, {
      method,
      headers: { origin: service.url, 'sec-fetch-site': 'same-origin' },
    })
    found[`${method} ${path}`] = [...statuses, anonymous.status]
  }
  assert.deepEqual(found, {
    'GET /connections': [200, 403, 403, 404, 401],
    'PATCH /connections/1': [404, 403, 403, 404, 401],
    'DELETE /connections/1': [404, 403, 403, 404, 401],
    'GET /execution-tokens': [200, 403, 403, 404, 401],
    'POST /execution-tokens': [201, 403, 403, 404, 401],
    'DELETE /execution-tokens/1': [204, 403, 403, 404, 401],
  })
})

function issue({ service, workspace }: OauthFixture, more: { tier?: Tier; days?: TokenDays }) {
  const scope = { database: service.database, audit: createTestAuditTrail(service) }
  return issueExecutionToken(scope, {
    workspaceId: workspace.workspaceId,
    issuedBy: workspace.owner.userId,
    adAccountId: workspace.adAccountId,
    tier: 'read',
    days: 30,
    name: 'CI',
    issuedAt: service.clock.now(),
    ...more,
  })
}
