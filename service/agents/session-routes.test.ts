import assert from 'node:assert/strict'
import { it } from 'node:test'
import { BROWSER_ACTION_OPERATIONS } from '@signalbox/contract/session/action-operations.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import {
  type AgentActionsFixture,
  buildBudgetProposal,
  createAgentActionsFixture,
  startAgentActionsFixture,
} from '../../testing/fixtures/agent-actions.ts'
import type { PageClient } from '../../testing/fixtures/page-client.ts'
import { addMember, createTestUser } from '../../testing/fixtures/users.ts'

it('lists, approves and executes a proposal, and returns its result', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { call } = pagesOf(fixture)
  await changeMode(fixture, 'ask')
  const proposed = await fixture.request('POST', '/actions', {
    body: buildBudgetProposal(fixture.entityId(1)),
  })
  const { id } = proposed.body.proposal
  const queue = await call('GET', '/approvals')
  assert.deepEqual(
    queue.body.batches.map((batch: { id: number; may_decide: boolean }) => [
      batch.id,
      batch.may_decide,
    ]),
    [[id, true]],
  )
  const decision = { decision: 'approve', reason: 'It sells.' }
  const decided = await call('POST', `/approvals/${id}/decision`, decision)
  assert.equal(decided.status, 200)
  const [action] = decided.body.batch.actions
  assert.equal(action.status, 'verified')
  assert.equal(action.decision_reason, 'It sells.')
  assert.equal(action.after.daily_budget_minor, 13_500)
  assert.deepEqual((await call('GET', '/approvals')).body.batches, [])
  const one = await call('GET', `/approvals/${id}`)
  assert.equal(one.body.batch.may_decide, false)
  const listed = await call('GET', '/actions?status=verified')
  assert.deepEqual(listed.body.actions, [action])
  const receipt = await call('GET', `/actions/${action.id}/receipt`)
  assert.equal(receipt.body.document.decision.decided_by, fixture.workspace.owner.userId)
})

it('reads the audit log in pages, verifies it and exports it', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { call } = pagesOf(fixture)
  await fixture.request('POST', '/actions', { body: buildBudgetProposal(fixture.entityId(1)) })
  const sequences: number[] = []
  let before: number | null = null
  do {
    const page = await call('GET', `/audit?limit=2${before === null ? '' : `&before=${before}`}`)
    assert.equal(page.status, 200)
    sequences.push(...page.body.entries.map(({ sequence }: { sequence: number }) => sequence))
    before = page.body.next_before
  } while (before !== null)
  assert.deepEqual(sequences, [3, 2, 1])
  const of = async (query: string) =>
    (await call('GET', `/audit?${query}`)).body.entries.map(
      ({ action }: { action: string }) => action,
    )
  assert.deepEqual(await of('action=proposal.submitted'), ['proposal.submitted'])
  assert.deepEqual(await of('subject_type=action&subject_id=1'), ['action.approval_required'])
  const verified = await call('POST', '/audit/verification')
  assert.equal(verified.body.is_intact, true)
  assert.equal(verified.body.entries, 3)
  const exported = await call('GET', '/audit/export')
  assert.match(exported.headers.get('content-type') ?? '', /^application\/x-ndjson/)
  assert.match(exported.headers.get('content-disposition') ?? '', /^attachment; filename="audit-/)
  const lines = exported.body.trimEnd().split('\n').map(JSON.parse)
  assert.deepEqual(
    lines.slice(0, 3).map(({ sequence }: { sequence: number }) => sequence),
    [1, 2, 3],
  )
})

it('returns 403 for cross-site requests', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { client } = fixture.workspace.owner
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  for (const { method, url } of BROWSER_ACTION_OPERATIONS) {
    const path = url.replace(':workspace', String(fixture.workspace.workspaceId))
    const asked = SESSION_API_PATH + path.replaceAll(/:\w+/g, '1')
    assert.equal((await client.call(method, asked, { headers })).status, 403, url)
  }
})

it('returns 404 for proposals and actions of another workspace', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { body } = await fixture.request('POST', '/actions', { body: buildBudgetProposal('999') })
  const { id, actions } = body.proposal
  const stranger = await createAgentActionsFixture(fixture.service)
  for (const [place, status] of [
    [fixture, 200],
    [stranger, 404],
  ] as const) {
    const { call } = pagesOf(place)
    assert.equal((await call('GET', `/approvals/${id}`)).status, status)
    assert.equal((await call('GET', `/actions/${actions[0].id}/receipt`)).status, status)
  }
})

it('returns 409 to the second of two concurrent decisions, and executes once', async test => {
  const fixture = await startAgentActionsFixture(test)
  await changeMode(fixture, 'ask')
  const { body } = await fixture.request('POST', '/actions', {
    body: buildBudgetProposal(fixture.entityId(1)),
  })
  const path = `/approvals/${body.proposal.id}/decision`
  const admins = await Promise.all([newAdmin(fixture), newAdmin(fixture), newAdmin(fixture)])
  const decision = { decision: 'approve', reason: 'Yes.' }
  const replies = await Promise.all(
    admins.map(client => pagesOf(fixture, client).call('POST', path, decision)),
  )
  assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 409, 409])
  const { rows } = await fixture.service.database.pool.query(
    'select version from ad_entities where id = $1',
    [fixture.entityId(1)],
  )
  assert.equal(rows[0].version, 2)
})

it('returns 409 to the second of two concurrent policy changes', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { call } = pagesOf(fixture)
  const { policy } = (await call('GET', '/policy')).body
  const { changed_at: _, ...submission } = policy
  const replies = await Promise.all(
    ['ask', 'auto_with_limits'].map(mode =>
      call('PUT', '/policy', { ...submission, execution_mode: mode }),
    ),
  )
  assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 409])
  assert.equal((await call('GET', '/policy')).body.policy.version, 1)
})

it('returns 422 naming every invalid field of a decision, a policy and a query', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { call } = pagesOf(fixture)
  const { body } = await fixture.request('POST', '/actions', {
    body: buildBudgetProposal(fixture.entityId(1)),
  })
  const path = `/approvals/${body.proposal.id}/decision`
  for (const [method, place, given, fields] of [
    ['POST', path, {}, ['decision', 'reason']],
    ['POST', path, { decision: 'maybe', reason: '', by: 1 }, ['by', 'decision', 'reason']],
    ['PUT', '/policy', {}, ['execution_mode', 'limits', 'version']],
    ['GET', '/approvals?page=x', undefined, ['page']],
    ['GET', '/actions?status=x&page=0', undefined, ['page', 'status']],
    [
      'GET',
      '/audit?before=x&action=x&subject_type=x&subject_id=%00&limit=0',
      undefined,
      ['action', 'before', 'limit', 'subject_id', 'subject_type'],
    ],
  ] as const) {
    const reply = await call(method, place, given)
    assert.equal(reply.status, 422, place)
    assert.deepEqual(Object.keys(reply.body.errors).toSorted(), fields, place)
  }
  const other = { decision: 'reject', reason: 'No.', action_ids: [999] }
  assert.deepEqual(Object.keys((await call('POST', path, other)).body.errors), ['action_ids.0'])
})

/** Calls the dashboard API of one workspace, by default as its owner. */
function pagesOf({ workspace }: AgentActionsFixture, client: PageClient = workspace.owner.client) {
  const base = `${SESSION_API_PATH}/workspaces/${workspace.workspaceId}`
  return {
    call: (method: string, path: string, body?: unknown) =>
      client.call(method, base + path, body === undefined ? {} : { body }),
  }
}

async function newAdmin({ service, workspace }: AgentActionsFixture): Promise<PageClient> {
  const { userId, client } = await createTestUser(service)
  await addMember(service, { workspaceId: workspace.workspaceId, userId, role: 'admin' })
  return client
}

async function changeMode(fixture: AgentActionsFixture, execution_mode: string): Promise<void> {
  const { call } = pagesOf(fixture)
  const { policy } = (await call('GET', '/policy')).body
  const { changed_at: _, ...submission } = policy
  const reply = await call('PUT', '/policy', { ...submission, execution_mode })
  assert.equal(reply.status, 200)
}
