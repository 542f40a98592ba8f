import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runSimultaneously } from '../../testing/concurrency/lock-barrier.ts'
import { blockAuditWrites, failCommits, readAuditEntries } from '../../testing/fixtures/audit.ts'
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
} from '../../testing/fixtures/oauth.ts'
import {
  addAdAccount,
  addMember,
  createTestPerson,
  createTestWorkspace,
} from '../../testing/fixtures/people.ts'
import type { AuditAction } from '../audit/audit-entry.ts'

const OPEN = 200
const AT = '2026-11-21T12:00:00.000Z'

it('audits an approval with person, connection and ad account', async test => {
  const under = await startOauthFixture(test)
  const { agent } = await connectAgent(under)
  const subject = { type: 'connection', id: await connectionId(under) }
  assert.partialDeepStrictEqual(await written(under), [
    {
      ...{ sequence: 1, at: AT, actor: owner(under), action: 'connection.approved', subject },
      details: {
        client_id: agent.client.client_id,
        ad_account_id: under.workspace.adAccountId,
        audience: 'mcp',
        permissions: ['ad-account.read', 'actions.propose'],
      },
    },
  ])
})

it('audits concurrent submissions of one approval once, and no denial', async test => {
  const under = await startOauthFixture(test)
  const { client } = under.workspace.owner
  const agent = await createOauthAgent(under)
  await openApproval(client, await agent.authorizationUrl())
  await submitDecision(client, { decision: 'refuse' })
  assert.deepEqual(await written(under), [])
  const { path } = await openApproval(client, await agent.authorizationUrl())
  const approval = { ad_account_id: String(under.workspace.adAccountId), decision: 'approve' }
  const approve = () => client.post(path, approval)
  await runSimultaneously(under.service.database, 'oauth_clients', [approve, approve, approve])
  await client.post(path, approval)
  assert.equal((await written(under, 'connection.approved')).length, 1)
})

it('audits a rename without the name, on the page and in the API', async test => {
  const under = await startOauthFixture(test)
  await connectAgent(under)
  const { client } = under.workspace.owner
  const paths = await pathsOf(under)
  assert.equal((await client.post(`${paths.page}/rename`, { name: 'Jane Doe' })).status, 200)
  assert.equal((await client.call('PATCH', paths.api, { body: { name: 'Reports' } })).status, 204)
  // Unchanged, invalid and foreign values change nothing.
  assert.equal((await client.call('PATCH', paths.api, { body: { name: 'Reports' } })).status, 204)
  assert.equal((await client.call('PATCH', paths.api, { body: { name: ' ' } })).status, 422)
  await refusedOthers(under, 'PATCH', { name: 'Mine' })
  const entries = await written(under, 'connection.renamed')
  const subject = { type: 'connection', id: await connectionId(under) }
  const entry = { at: AT, actor: owner(under), subject, details: {} }
  assert.partialDeepStrictEqual(entries, [entry, entry])
  assert.equal(entries.length, 2)
  assert.doesNotMatch(JSON.stringify(entries), /Jane|Reports/)
})

it('audits a changed ad account with the previous one, and the next approval', async test => {
  const under = await startOauthFixture(test)
  const { agent } = await connectAgent(under)
  const { adAccountId: before, workspaceId, owner: person } = under.workspace
  const adAccountId = await addAdAccount(under.service, workspaceId, 'Shop US')
  const { api } = await pathsOf(under)
  const move = (body: object) => person.client.call('PATCH', api, { body })
  const { adAccountId: foreign } = await createTestWorkspace(under.service)
  assert.equal((await move({ ad_account_id: foreign })).status, 422)
  assert.equal((await move({ ad_account_id: before })).status, 204)
  await refusedOthers(under, 'PATCH', { ad_account_id: adAccountId })
  const again = () => move({ ad_account_id: adAccountId })
  const responses = await runSimultaneously(under.service.database, 'agent_connections', [
    again,
    again,
    again,
  ])
  assert.deepEqual(responses.map(({ status }) => status).sort(), [204, 422, 422])
  await approve({ ...under.workspace, adAccountId }, await agent.authorizationUrl())
  const subject = { type: 'connection', id: await connectionId(under) }
  const entries = await written(under)
  assert.partialDeepStrictEqual(
    entries.map(({ sequence, at, ...entry }) => entry),
    [
      { action: 'connection.approved', subject, details: { ad_account_id: before } },
      {
        ...{ action: 'connection.account_changed', actor: owner(under), subject },
        details: { ad_account_id_before: before, ad_account_id: adAccountId },
      },
      { action: 'connection.approved', subject, details: { ad_account_id: adAccountId } },
    ],
  )
  assert.equal(entries.length, 3)
})

it('audits concurrent revocations by owners once', async test => {
  const under = await startOauthFixture(test)
  await connectAgent(under)
  const { api, page } = await pathsOf(under)
  const { client } = under.workspace.owner
  await refusedOthers(under, 'DELETE')
  assert.deepEqual(await written(under, 'connection.revoked'), [])
  const revoke = () => client.call('DELETE', api)
  await runSimultaneously(under.service.database, 'agent_connections', [revoke, revoke, revoke])
  assert.equal((await client.post(`${page}/revoke`)).status, 404)
  const entries = await written(under, 'connection.revoked')
  const subject = { type: 'connection', id: await connectionId(under) }
  assert.partialDeepStrictEqual(entries, [
    { at: AT, actor: owner(under), subject, details: { reason: 'owner' } },
  ])
  assert.equal(entries.length, 1)
})

it('audits the agent as the actor when it revokes its own connection', async test => {
  const under = await startOauthFixture(test)
  const mine = await connectAgent(under)
  const id = await connectionId(under)
  const another = await connectAgent(under)
  const revoke = ({ agent }: typeof mine) => {
    const form = { token: mine.accessToken, client_id: agent.client.client_id }
    return under.send('/oauth2/revoke', { form })
  }
  await revoke(another)
  assert.deepEqual(await written(under, 'connection.revoked'), [])
  const revokeMine = () => revoke(mine)
  await runSimultaneously(under.service.database, 'agent_connections', [revokeMine, revokeMine])
  await revoke(mine)
  const entries = await written(under, 'connection.revoked')
  const itself = { type: 'connection', id }
  assert.partialDeepStrictEqual(entries, [
    { at: AT, actor: itself, subject: itself, details: { reason: 'own_request' } },
  ])
  assert.equal(entries.length, 1)
})

it('audits a reused refresh token and a reused code as system entries', async test => {
  const under = await startOauthFixture(test)
  const { agent, refreshToken } = await connectAgent(under)
  const id = await connectionId(under)
  const refresh = () => requestToken(under, agent, refreshForm(refreshToken))
  await Promise.all([1, 2, 3, 4].map(refresh))
  await refresh()
  const entry = (connection: string) => ({
    actor: { type: 'system', id: null },
    subject: { type: 'connection', id: connection },
    details: { reason: 'used_twice' },
  })
  const entries = await written(under, 'connection.revoked')
  assert.partialDeepStrictEqual(entries, [entry(id)])
  assert.equal(entries.length, 1)

  const other = await createOauthAgent(under)
  const callback = await approve(under.workspace, await other.authorizationUrl())
  const code = callback.searchParams.get('code')
  await requestToken(under, other, { code })
  await requestToken(under, other, { code })
  await requestToken(under, other, { code })
  const all = await written(under, 'connection.revoked')
  assert.partialDeepStrictEqual(all, [entry(id), entry(await connectionId(under))])
  assert.equal(all.length, 2)
})

it('audits nothing that is rolled back', async test => {
  const under = await startOauthFixture(test)
  const { accessToken, agent } = await connectAgent(under)
  const { client } = under.workspace.owner
  const second = await addAdAccount(under.service, under.workspace.workspaceId, 'Shop US')
  const { api } = await pathsOf(under)
  await failCommits(under.service.database, 'agent_connections')
  assert.equal((await client.call('DELETE', api)).status, 500)
  for (const body of [{ name: 'Another' }, { ad_account_id: second }]) {
    assert.equal((await client.call('PATCH', api, { body })).status, 500)
  }
  await openApproval(client, await agent.authorizationUrl())
  const approval = { ad_account_id: String(second), decision: 'approve' }
  assert.equal((await client.submit({ fields: approval })).status, 500)
  const form = { token: accessToken, client_id: agent.client.client_id }
  assert.equal((await under.send('/oauth2/revoke', { form })).status, 500)
  assert.equal((await written(under)).length, 1)
})

it('rolls back what cannot be audited', async test => {
  const under = await startOauthFixture(test)
  const { accessToken, agent } = await connectAgent(under)
  const { client } = under.workspace.owner
  const second = await addAdAccount(under.service, under.workspace.workspaceId, 'Shop US')
  const { api } = await pathsOf(under)
  const before = await connections(under)
  await blockAuditWrites(under.service.database)
  assert.equal((await client.call('DELETE', api)).status, 500)
  for (const body of [{ name: 'Another' }, { ad_account_id: second }]) {
    assert.equal((await client.call('PATCH', api, { body })).status, 500)
  }
  await openApproval(client, await agent.authorizationUrl())
  const approval = { ad_account_id: String(second), decision: 'approve' }
  assert.equal((await client.submit({ fields: approval })).status, 500)
  assert.deepEqual(await connections(under), before)
  assert.equal((await checkTokenAccess(under, accessToken)).mcp, OPEN)
  assert.equal((await written(under)).length, 1)
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

async function pathsOf(under: OauthFixture) {
  const path = `workspaces/${under.workspace.workspaceId}/connections/${await connectionId(under)}`
  return { page: `/${path}`, api: `/browser/${path}` }
}

/** An admin, an owner of another workspace and an anonymous visitor try the same. */
async function refusedOthers(under: OauthFixture, method: string, body?: object) {
  const { workspaceId } = under.workspace
  const admin = await createTestPerson(under.service)
  await addMember(under.service, { workspaceId, userId: admin.userId, role: 'admin' })
  const { owner: stranger } = await createTestWorkspace(under.service)
  const { api } = await pathsOf(under)
  for (const [person, status] of [
    [admin, 403],
    [stranger, 404],
  ] as const) {
    assert.equal((await person.client.call(method, api, { body })).status, status)
  }
  const headers = { origin: under.service.url, 'sec-fetch-site': 'same-origin' }
  const anonymous = await under.send(api, { method, headers, ...(body && { json: body }) })
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
