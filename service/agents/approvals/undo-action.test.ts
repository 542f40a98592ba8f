import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import {
  type AgentActionsFixture,
  sendDecision,
  setExecutionMode,
  startAgentActionsFixture,
  submitSingleActionProposal,
} from '../../../testing/fixtures/agent-actions.ts'
import {
  type AgentFixture,
  createFixtureMember,
  FIXTURE_AUDIT_KEYS,
  type ProposedChange,
  propose,
  readCurrentEntity,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  APPROVAL,
  changeBudgetExternally,
  createExecutionFixture,
  isRefusal,
  RAISE,
} from '../../../testing/fixtures/executions.ts'
import { addMember, createTestUser } from '../../../testing/fixtures/users.ts'
import { verifyChain } from '../../audit/verify-chain.ts'
import type { CurrentUser } from '../../workspaces/users/session-store.ts'
import { lockMembers, updateMemberRole } from '../../workspaces/users/workspace-store.ts'
import { decideAndExecute, undoAndExecute } from '../executor/execution-triggers.ts'
import { verifyProposalRecords } from '../proposals/verify-records.ts'
import { decideActions } from './decide-actions.ts'

/** Executes a change; its approver is the second owner. */
async function execute(fixture: AgentFixture, change: ProposedChange = RAISE): Promise<number> {
  const { batchId, actionIds } = await propose(fixture, change)
  const { owner: user, workspaceId, context } = fixture
  const { batch } = await decideAndExecute(context, { user, workspaceId, batchId }, APPROVAL)
  assert.equal(batch.status, 'completed')
  return actionIds[0] ?? 0
}

function undo(
  { context, workspaceId, owner }: AgentFixture,
  actionId: unknown,
  { user = owner, body = {} }: { user?: CurrentUser; body?: unknown } = {},
) {
  return undoAndExecute(context, { user, workspaceId, actionId }, body)
}

it('proposes the change back as the person, and needs another person to approve it', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { context, owner, workspaceId, database, clock } = fixture
  const actionId = await execute(fixture)
  const { batch } = await undo(fixture, actionId)
  assert.deepEqual([batch.status, batch.undoes], ['pending_approval', actionId])
  assert.deepEqual(batch.proposed_by, { type: 'person', id: owner.userId })
  assert.equal(batch.rationale, `Undo action ${actionId} of proposal 1.`)
  const [action] = batch.actions
  assert.deepEqual(
    [action?.type, action?.params, action?.policy_reasons.map(({ code }) => code)],
    ['decrease_budget', { new_daily_budget_minor: 10_000 }, ['ask']],
  )
  const request = { user: owner, workspaceId, batchId: batch.id }
  const refused = isRefusal(403, /You cannot approve your own proposal/)
  await assert.rejects(decideActions(context, request, APPROVAL), refused)
  const other = { ...request, user: fixture.responsible }
  const decided = await decideAndExecute(context, other, APPROVAL)
  assert.equal(decided.batch.status, 'completed')
  assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 10_000)
  const submitted = await readAuditEntries(database, workspaceId, 'proposal.submitted')
  const { actor, details } = submitted.at(-1) ?? {}
  assert.deepEqual(
    [actor, details?.undoes],
    [{ type: 'person', id: String(owner.userId) }, actionId],
  )
  const chain = await verifyChain(database, FIXTURE_AUDIT_KEYS, {
    workspaceId,
    now: clock.now(),
    verifyRecords: verifyProposalRecords,
  })
  assert.equal(chain.is_intact, true, chain.finding)
})

it('is judged by the limits of the policy', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const first = await execute(fixture)
  await setPolicy(fixture, 'auto_with_limits', { change_minor_max: 100 })
  const waiting = await undo(fixture, first)
  assert.equal(waiting.batch.actions[0]?.status, 'pending')
  assert.equal(waiting.batch.actions[0]?.policy_reasons[0]?.code, 'change_amount_exceeded')
})

it('executes an undo that the policy allows, and can be undone itself', async test => {
  const fixture = await createExecutionFixture(test, 'auto_with_limits')
  const { actionIds } = await propose(fixture, { type: 'pause', entity: 2 })
  const { batch } = await undo(fixture, actionIds[0], { body: { reason: 'Too early.' } })
  assert.deepEqual([batch.status, batch.rationale], ['completed', 'Too early.'])
  assert.equal((await readCurrentEntity(fixture, 2)).status, 'active')
  const again = await undo(fixture, batch.actions[0]?.id)
  assert.equal(again.batch.status, 'completed')
  assert.equal((await readCurrentEntity(fixture, 2)).status, 'paused')
})

it('allows one undo while it is pending or done, and another one after it ended', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const actionId = await execute(fixture)
  const attempts = [1, 2, 3].map(() =>
    undo(fixture, actionId).then(
      ({ batch }) => batch.status,
      ({ status }) => status,
    ),
  )
  assert.deepEqual((await Promise.all(attempts)).sort(), [409, 409, 'pending_approval'])
  await assert.rejects(undo(fixture, actionId), isRefusal(409, /^Proposal 2 already undoes this/))
  const { context, owner: user, workspaceId } = fixture
  const reject = { ...APPROVAL, decision: 'reject' }
  await decideActions(context, { user, workspaceId, batchId: 2 }, reject)
  const { batch } = await undo(fixture, actionId)
  const other = { user: fixture.responsible, workspaceId, batchId: batch.id }
  await decideAndExecute(context, other, APPROVAL)
  await assert.rejects(undo(fixture, actionId), isRefusal(409, /already undoes this action/))
})

it('refuses an action that was not verified, or whose entity changed since', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { actionIds } = await propose(fixture, { type: 'pause', entity: 2 })
  await assert.rejects(undo(fixture, actionIds[0]), isRefusal(409, /this one is pending/))
  const actionId = await execute(fixture)
  await changeBudgetExternally(fixture, 15_000)
  await assert.rejects(undo(fixture, actionId), isRefusal(409, /The entity was changed since/))
  await assert.rejects(undo(fixture, 999), { status: 404 })
  const body = { reason: 'x'.repeat(1_001) }
  await assert.rejects(undo(fixture, actionId, { body }), { status: 422 })
})

it('lets owners and admins propose an undo, members and strangers not', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const actionId = await execute(fixture)
  const member = await createFixtureMember(fixture, 'member')
  await assert.rejects(undo(fixture, actionId, { user: member }), { status: 403 })
  const stranger = { ...member, userId: 999_999 }
  await assert.rejects(undo(fixture, actionId, { user: stranger }), { status: 404 })
  const admin = await createFixtureMember(fixture, 'admin')
  const { batch } = await undo(fixture, actionId, { user: admin })
  assert.deepEqual(batch.proposed_by, { type: 'person', id: admin.userId })
})

it('rejects an undo whose proposer lost the role before the approval', async test => {
  const fixture = await createExecutionFixture(test, 'ask')
  const { context, database, workspaceId, responsible: user } = fixture
  const actionId = await execute(fixture)
  const admin = await createFixtureMember(fixture, 'admin')
  const { batch } = await undo(fixture, actionId, { user: admin })
  await database.query.transaction().execute(async query => {
    await lockMembers({ query }, workspaceId)
    await updateMemberRole({ query }, { workspaceId, userId: admin.userId }, 'member')
  })
  const request = { user, workspaceId, batchId: batch.id }
  const [action] = await decideActions(context, request, APPROVAL)
  assert.deepEqual([action?.status, action?.outcome], ['rejected', 'proposer_revoked'])
})

/** The workspace's API, and an action that was approved and verified. */
async function approvedAction(fixture: AgentActionsFixture): Promise<string> {
  await setExecutionMode(fixture, 'ask')
  const path = await submitSingleActionProposal(fixture)
  const { client } = fixture.workspace.owner
  const decision = { decision: 'approve', reason: 'It was planned.' }
  const { body } = await sendDecision(client, path, decision)
  assert.equal(body.batch.actions[0].status, 'verified')
  return `${SESSION_API_PATH}/workspaces/${fixture.workspace.workspaceId}`
}

it('proposes to undo a verified action once, and names the proposal that does', async test => {
  const fixture = await startAgentActionsFixture(test)
  const base = await approvedAction(fixture)
  const { client } = fixture.workspace.owner
  const undoing = `${base}/actions/1/undo`
  const proposed = await client.call('POST', undoing, { body: {} })
  assert.equal(proposed.status, 201)
  const { id, rationale, undoes } = proposed.body.batch
  assert.deepEqual([id, rationale, undoes], [2, 'Undo action 1 of proposal 1.', 1])
  const again = await client.call('POST', undoing, { body: {} })
  assert.equal(again.status, 409)
  assert.match(again.body.message, /Proposal 2 already undoes this action/)
  const after = await client.call('GET', `${base}/approvals/1`)
  const [record] = after.body.decision_records
  assert.deepEqual([record.action_id, record.undone_by], [1, 2])
  assert.equal(record.decided_by, fixture.workspace.owner.email)
  assert.match(record.receipt.document_sha256, /^[0-9a-f]{64}$/)
})

it('refuses an undo of members and of strangers', async test => {
  const fixture = await startAgentActionsFixture(test)
  const undoing = `${await approvedAction(fixture)}/actions/1/undo`
  const member = await createTestUser(fixture.service)
  const { workspaceId } = fixture.workspace
  await addMember(fixture.service, { workspaceId, userId: member.userId, role: 'member' })
  assert.equal((await member.client.call('POST', undoing, { body: {} })).status, 403)
  const stranger = await createTestUser(fixture.service)
  assert.equal((await stranger.client.call('POST', undoing, { body: {} })).status, 404)
})
