import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import { runSimultaneously } from '../../../testing/concurrency/lock-barrier.ts'
import { blockAuditWrites, failCommits, readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  approve,
  checkTokenAccess,
  connectAgent,
  createOauthAgent,
  type OauthFixture,
  openApproval,
  requestToken,
  startOauthFixture,
  submitDecision,
} from '../../../testing/fixtures/oauth.ts'
import {
  addAdAccount,
  addMember,
  createTestUser,
  createTestWorkspace,
} from '../../../testing/fixtures/users.ts'

const OPEN = 200
const AT = '2026-11-21T12:00:00.000Z'

it('audits an approval with person, connection and ad account', async test => {
  const fixture = await startOauthFixture(test)
  const { agent } = await connectAgent(fixture)
  const subject = { type: 'connection', id: await connectionId(fixture) }
  assert.partialDeepStrictEqual(await written(fixture), [
    {
      sequence: 1,
      at: AT,
      actor: owner(fixture),
      action: 'connection.approved',
      subject,
      details: {
        client_id: agent.client.client_id,
        ad_account_id: fixture.workspace.adAccountId,
        audience: 'mcp',
        permissions: ['ad-account.read', 'actions.propose'],
      },
    },
  ])
})

it('audits concurrent submissions of one approval once, and no denial', async test => {
  const fixture = await startOauthFixture(test)
  const { client } = fixture.workspace.owner
  const agent = await createOauthAgent(fixture)
  await openApproval(client, await agent.authorizationUrl())
  await submitDecision(client, { decision: 'refuse' })
  assert.deepEqual(await written(fixture), [])
  const { path } = await openApproval(client, await agent.authorizationUrl())
  const approval = { ad_account_id: String(fixture.workspace.adAccountId), decision: 'approve' }
  const approve = () => client.post(path, approval)
  await runSimultaneously(fixture.service.database, 'oauth_clients', [approve, approve, approve])
  await client.post(path, approval)
  assert.equal((await written(fixture, 'connection.approved')).length, 1)
})

it('audits each rename without the name', async test => {
  const fixture = await startOauthFixture(test)
  await connectAgent(fixture)
  const { client } = fixture.workspace.owner
  const path = await pathOf(fixture)
  const rename = async (name: string) =>
    (await client.call('PATCH', path, { body: { name } })).status
  assert.equal(await rename('Jane Doe'), 204)
  assert.equal(await rename('Reports'), 204)
  // Unchanged, invalid and foreign values change nothing.
  assert.equal(await rename('Reports'), 204)
  assert.equal(await rename(' '), 422)
  await refusedOthers(fixture, 'PATCH', { name: 'Mine' })
  const entries = await written(fixture, 'connection.renamed')
  const subject = { type: 'connection', id: await connectionId(fixture) }
  const entry = { at: AT, actor: owner(fixture), subject, details: {} }
  assert.partialDeepStrictEqual(entries, [entry, entry])
  assert.equal(entries.length, 2)
  assert.doesNotMatch(JSON.stringify(entries), /Jane|Reports/)
})

it('audits a changed ad account with the previous one, and the next approval', async test => {
  const fixture = await startOauthFixture(test)
  const { agent } = await connectAgent(fixture)
  const { adAccountId: before, workspaceId, owner: user } = fixture.workspace
  const adAccountId = await addAdAccount(fixture.service, workspaceId, 'Shop US')
  const api = await pathOf(fixture)
  const move = (body: object) => user.client.call('PATCH', api, { body })
  const { adAccountId: foreign } = await createTestWorkspace(fixture.service)
  assert.equal((await move({ ad_account_id: foreign })).status, 422)
  assert.equal((await move({ ad_account_id: before })).status, 204)
  await refusedOthers(fixture, 'PATCH', { ad_account_id: adAccountId })
  const again = () => move({ ad_account_id: adAccountId })
  const responses = await runSimultaneously(fixture.service.database, 'agent_connections', [
    again,
    again,
    again,
  ])
  assert.deepEqual(responses.map(({ status }) => status).sort(), [204, 422, 422])
  await approve({ ...fixture.workspace, adAccountId }, await agent.authorizationUrl())
  const subject = { type: 'connection', id: await connectionId(fixture) }
  const entries = await written(fixture)
  assert.partialDeepStrictEqual(
    entries.map(({ sequence, at, ...entry }) => entry),
    [
      { action: 'connection.approved', subject, details: { ad_account_id: before } },
      {
        action: 'connection.account_changed',
        actor: owner(fixture),
        subject,
        details: { ad_account_id_before: before, ad_account_id: adAccountId },
      },
      { action: 'connection.approved', subject, details: { ad_account_id: adAccountId } },
    ],
  )
  assert.equal(entries.length, 3)
})

it('audits concurrent revocations by owners once', async test => {
  const fixture = await startOauthFixture(test)
  await connectAgent(fixture)
  const api = await pathOf(fixture)
  const { client } = fixture.workspace.owner
  await refusedOthers(fixture, 'DELETE')
  assert.deepEqual(await written(fixture, 'connection.revoked'), [])
  const revoke = () => client.call('DELETE', api)
  await runSimultaneously(fixture.service.database, 'agent_connections', [revoke, revoke, revoke])
  assert.equal((await revoke()).status, 404)
  const entries = await written(fixture, 'connection.revoked')
  const subject = { type: 'connection', id: await connectionId(fixture) }
  assert.partialDeepStrictEqual(entries, [
    { at: AT, actor: owner(fixture), subject, details: { reason: 'owner' } },
  ])
  assert.equal(entries.length, 1)
})

it('audits the agent as the actor when it revokes its own connection', async test => {
  const fixture = await startOauthFixture(test)
  const mine = await connectAgent(fixture)
  const id = await connectionId(fixture)
  const another = await connectAgent(fixture)
  const revoke = ({ agent }: typeof mine) => {
    const form = { token: mine.accessToken, client_id: agent.client.client_id }
    return fixture.send('/oauth2/revoke', { form })
  }
  await revoke(another)
  assert.deepEqual(await written(fixture, 'connection.revoked'), [])
  const revokeMine = () => revoke(mine)
  await runSimultaneously(fixture.service.database, 'agent_connections', [revokeMine, revokeMine])
  await revoke(mine)
  const entries = await written(fixture, 'connection.revoked')
  const itself = { type: 'connection', id }
  assert.partialDeepStrictEqual(entries, [
    { at: AT, actor: itself, subject: itself, details: { reason: 'own_request' } },
  ])
  assert.equal(entries.length, 1)
})

it('audits a reused refresh token and a reused code as system entries', async test => {
  const fixture = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(fixture)
  const id = await connectionId(fixture)
  const refresh = () => requestToken(fixture, agent, refreshForm(refreshToken))
  await refresh()
  fixture.advance(11)
  await Promise.all([1, 2, 3, 4].map(refresh))
  await refresh()
  const entry = (connection: string) => ({
    actor: { type: 'system', id: null },
    subject: { type: 'connection', id: connection },
    details: { reason: 'used_twice' },
  })
  const entries = await written(fixture, 'connection.revoked')
  assert.partialDeepStrictEqual(entries, [entry(id)])
  assert.equal(entries.length, 1)

  const other = await createOauthAgent(fixture)
  const callback = await approve(fixture.workspace, await other.authorizationUrl())
  const code = callback.searchParams.get('code')
  await requestToken(fixture, other, { code })
  await requestToken(fixture, other, { code })
  await requestToken(fixture, other, { code })
  const all = await written(fixture, 'connection.revoked')
  assert.partialDeepStrictEqual(all, [entry(id), entry(await connectionId(fixture))])
  assert.equal(all.length, 2)
})

it('audits nothing that is rolled back', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken, agent } = await connectAgent(fixture)
  const { client } = fixture.workspace.owner
  const second = await addAdAccount(fixture.service, fixture.workspace.workspaceId, 'Shop US')
  const api = await pathOf(fixture)
  await failCommits(fixture.service.database, 'agent_connections')
  assert.equal((await client.call('DELETE', api)).status, 500)
  for (const body of [{ name: 'Another' }, { ad_account_id: second }]) {
    assert.equal((await client.call('PATCH', api, { body })).status, 500)
  }
  await openApproval(client, await agent.authorizationUrl())
  const approval = { ad_account_id: String(second), decision: 'approve' }
  assert.equal((await client.submit({ fields: approval })).status, 500)
  const form = { token: accessToken, client_id: agent.client.client_id }
  assert.equal((await fixture.send('/oauth2/revoke', { form })).status, 500)
  assert.equal((await written(fixture)).length, 1)
})

it('rolls back what cannot be audited', async test => {
  const fixture = await startOauthFixture(test)
  const { accessToken, agent } = await connectAgent(fixture)
  const { client } = fixture.workspace.owner
  const second = await addAdAccount(fixture.service, fixture.workspace.workspaceId, 'Shop US')
  const api = await pathOf(fixture)
  const before = await connections(fixture)
  await blockAuditWrites(fixture.service.database)
  assert.equal((await client.call('DELETE', api)).status, 500)
  for (const body of [{ name: 'Another' }, { ad_account_id: second }]) {
    assert.equal((await client.call('PATCH', api, { body })).status, 500)
  }
  await openApproval(client, await agent.authorizationUrl())
  const approval = { ad_account_id: String(second), decision: 'approve' }
  assert.equal((await client.submit({ fields: approval })).status, 500)
  assert.deepEqual(await connections(fixture), before)
  assert.equal((await checkTokenAccess(fixture, accessToken)).mcp, OPEN)
  assert.equal((await written(fixture)).length, 1)
})

function written({ service, workspace }: OauthFixture, action?: AuditAction) {
  return readAuditEntries(service.database, workspace.workspaceId, action)
}

function owner({ workspace }: OauthFixture) {
  return { type: 'person', id: String(workspace.owner.userId) }
}

async function connections({ service }: OauthFixture) {
  const { rows } = await service.database.pool.query(
    'select id, name, ad_account_id, grant_id, revoked_at from agent_connections',
  )
  return rows
}

/** The ID of the newest connection. */
async function connectionId({ service }: OauthFixture): Promise<string> {
  const { rows } = await service.database.pool.query('select max(id) as id from agent_connections')
  return String(rows[0].id)
}

async function pathOf(fixture: OauthFixture): Promise<string> {
  const { workspaceId } = fixture.workspace
  return `/browser/workspaces/${workspaceId}/connections/${await connectionId(fixture)}`
}

/** An admin, an owner of another workspace and an anonymous visitor try the same. */
async function refusedOthers(fixture: OauthFixture, method: string, body?: object) {
  const { workspaceId } = fixture.workspace
  const admin = await createTestUser(fixture.service)
  await addMember(fixture.service, { workspaceId, userId: admin.userId, role: 'admin' })
  const { owner: stranger } = await createTestWorkspace(fixture.service)
  const api = await pathOf(fixture)
  for (const [user, status] of [
    [admin, 403],
    [stranger, 404],
  ] as const) {
    assert.equal((await user.client.call(method, api, { body })).status, status)
  }
  const headers = { origin: fixture.service.url, 'sec-fetch-site': 'same-origin' }
  const anonymous = await fixture.send(api, { method, headers, ...(body && { json: body }) })
  assert.equal(anonymous.status, 401)
}

function refreshForm(refreshToken: string) {
  return {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    redirect_uri: null,
    code_verifier: null,
  }
}
