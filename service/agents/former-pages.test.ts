import assert from 'node:assert/strict'
import { it } from 'node:test'
import { BROWSER_ACTION_OPERATIONS } from '@signalbox/contract/session/action-operations.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import {
  type AgentActionsFixture,
  startAgentActionsFixture,
  submitSingleActionProposal,
} from '../../testing/fixtures/agent-actions.ts'
import { addMember, createTestUser, createTestWorkspace } from '../../testing/fixtures/users.ts'

const MOVED: readonly (readonly [before: string, now: string])[] = [
  ['approvals', 'approvals'],
  ['approvals?view=decided', 'approvals?view=decided'],
  ['approvals/1', 'approvals/1'],
  ['policy', 'policy'],
  ['audit?subject_type=action&subject_id=1', 'audit?subject_type=action&subject_id=1'],
  ['audit/verify', 'audit'],
]

it('sends the addresses of earlier versions to the pages of the dashboard', async test => {
  const fixture = await startAgentActionsFixture(test)
  await submitSingleActionProposal(fixture)
  const { workspaceId, owner } = fixture.workspace
  for (const [before, now] of MOVED) {
    const page = await owner.client.get(`/workspaces/${workspaceId}/${before}`)
    assert.deepEqual([page.status, page.redirects], [200, [`/w/${workspaceId}/${now}`]], before)
    assert.match(page.headers.get('content-security-policy') ?? '', /trusted-types/)
    assert.equal(page.headers.get('cache-control'), 'no-store')
    assert.doesNotMatch(page.text, /Budget robot|Autumn/, 'the document has no data')
  }
  const file = await owner.client.get(`/workspaces/${workspaceId}/audit/export`)
  assert.equal(file.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
  assert.equal(file.headers.get('cache-control'), 'no-store')
  for (const id of ['..%2f..', '%2F%2Fevil.example', '%0d%0aset-cookie:x']) {
    const { redirects } = await owner.client.get(`/workspaces/${id}/approvals/${id}`)
    assert.match(redirects[0] ?? '', /^\/w\/[^/]*\/approvals\/[^/]*$/, id)
  }
})

it('asks who is not signed in to sign in, and leads back to the page', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { url } = fixture.service
  const { workspaceId } = fixture.workspace
  for (const path of ['approvals', 'approvals/1', 'policy', 'audit']) {
    const address = `/w/${workspaceId}/${path}`
    for (const headers of [{}, { authorization: `Bearer ${fixture.token}` }]) {
      const response = await fetch(url + address, { redirect: 'manual', headers })
      assert.equal(response.status, 303, path)
      const back = `/sign-in?return_to=${encodeURIComponent(address)}`
      assert.equal(response.headers.get('location'), back)
    }
  }
})

it('opens no operation without a session, to execution tokens and to other sites', async test => {
  const fixture = await startAgentActionsFixture(test)
  await submitSingleActionProposal(fixture)
  const { service, workspace, token } = fixture
  const { cookieHeader: cookie } = workspace.owner.client
  const evil = 'https://evil.example'
  for (const { method, url } of BROWSER_ACTION_OPERATIONS) {
    const send = async (headers: Record<string, string>) => {
      const own: Record<string, string> = { origin: service.url, 'sec-fetch-site': 'same-origin' }
      return (await fetch(addressOf(fixture, url), { method, headers: { ...own, ...headers } }))
        .status
    }
    assert.equal(await send({}), 401, url)
    assert.equal(await send({ authorization: `Bearer ${token}` }), 401, url)
    assert.equal(await send({ cookie: 'session=made-up' }), 401, url)
    assert.equal(await send({ cookie, 'sec-fetch-site': 'cross-site' }), 403, url)
    assert.equal(await send({ cookie, 'sec-fetch-site': 'same-site' }), 403, url)
    if (method !== 'GET') assert.equal(await send({ cookie, origin: evil }), 403, url)
  }
  assert.equal(await pendingCount(fixture), 1)
})

it('accepts no form, which another site could send', async test => {
  const fixture = await startAgentActionsFixture(test)
  await submitSingleActionProposal(fixture)
  const path = `${SESSION_API_PATH}/workspaces/${fixture.workspace.workspaceId}/approvals/1/decision`
  const fields = { decision: 'approve', reason: 'x' }
  assert.equal((await fixture.workspace.owner.client.post(path, fields)).status, 415)
  assert.equal(await pendingCount(fixture), 1)
})

it('returns 404 to strangers and for IDs that are none', async test => {
  const fixture = await startAgentActionsFixture(test)
  await submitSingleActionProposal(fixture)
  const { owner: stranger, workspaceId } = await createTestWorkspace(fixture.service)
  const base = `${SESSION_API_PATH}/workspaces`
  const own = `${base}/${fixture.workspace.workspaceId}`
  const places = [
    'approvals',
    'approval-count',
    'decided-actions',
    'approvals/1',
    'policy',
    'audit',
  ]
  for (const place of places) {
    assert.equal((await stranger.client.call('GET', `${own}/${place}`)).status, 404, place)
  }
  const ids = ['0', '-1', 'x', '1e3', '99999999999999', '%2e%2e', "1'--", '1']
  for (const id of ids) {
    const one = await stranger.client.call('GET', `${base}/${workspaceId}/approvals/${id}`)
    assert.equal(one.status, 404, id)
  }
  const page = await stranger.client.get(`/w/${fixture.workspace.workspaceId}/approvals/1`)
  assert.equal(page.status, 404)
})

it('lists decided actions in pages, with who decided, and counts those that wait', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { workspace, service } = fixture
  const base = `${SESSION_API_PATH}/workspaces/${workspace.workspaceId}`
  const read = async (path: string, client = workspace.owner.client) =>
    (await client.call('GET', `${base}/${path}`)).body
  assert.deepEqual(await read('decided-actions'), { actions: [], next_before: null })
  await submitSingleActionProposal(fixture)
  assert.deepEqual(await read('approval-count'), { pending: 1 })
  const body = { decision: 'reject', reason: 'Not now.' }
  await workspace.owner.client.call('POST', `${base}/approvals/1/decision`, { body })
  const { actions } = await read('decided-actions')
  const [{ action, currency, decided_by }] = actions
  assert.deepEqual([action.status, currency], ['rejected', 'EUR'])
  assert.equal(decided_by, workspace.owner.email)
  assert.deepEqual(await read('approval-count'), { pending: 0 })
  assert.deepEqual((await read('decided-actions?before=1')).actions, [])
  const invalid = await workspace.owner.client.call('GET', `${base}/decided-actions?before=x`)
  assert.equal(invalid.status, 422)
  const member = await createTestUser(service)
  const { workspaceId } = workspace
  await addMember(service, { workspaceId, userId: member.userId, role: 'member' })
  assert.equal((await read('decided-actions', member.client)).actions.length, 1)
})

it('requires a person with an initial password to change it first', async test => {
  const { service, workspace } = await startAgentActionsFixture(test)
  const { owner, workspaceId } = workspace
  const require = 'update people.users set must_change_password = true where id = $1'
  await service.database.pool.query(require, [owner.userId])
  assert.equal((await owner.client.get(`/w/${workspaceId}/approvals`)).path, '/account/password')
})

function addressOf({ service, workspace }: AgentActionsFixture, url: string): string {
  const path = url.replace(':workspace', String(workspace.workspaceId)).replaceAll(/:\w+/g, '1')
  return service.url + SESSION_API_PATH + path
}

async function pendingCount({ service }: AgentActionsFixture): Promise<number> {
  const { rows } = await service.database.pool.query(
    `select count(*)::integer as count from agent_actions where status = 'pending'`,
  )
  return rows[0].count
}
