import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runSimultaneously } from '../../../testing/concurrency/lock-barrier.ts'
import { blockAuditWrites, failCommits, readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  checkTokenAccess,
  type OauthFixture,
  startOauthFixture,
} from '../../../testing/fixtures/oauth.ts'
import { addMember, createTestUser, createTestWorkspace } from '../../../testing/fixtures/users.ts'

const OPEN = 200
const AT = '2026-11-21T12:00:00.000Z'

it('audits an issued token with its tier and expiry, never the token', async test => {
  const fixture = await startOauthFixture(test)
  const { client, userId } = fixture.workspace.owner
  const api = pathOf(fixture)
  const { adAccountId } = fixture.workspace
  const input = { name: 'Jane Doe', tier: 'write', days: 30, ad_account_id: adAccountId }
  const { status, body } = await client.call('POST', api, { body: input })
  assert.equal(status, 201)
  await client.call('POST', api, { body: { ...input, tier: 'read', days: 90 } })
  // Rejected: invalid input and missing permissions.
  assert.equal((await client.call('POST', api, { body: { ...input, days: 31 } })).status, 422)
  await refusedOthers(fixture, { method: 'POST', path: api, body: input })
  const entries = await readAuditEntries(fixture.service.database, fixture.workspace.workspaceId)
  const entry = (id: number, tier: string, expiresAt: string) => ({
    at: AT,
    actor: { type: 'person', id: String(userId) },
    action: 'execution_token.issued',
    subject: { type: 'execution_token', id: String(id) },
    details: { ad_account_id: adAccountId, tier, issued_by: userId, expires_at: expiresAt },
  })
  assert.partialDeepStrictEqual(entries, [
    entry(body.id, 'write', '2026-12-21T12:00:00.000Z'),
    entry(body.id + 1, 'read', '2027-02-19T12:00:00.000Z'),
  ])
  assert.equal(entries.length, 2)
  assert.doesNotMatch(JSON.stringify(entries), /sbx_|Jane/)
})

it('audits concurrent revocations of a token once', async test => {
  const fixture = await startOauthFixture(test)
  const { workspaceId, adAccountId, owner } = fixture.workspace
  const api = pathOf(fixture)
  const input = { name: 'CI', tier: 'write', days: 30, ad_account_id: adAccountId }
  const { id } = (await owner.client.call('POST', api, { body: input })).body
  await refusedOthers(fixture, { method: 'DELETE', path: `${api}/${id}` })
  const { database } = fixture.service
  assert.deepEqual(await readAuditEntries(database, workspaceId, 'execution_token.revoked'), [])
  const revoke = () => owner.client.call('DELETE', `${api}/${id}`)
  const revocations = await runSimultaneously(database, 'execution_tokens', [
    revoke,
    revoke,
    revoke,
  ])
  assert.deepEqual(revocations.map(({ status }) => status).sort(), [204, 404, 404])
  const entries = await readAuditEntries(database, workspaceId, 'execution_token.revoked')
  assert.partialDeepStrictEqual(entries, [
    {
      at: AT,
      actor: { type: 'person', id: String(owner.userId) },
      subject: { type: 'execution_token', id: String(id) },
    },
  ])
  assert.equal(entries.length, 1)
})

it('audits no rolled-back issue or revocation', async test => {
  const fixture = await startOauthFixture(test)
  const { workspaceId, adAccountId, owner } = fixture.workspace
  const { database } = fixture.service
  const api = pathOf(fixture)
  const input = { name: 'CI', tier: 'write', days: 30, ad_account_id: adAccountId }
  const { id } = (await owner.client.call('POST', api, { body: input })).body
  await failCommits(database, 'execution_tokens')
  assert.equal((await owner.client.call('POST', api, { body: input })).status, 500)
  assert.equal((await owner.client.call('DELETE', `${api}/${id}`)).status, 500)
  assert.equal((await readAuditEntries(database, workspaceId)).length, 1)
})

it('neither issues nor revokes a token when the audit fails', async test => {
  const fixture = await startOauthFixture(test)
  const { adAccountId, owner } = fixture.workspace
  const api = pathOf(fixture)
  const input = { name: 'CI', tier: 'write', days: 30, ad_account_id: adAccountId }
  const { id, token } = (await owner.client.call('POST', api, { body: input })).body
  await blockAuditWrites(fixture.service.database)
  assert.equal((await owner.client.call('POST', api, { body: input })).status, 500)
  assert.equal((await owner.client.call('DELETE', `${api}/${id}`)).status, 500)
  const { rows } = await fixture.service.database.pool.query('select id from execution_tokens')
  assert.deepEqual(rows, [{ id }])
  assert.equal((await checkTokenAccess(fixture, token)).mcp, OPEN)
})

function pathOf({ workspace }: OauthFixture): string {
  return `/browser/workspaces/${workspace.workspaceId}/execution-tokens`
}

interface Attempt {
  method: string
  path: string
  body?: object
}

/** An admin, and an owner of another workspace, try the same. */
async function refusedOthers(fixture: OauthFixture, { method, path, body }: Attempt) {
  const { workspaceId } = fixture.workspace
  const admin = await createTestUser(fixture.service)
  await addMember(fixture.service, { workspaceId, userId: admin.userId, role: 'admin' })
  const { owner: stranger } = await createTestWorkspace(fixture.service)
  for (const [user, status] of [
    [admin, 403],
    [stranger, 404],
  ] as const) {
    assert.equal((await user.client.call(method, path, { body })).status, status)
  }
}
