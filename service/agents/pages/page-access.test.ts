import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type AgentActionsFixture,
  buildBudgetProposal,
  startAgentActionsFixture,
} from '../../../testing/fixtures/agent-actions.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'

const PAGES = ['approvals', 'approvals/1', 'policy', 'audit', 'audit/export']
const FORMS = ['approvals/1', 'policy', 'audit/verify']

async function withProposal(fixture: AgentActionsFixture): Promise<string> {
  const body = buildBudgetProposal(fixture.entityId(1))
  assert.equal((await fixture.request('POST', '/actions', { body })).status, 201)
  return `/workspaces/${fixture.workspace.workspaceId}`
}

it('redirects to sign-in and back to the page', async test => {
  const fixture = await startAgentActionsFixture(test)
  const base = await withProposal(fixture)
  const { url } = fixture.service
  const own = { origin: url, 'sec-fetch-site': 'same-origin' }
  for (const page of PAGES) {
    const response = await fetch(`${url}${base}/${page}`, { redirect: 'manual' })
    assert.equal(response.status, 303, page)
    const back = encodeURIComponent(`${base}/${page}`)
    assert.equal(response.headers.get('location'), `/sign-in?return_to=${back}`)
  }
  for (const form of FORMS) {
    const order = { method: 'POST', redirect: 'manual', headers: own } as const
    const response = await fetch(`${url}${base}/${form}`, { ...order, body: fieldsOfAll() })
    assert.equal(response.status, 303, form)
    assert.match(response.headers.get('location') ?? '', /^\/sign-in\?return_to=/)
  }
  assert.equal(await pendingCount(fixture), 1)
  const client = new PageClient(url)
  client.cookies.set('session', 'made-up')
  assert.match((await client.get(`${base}/policy`)).path, /^\/sign-in/)
})

it('rejects execution tokens', async test => {
  const fixture = await startAgentActionsFixture(test)
  const base = await withProposal(fixture)
  const headers = { authorization: `Bearer ${fixture.token}` }
  for (const page of PAGES) {
    const order = { redirect: 'manual', headers } as const
    assert.equal((await fetch(`${fixture.service.url}${base}/${page}`, order)).status, 303, page)
  }
})

it('returns 404 for another workspace and its proposals', async test => {
  const fixture = await startAgentActionsFixture(test)
  const base = await withProposal(fixture)
  const { owner: stranger, workspaceId } = await createTestWorkspace(fixture.service)
  for (const page of PAGES) {
    const { status, text } = await stranger.client.get(`${base}/${page}`)
    assert.equal(status, 404, page)
    assert.doesNotMatch(text, /Budget robot|Autumn|proposal\./)
  }
  for (const form of FORMS) {
    const fields = Object.fromEntries(fieldsOfAll())
    assert.equal((await stranger.client.post(`${base}/${form}`, fields)).status, 404, form)
  }
  const elsewhere = `/workspaces/${workspaceId}/approvals/1`
  assert.equal((await stranger.client.get(elsewhere)).status, 404)
  const fields = Object.fromEntries(fieldsOfAll())
  assert.equal((await stranger.client.post(elsewhere, fields)).status, 404)
  for (const id of ['0', '-1', 'x', '1e3', '99999999999999', '%2e%2e', "1'--"]) {
    assert.equal(
      (await stranger.client.get(`/workspaces/${workspaceId}/approvals/${id}`)).status,
      404,
    )
    assert.equal((await stranger.client.get(`/workspaces/${id}/audit`)).status, 404, id)
  }
  assert.equal(await pendingCount(fixture), 1)
})

it('returns 403 for cross-site form submissions', async test => {
  const fixture = await startAgentActionsFixture(test)
  const base = await withProposal(fixture)
  const { client } = fixture.workspace.owner
  const cookie = client.cookieHeader
  const evil = 'https://evil.example'
  for (const headers of [
    { origin: evil, 'sec-fetch-site': 'cross-site' },
    { origin: evil },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    {},
  ]) {
    for (const form of FORMS) {
      const order = { method: 'POST', redirect: 'manual', body: fieldsOfAll() } as const
      const sent = { ...order, headers: { cookie, ...headers } as Record<string, string> }
      const response = await fetch(`${fixture.service.url}${base}/${form}`, sent)
      assert.equal(response.status, 403, `${form} ${JSON.stringify(headers)}`)
    }
  }
  assert.equal(await pendingCount(fixture), 1)
})

it('returns 415 for anything but a form', async test => {
  const fixture = await startAgentActionsFixture(test)
  const base = await withProposal(fixture)
  const { client } = fixture.workspace.owner
  const body = { decision: 'approve', reason: 'x', action_ids: [1] }
  assert.equal((await client.call('POST', `${base}/approvals/1`, { body })).status, 415)
})

it('sends security headers and no-store on every page', async test => {
  const fixture = await startAgentActionsFixture(test)
  const base = await withProposal(fixture)
  for (const page of [...PAGES, 'approvals/999', 'audit?action=x']) {
    const { headers, text } = await fixture.workspace.owner.client.get(`${base}/${page}`)
    // Only the approvals have a script: their shortcuts.
    const hasScript = /^approvals(\/1)?$/.test(page)
    const policy = hasScript
      ? /^default-src 'none'; script-src 'self'; style-src 'self';/
      : /^default-src 'none'; style-src 'self';/
    assert.match(headers.get('content-security-policy') ?? '', policy, page)
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    const scripts = text.match(/<script[^>]*>/g) ?? []
    assert.equal(scripts.length, hasScript ? 1 : 0, page)
    for (const script of scripts) assert.match(script, /^<script type="module" src="\/assets\//)
    assert.doesNotMatch(text, /<style| style="| on[a-z]+="/)
  }
})

it('requires a person with an initial password to change it first', async test => {
  const fixture = await startAgentActionsFixture(test)
  const base = await withProposal(fixture)
  const { owner } = fixture.workspace
  await fixture.service.database.pool.query(
    'update people.users set must_change_password = true where id = $1',
    [owner.userId],
  )
  assert.equal((await owner.client.get(`${base}/approvals`)).path, '/account/password')
})

function fieldsOfAll(): URLSearchParams {
  return new URLSearchParams({ decision: 'approve', reason: 'x', action_ids: '1', version: '0' })
}

async function pendingCount({ service }: AgentActionsFixture): Promise<number> {
  const { rows } = await service.database.pool.query(
    `select count(*)::integer as count from agent_actions where status = 'pending'`,
  )
  return rows[0].count
}
