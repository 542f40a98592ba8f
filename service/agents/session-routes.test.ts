import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AuditAction } from '@signalbox/contract/agents/audit-actions.ts'
import { BROWSER_ACTION_OPERATIONS } from '@signalbox/contract/session/action-operations.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import {
  type AgentActionsFixture,
  buildBudgetProposal,
  createAgentActionsFixture,
  startAgentActionsFixture,
} from '../../testing/fixtures/agent-actions.ts'
import { createTestAuditTrail } from '../../testing/fixtures/audit.ts'
import type { PageClient } from '../../testing/fixtures/page-client.ts'
import type { TestService } from '../../testing/fixtures/service.ts'
import { addMember, createTestUser } from '../../testing/fixtures/users.ts'
import type { AuditDetails, AuditSubject } from '../audit/audit-entry.ts'
import { HOUR_SECONDS } from '../runtime/util/time.ts'
import { DECIDED_PER_PAGE } from './approvals/approval-queue.ts'

const EXPIRED = 'The approval period has ended.'

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

it('shows changes of the policy for 72 hours, and then allows only rejection', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { call } = pagesOf(fixture)
  await fixture.request('POST', '/actions', { body: buildBudgetProposal(fixture.entityId(1)) })
  const read = async () => (await call('GET', '/approvals/1')).body
  assert.deepEqual((await read()).recent_changes, [])
  await changeMode(fixture, 'ask')
  const [change] = (await read()).recent_changes
  assert.deepEqual(
    [change.action, change.actor.name],
    ['policy.changed', fixture.workspace.owner.email],
  )
  fixture.service.clock.advance(72 * HOUR_SECONDS - 1)
  const before = await read()
  assert.deepEqual([before.recent_changes.length, before.batch.may_decide], [1, true])
  fixture.service.clock.advance(2)
  const { batch, recent_changes } = await read()
  assert.deepEqual([recent_changes, batch.may_decide, batch.may_not_reason], [[], false, EXPIRED])
})

it('stores a reason of 1,000 characters, of which a line break is one', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { call } = pagesOf(fixture)
  await fixture.request('POST', '/actions', { body: buildBudgetProposal(fixture.entityId(1)) })
  const reason = `${'x'.repeat(499)}\n${'👩'.repeat(500)}`
  const tooLong = { decision: 'reject', reason: `${reason}y` }
  assert.equal((await call('POST', '/approvals/1/decision', tooLong)).status, 422)
  const decided = await call('POST', '/approvals/1/decision', { decision: 'reject', reason })
  assert.equal(decided.body.batch.actions[0].decision_reason, reason)
})

it('pages decided actions by the last one, also those of the policy', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { call } = pagesOf(fixture)
  const count = DECIDED_PER_PAGE + 2
  for (let number = 1; number <= count; number += 1) {
    const body = buildBudgetProposal(fixture.entityId(1), { idempotency_key: `key-${number}` })
    assert.equal((await fixture.request('POST', '/actions', { body })).status, 201)
  }
  const { pool } = fixture.service.database
  await pool.query(`update agent_actions set status = 'rejected', outcome = 'expired'`)
  const first = (await call('GET', '/decided-actions')).body
  assert.deepEqual([first.actions.length, first.next_before], [DECIDED_PER_PAGE, 3])
  const [{ action, decided_by }] = first.actions
  assert.deepEqual([action.id, action.outcome, decided_by], [count, 'expired', null])
  const second = (await call('GET', '/decided-actions?before=3')).body
  assert.deepEqual([second.actions.length, second.next_before], [2, null])
})

it('names what the entries of the log are about, of a key its tracker', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { service, workspace } = fixture
  const { workspaceId, adAccountId, owner } = workspace
  const { trackerId } = service.tracker
  await fixture.request('POST', '/actions', { body: buildBudgetProposal(fixture.entityId(1)) })
  const setWorkspace = 'update trackers set workspace_id = $1 where id = $2'
  await service.database.pool.query(setWorkspace, [workspaceId, trackerId])
  const person = await createTestUser(service, { email: 'new.member@people.example' })
  const key = { tracker_id: trackerId, kind: 'tracker_secret', last_characters: 'd76f' }
  await appendEntries(service, workspaceId, [
    ['key.issued', { type: 'key', id: 'ab'.repeat(32) }, key],
    ['ad_account.disabled', { type: 'ad_account', id: String(adAccountId) }, {}],
    ['member.added', { type: 'member', id: String(person.userId) }, { role: 'member' }],
    ['member.removed', { type: 'member', id: '999999' }, {}],
  ])
  const { subject_names, entries } = (await pagesOf(fixture).call('GET', '/audit')).body
  const nameOf = (type: string) =>
    subject_names.find((subject: { type: string }) => subject.type === type)?.name
  assert.equal(nameOf('tracker'), 'Test tracker')
  assert.equal(nameOf('ad_account'), 'Shop EU')
  assert.equal(nameOf('member'), 'new.member@people.example')
  assert.equal(nameOf('action'), 'Autumn collection - New customers')
  assert.equal(subject_names.filter(({ id }: { id: string }) => id === '999999').length, 0)
  assert.equal(entries.at(-1).actor.name, owner.email)
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

type TestEntry = [AuditAction, AuditSubject, AuditDetails]

async function appendEntries(service: TestService, workspaceId: number, entries: TestEntry[]) {
  const { database, clock } = service
  const audit = createTestAuditTrail(service)
  await database.query.transaction().execute(async query => {
    for (const [action, subject, details] of entries) {
      const actor = { type: 'operator', id: null } as const
      await audit.append(
        { query },
        { workspaceId, at: clock.now(), actor, action, subject, details },
      )
    }
  })
}

async function changeMode(fixture: AgentActionsFixture, execution_mode: string): Promise<void> {
  const { call } = pagesOf(fixture)
  const { policy } = (await call('GET', '/policy')).body
  const { changed_at: _, ...submission } = policy
  const reply = await call('PUT', '/policy', { ...submission, execution_mode })
  assert.equal(reply.status, 200)
}
