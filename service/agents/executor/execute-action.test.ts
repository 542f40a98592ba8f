import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  type AgentFixture,
  buildProposal,
  createAgentFixture,
  ENTITIES,
  type ProposedChange,
  propose,
  readCurrentEntity,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { eventually } from '../../../testing/fixtures/program.ts'
import { revokeWorkspaceToken } from '../../oauth/execution-tokens.ts'
import { setAdAccountStatus } from '../../people/ad-account-store.ts'
import { decideActions } from '../approvals/decide-actions.ts'
import type { Action } from '../proposals/action.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import { findReceipt } from '../proposals/receipt-store.ts'
import { confirmExecution, executeAction, runExecution } from './execute-action.ts'
import {
  decideAndExecute,
  EXECUTION_LEASE_SECONDS,
  resumeExecutions,
  submitProposal,
} from './execution-triggers.ts'
import { applyExternalChange, setNextFault } from './simulated-account-store.ts'

const RAISE = { type: 'increase_budget', entity: 1, budgetMinor: 12_000 } as const
const PAUSE = { type: 'pause', entity: 2 } as const
const APPROVE = { decision: 'approve', reason: 'It is worth it.' } as const

async function staged(test: TestContext, mode: Parameters<typeof setPolicy>[1]) {
  const { database } = await createTestDatabase(test)
  const fixture = await createAgentFixture(database)
  await setPolicy(fixture, mode)
  return fixture
}

/** An approved action whose execution has not started. */
async function approved(fixture: AgentFixture, change: ProposedChange = RAISE): Promise<Action> {
  const { batchId } = await propose(fixture, change)
  const visit = { person: fixture.owner, workspaceId: fixture.workspaceId, batchId }
  const [action] = await decideActions(fixture.context, visit, APPROVE)
  assert.equal(action?.status, 'executing')
  return action
}

function outside({ database, adAccountId, clock }: AgentFixture, dailyBudgetMinor: number) {
  const place = { adAccountId, ...ENTITIES[1] }
  return applyExternalChange(database, place, { dailyBudgetMinor, at: clock.now() })
}

function failNext({ database, adAccountId }: AgentFixture, fault: 'ignored' | 'altered') {
  return setNextFault(database, { adAccountId, ...ENTITIES[1] }, fault)
}

it('executes and verifies an allowed action before the response', async test => {
  const fixture = await staged(test, 'auto_with_limits')
  const { batchId, status } = await propose(fixture, RAISE, PAUSE)
  assert.equal(status, 'completed')
  assert.deepEqual(
    (await findActionsOfBatch(fixture.database, batchId)).map(action => action.status),
    ['verified', 'verified'],
  )
  assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 12_000)
  assert.equal((await readCurrentEntity(fixture, 2)).status, 'paused')
  // The other account has entities with the same names.
  assert.equal((await readCurrentEntity(fixture, 1, fixture.otherAccountId)).version, 1)
})

it('executes an approved action before the response, with a receipt', async test => {
  const fixture = await staged(test, 'ask')
  const { batchId, actionIds, approval_required } = await propose(fixture, RAISE)
  assert.equal(approval_required, true)
  assert.equal((await readCurrentEntity(fixture, 1)).version, 1)
  const visit = { person: fixture.owner, workspaceId: String(fixture.workspaceId), batchId }
  const { batch } = await decideAndExecute(fixture.context, visit, APPROVE)
  assert.equal(batch.status, 'completed')
  assert.equal(batch.actions[0]?.after?.daily_budget_minor, 12_000)
  const name = { workspaceId: fixture.workspaceId, actionId: actionIds[0] ?? 0 }
  const receipt = await findReceipt(fixture.database, name)
  const document = JSON.parse(receipt?.document ?? '{}')
  assert.equal(document.status, 'verified')
  assert.equal(document.decision.decided_by, fixture.owner.userId)
  const told = await readAuditEntries(fixture.database, fixture.workspaceId)
  assert.deepEqual(
    told.filter(({ subject }) => subject.type === 'action').map(({ action }) => action),
    ['action.approval_required', 'action.approved', 'action.executed', 'action.verified'],
  )
})

it('returns the current state to a retried proposal and executes once', async test => {
  const fixture = await staged(test, 'auto_with_limits')
  const principal = await resolvePrincipal(fixture)
  const body = buildProposal(RAISE)
  const first = await submitProposal(fixture.context, principal, body)
  const again = await submitProposal(fixture.context, principal, body)
  assert.deepEqual([first.isNew, again.isNew], [true, false])
  assert.deepEqual(again.result, first.result)
  assert.equal((await readCurrentEntity(fixture, 1)).version, 2)
})

it('changes the entity once under concurrent executions', async test => {
  const fixture = await staged(test, 'ask')
  const { id } = await approved(fixture)
  const crew = [1, 2, 3, 4, 5]
  const answers = await Promise.all(crew.map(() => runExecution(fixture.context, id)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set(['verified']))
  assert.equal((await readCurrentEntity(fixture, 1)).version, 2)
  const told = await readAuditEntries(fixture.database, fixture.workspaceId, 'action.executed')
  assert.equal(told.length, 1)
})

it('fails as stale if the entity changed after the approval', async test => {
  const fixture = await staged(test, 'ask')
  const { id } = await approved(fixture)
  await outside(fixture, 15_000)
  const { status, outcome, after } = await runExecution(fixture.context, id)
  assert.deepEqual([status, outcome, after], ['failed', 'stale', null])
  assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 15_000)
})

it('fails if the policy changed after the approval', async test => {
  const fixture = await staged(test, 'ask')
  const { id } = await approved(fixture)
  await setPolicy(fixture, 'suggest_only')
  const { status, outcome } = await runExecution(fixture.context, id)
  assert.deepEqual([status, outcome], ['failed', 'policy_changed'])
  assert.equal((await readCurrentEntity(fixture, 1)).version, 1)
})

it('fails an allowed action if the current policy requires approval', async test => {
  const fixture = await staged(test, 'auto_with_limits')
  const dead = { ...fixture.context, database: fixture.database }
  const dies = {
    ...dead,
    platform: { ...dead.platform, changeEntity: () => Promise.reject(DEATH) },
  }
  const principal = await resolvePrincipal(fixture)
  await assert.rejects(submitProposal(dies, principal, buildProposal(RAISE)), DEATH)
  await setPolicy(fixture, 'auto_with_limits', { change_minor_max: 1_000 })
  fixture.clock.advance(EXECUTION_LEASE_SECONDS)
  assert.deepEqual(await resumeExecutions(fixture.context), { finished: 1, more: false })
  const [failed] = await readAuditEntries(fixture.database, fixture.workspaceId, 'action.failed')
  assert.equal(failed?.details.outcome, 'policy_changed')
  assert.equal((await readCurrentEntity(fixture, 1)).version, 1)
})

const DEATH = new Error('the process ends')

it('detects a change that the platform ignored', async test => {
  const fixture = await staged(test, 'ask')
  const { id, before } = await approved(fixture)
  await failNext(fixture, 'ignored')
  const { status, outcome, after } = await runExecution(fixture.context, id)
  assert.deepEqual([status, outcome], ['rolled_back', 'not_applied'])
  assert.deepEqual(after, { ...before, version: 2 })
})

it('detects an altered change and restores the previous state', async test => {
  const fixture = await staged(test, 'ask')
  const { id, before } = await approved(fixture)
  await failNext(fixture, 'altered')
  const { status, outcome, after } = await runExecution(fixture.context, id)
  assert.deepEqual([status, outcome], ['rolled_back', 'not_applied'])
  assert.deepEqual(after, { ...before, version: 3 })
  assert.deepEqual(await readCurrentEntity(fixture, 1), after)
})

it('ends as uncertain if restoring fails, too', async test => {
  const fixture = await staged(test, 'ask')
  const { id } = await approved(fixture)
  await failNext(fixture, 'altered')
  await executeAction(fixture.context, id)
  await failNext(fixture, 'ignored')
  const { status, outcome, after } = await confirmExecution(fixture.context, id)
  assert.deepEqual([status, outcome], ['execution_uncertain', 'not_applied'])
  assert.equal(after?.daily_budget_minor, 6_000)
})

it('keeps a change made before the verification and ends as uncertain', async test => {
  const fixture = await staged(test, 'ask')
  const { id } = await approved(fixture)
  await executeAction(fixture.context, id)
  await outside(fixture, 15_000)
  const { status, outcome } = await runExecution(fixture.context, id)
  assert.deepEqual([status, outcome], ['execution_uncertain', 'changed_elsewhere'])
  assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 15_000)
})

it('resumes an interrupted action after its lease', async test => {
  const fixture = await staged(test, 'ask')
  const [begun, changed] = [await approved(fixture), await approved(fixture, PAUSE)]
  await executeAction(fixture.context, changed.id)
  fixture.clock.advance(EXECUTION_LEASE_SECONDS - 1)
  assert.deepEqual(await resumeExecutions(fixture.context), { finished: 0, more: false })
  fixture.clock.advance(1)
  assert.deepEqual(await resumeExecutions(fixture.context), { finished: 2, more: false })
  for (const { batchId } of [begun, changed]) {
    const [action] = await findActionsOfBatch(fixture.database, batchId)
    assert.equal(action?.status, 'verified')
  }
  assert.equal((await readCurrentEntity(fixture, 2)).version, 2)
})

it('resumes other actions if one fails', async test => {
  const fixture = await staged(test, 'ask')
  const [broken, sound] = [await approved(fixture), await approved(fixture, PAUSE)]
  const { platform } = fixture.context
  const changeEntity: typeof platform.changeEntity = (...given) =>
    given[2].expected.type === 'campaign' ? Promise.reject(DEATH) : platform.changeEntity(...given)
  fixture.clock.advance(EXECUTION_LEASE_SECONDS)
  const context = { ...fixture.context, platform: { ...platform, changeEntity } }
  await assert.rejects(resumeExecutions(context), /1 actions could not be finished/)
  const statuses = [broken, sound].map(async ({ batchId }) => {
    const [action] = await findActionsOfBatch(fixture.database, batchId)
    return action?.status
  })
  assert.deepEqual(await Promise.all(statuses), ['executing', 'verified'])
})

/** Changes that revoke a precondition. */
const REVOCATIONS: Record<string, (fixture: AgentFixture) => Promise<unknown>> = {
  'revokes the token': ({ context, workspaceId, owner: person }) =>
    revokeWorkspaceToken(context, { person, workspaceId, tokenId: 1 }),
  'disables the ad account': ({ database, ...name }) =>
    setAdAccountStatus(database, name, 'disabled'),
  'changes the policy': fixture => setPolicy(fixture, 'suggest_only'),
}

for (const [change, revoke] of Object.entries(REVOCATIONS)) {
  it(`waits for a running execution when an owner ${change}`, async test => {
    const fixture = await staged(test, 'ask')
    const { id } = await approved(fixture)
    const { platform } = fixture.context
    let revocation = Promise.resolve<unknown>('nothing')
    let isOver = false
    const changeEntity: typeof platform.changeEntity = async (...given) => {
      revocation = revoke(fixture).then(() => {
        isOver = true
      })
      await eventually('the change waits', () => isLockAwaited(fixture))
      assert.equal(isOver, false)
      return platform.changeEntity(...given)
    }
    const { status } = await executeAction(
      { ...fixture.context, platform: { ...platform, changeEntity } },
      id,
    )
    assert.equal(status, 'executed_pending_verification')
    await revocation
    assert.equal(isOver, true)
  })
}

async function isLockAwaited({ database }: AgentFixture): Promise<boolean> {
  const { rows } = await database.pool.query(
    `select 1 from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length > 0
}
