import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  type AgentFixture,
  createAgentFixture,
  propose,
  readCurrentEntity,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { APPROVAL, isRefusal } from '../../../testing/fixtures/executions.ts'
import { decideAndExecute, runExecution } from '../executor/execution-triggers.ts'
import { getAction } from '../proposals/action-store.ts'
import { findReceipt } from '../proposals/receipt-store.ts'
import { readQueuedBatch } from './approval-queue.ts'
import { decideActions } from './decide-actions.ts'

const TOTAL_OF_200 = { daily_total_minor_max: 20_000 }

async function stage(test: TestContext): Promise<AgentFixture> {
  const { database } = await createTestDatabase(test)
  return createAgentFixture(database)
}

/** Proposes to raise the budget of the campaign by 49.00. */
async function proposeRaiseBy49(fixture: AgentFixture) {
  const { daily_budget_minor: budget } = await readCurrentEntity(fixture, 1)
  const budgetMinor = (budget ?? 0) + 4_900
  return propose(fixture, { type: 'increase_budget', entity: 1, budgetMinor })
}

function requestOf({ owner: user, workspaceId }: AgentFixture, batchId: number) {
  return { user, workspaceId, batchId }
}

it('refuses approvals one by one beyond the total of the day', async test => {
  const fixture = await stage(test)
  await setPolicy(fixture, 'suggest_only', TOTAL_OF_200)
  const proposals: { id: number }[] = []
  for (let count = 0; count < 5; count += 1) proposals.push(await proposeRaiseBy49(fixture))
  const approve = ({ id }: { id: number }) =>
    decideActions(fixture.context, requestOf(fixture, id), APPROVAL)
  for (const proposal of proposals.slice(0, 4)) await approve(proposal)
  const [last = { id: 0 }] = proposals.slice(4)
  await assert.rejects(approve(last), isRefusal(409, /\(daily_total_exceeded\): .* total €245\.00/))
})

it('accepts an approval beyond a limit that the proposal named', async test => {
  const fixture = await stage(test)
  await setPolicy(fixture, 'ask', { change_minor_max: 100 })
  const { id } = await proposeRaiseBy49(fixture)
  const [action] = await decideActions(fixture.context, requestOf(fixture, id), APPROVAL)
  assert.equal(action?.status, 'executing')
  assert.deepEqual(action.decisionContext?.accepted_limits, ['change_amount_exceeded'])
})

it('refuses an approval that now exceeds a limit, unless the approver accepts it', async test => {
  const fixture = await stage(test)
  await setPolicy(fixture, 'ask', TOTAL_OF_200)
  const waiting = await propose(fixture, { type: 'increase_budget', entity: 2, budgetMinor: 8_900 })
  for (let round = 0; round < 4; round += 1) {
    const { id } = await proposeRaiseBy49(fixture)
    await decideAndExecute(fixture.context, requestOf(fixture, id), APPROVAL)
  }
  const { batch } = await readQueuedBatch(fixture.context, requestOf(fixture, waiting.id))
  assert.deepEqual(batch.today, {
    changed_minor: 19_600,
    action_count: 4,
    changed_week_minor: 19_600,
    changed_month_minor: 19_600,
  })
  assert.deepEqual(batch.evaluations[0]?.exceeded_limits, ['daily_total_exceeded'])
  const request = requestOf(fixture, waiting.id)
  const refused = isRefusal(409, /would total €245\.00; the policy allows €200\.00 per day/)
  await assert.rejects(decideActions(fixture.context, request, APPROVAL), refused)
  assert.equal((await readCurrentEntity(fixture, 2)).daily_budget_minor, 4_000)
  const accepted = { ...APPROVAL, accepted_limits: ['daily_total_exceeded'] }
  const answer = await decideAndExecute(fixture.context, request, accepted)
  assert.equal(answer.batch.status, 'completed')
  const [entry] = (await readAuditEntries(fixture.database, fixture.workspaceId)).filter(
    ({ action, subject }) =>
      action === 'action.approved' && subject.id === String(waiting.actionIds[0]),
  )
  assert.deepEqual(entry?.details.accepted_limits, ['daily_total_exceeded'])
})

it('applies a stricter policy to what waits, at approval and at execution', async test => {
  const fixture = await stage(test)
  await setPolicy(fixture, 'ask')
  const { id, batchId } = await proposeRaiseBy49(fixture)
  await setPolicy(fixture, 'ask', { change_minor_max: 100 })
  const request = requestOf(fixture, id)
  await assert.rejects(
    decideActions(fixture.context, request, APPROVAL),
    isRefusal(409, /change_amount_exceeded/),
  )
  await setPolicy(fixture, 'ask')
  const [action] = await decideActions(fixture.context, request, APPROVAL)
  await setPolicy(fixture, 'ask', { change_minor_max: 100 })
  const { status, outcome } = await runExecution(fixture.context, action?.id ?? 0)
  assert.deepEqual([status, outcome, batchId], ['failed', 'policy_changed', id])
  assert.equal((await readCurrentEntity(fixture, 1)).version, 1)
})

it('counts the actions of one decision together', async test => {
  const fixture = await stage(test)
  await setPolicy(fixture, 'ask')
  const { id } = await propose(
    fixture,
    { type: 'increase_budget', entity: 1, budgetMinor: 10_600 },
    { type: 'increase_budget', entity: 2, budgetMinor: 4_600 },
  )
  await setPolicy(fixture, 'ask', { daily_total_minor_max: 1_000 })
  const request = requestOf(fixture, id)
  const refused = isRefusal(409, /Action \d+ \(daily_total_exceeded\): .* total €12\.00/)
  await assert.rejects(decideActions(fixture.context, request, APPROVAL), refused)
  const { batch } = await readQueuedBatch(fixture.context, request)
  const first = { ...APPROVAL, action_ids: [batch.actions[0]?.id] }
  const [action] = await decideActions(fixture.context, request, first)
  assert.equal(action?.status, 'executing')
})

it('lets one of two concurrent approvals use what is left of the day', async test => {
  const fixture = await stage(test)
  await setPolicy(fixture, 'ask')
  const proposals = [
    await propose(fixture, { type: 'increase_budget', entity: 1, budgetMinor: 10_600 }),
    await propose(fixture, { type: 'increase_budget', entity: 2, budgetMinor: 4_600 }),
  ]
  await setPolicy(fixture, 'ask', { daily_total_minor_max: 1_000 })
  const answers = await Promise.allSettled(
    proposals.map(({ id }) => decideActions(fixture.context, requestOf(fixture, id), APPROVAL)),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
})

it('stores what the approver could see, and puts it into the receipt', async test => {
  const fixture = await stage(test)
  const { context, database, workspaceId } = fixture
  await setPolicy(fixture, 'ask')
  const { id, actionIds } = await proposeRaiseBy49(fixture)
  const other = await propose(fixture, { type: 'pause', entity: 1 })
  const request = requestOf(fixture, id)
  const shown = await readQueuedBatch(context, request)
  assert.deepEqual(
    shown.batch.other_pending_actions.map(({ action_id, batch_id, type }) => [
      ...[action_id, batch_id, type],
    ]),
    [[other.actionIds[0], other.id, 'pause']],
  )
  assert.deepEqual(
    shown.recent_changes.map(({ action }) => action),
    // Saved by one owner, confirmed by the other.
    ['policy.changed', 'policy.changed'],
  )
  await decideAndExecute(context, request, APPROVAL)
  const actionId = actionIds[0] ?? 0
  const { decisionContext } = await getAction(database, actionId)
  const receipt = await findReceipt(database, { workspaceId, actionId })
  const { decision } = JSON.parse(receipt?.document ?? '{}')
  assert.deepEqual(decision.context, decisionContext)
  assert.deepEqual(decision.context.policy_evidence.changed_today_minor, 0)
  assert.deepEqual(decision.context.other_pending_actions[0].action_id, other.actionIds[0])
  assert.deepEqual(decision.context.recent_changes[0].actor, {
    type: 'person',
    id: String(fixture.owner.userId),
  })
  assert.deepEqual(decision.context.accepted_limits, [])
})
