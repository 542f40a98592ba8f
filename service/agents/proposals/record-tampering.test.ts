import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { type AgentFixture, FIXTURE_AUDIT_KEYS, propose } from '../../../testing/fixtures/agents.ts'
import { runAsDatabaseOwner } from '../../../testing/fixtures/audit.ts'
import { APPROVAL, createExecutionFixture, RAISE } from '../../../testing/fixtures/executions.ts'
import { verifyChain } from '../../audit/verify-chain.ts'
import { decideAndExecute } from '../executor/execution-triggers.ts'
import { verifyProposalRecords } from './verify-records.ts'

/** One verified action in the first batch, one pending action in the second. */
async function stage(
  test: TestContext,
): Promise<AgentFixture & { verified: number; pending: number }> {
  const fixture = await createExecutionFixture(test, 'ask')
  const first = await propose(fixture, RAISE)
  const request = { user: fixture.owner, workspaceId: fixture.workspaceId, batchId: first.id }
  await decideAndExecute(fixture.context, request, APPROVAL)
  const second = await propose(fixture, { type: 'pause', entity: 2 })
  const [verified = 0] = first.actionIds
  const [pending = 0] = second.actionIds
  assert.deepEqual(await findingOf(fixture), null)
  return { ...fixture, verified, pending }
}

async function findingOf({ database, workspaceId, clock }: AgentFixture): Promise<string | null> {
  const verification = await verifyChain(database, FIXTURE_AUDIT_KEYS, {
    workspaceId,
    now: clock.now(),
    verifyRecords: verifyProposalRecords,
  })
  assert.equal(verification.is_intact, verification.broken_at === null)
  return verification.is_intact ? null : verification.finding
}

/** Statements that the owner of the database runs, and the finding. */
const FORGERIES: Record<string, [statement: string, finding: RegExp]> = {
  'the person who decided': [
    'update agent_actions set decided_by = decided_by + 1 where id = $verified',
    /^Action 1 does not match its receipt in entry \d+: decision\.decided_by\.$/,
  ],
  'the reason of a decision': [
    `update agent_actions set decision_reason = 'Forged.' where id = $verified`,
    /^Action 1 .*: decision\.reason\.$/,
  ],
  'what the approver could see': [
    `update agent_actions set decision_context = null where id = $verified`,
    /^Action 1 .*: decision\.context\.$/,
  ],
  'a final status': [
    `update agent_actions set status = 'rejected' where id = $verified`,
    /^Action 1 does not match entry \d+, which says verified: it is rejected\.$/,
  ],
  'an outcome': [
    `update agent_actions set outcome = 'stale' where id = $verified`,
    /^Action 1 .*: outcome\.$/,
  ],
  'a rationale': [
    `update agent_actions set rationale = 'Forged.' where id = $verified`,
    /^Action 1 does not match entry \d+: it was changed after it was proposed\.$/,
  ],
  'the budget of a pending action': [
    `update agent_actions set params = '{"new_daily_budget_minor": 99}',
       state_proposed = jsonb_set(state_before, '{daily_budget_minor}', '99') where id = $pending`,
    /^Action 2 does not match entry \d+: it was changed after it was proposed\.$/,
  ],
  'a decision on a pending action': [
    `update agent_actions set status = 'executing', decided_by = 1 where id = $pending`,
    /^Action 2 does not match entry \d+, which says pending: it is executing\.$/,
  ],
  'the decider of a pending action': [
    'update agent_actions set decided_by = 1 where id = $pending',
    /^Action 2 names another decider than entry \d+\.$/,
  ],
  'the rationale of a proposal': [
    `update agent_batches set rationale = 'Forged.' where id = 2`,
    /^Proposal 2 does not match entry \d+\.$/,
  ],
  'the person who is responsible for a proposal': [
    'update agent_batches set person_id = person_id + 1 where id = 1',
    /^Proposal 1 does not match entry \d+\.$/,
  ],
  'an action without an entry': [
    `insert into agent_actions (batch_id, position, workspace_id, ad_account_id, type, target_type,
       target_id, params, rationale, status, policy_decision, policy_reasons, policy_evidence,
       created_at, updated_at)
     select batch_id, 9, workspace_id, ad_account_id, type, target_type, target_id, params,
       rationale, status, policy_decision, policy_reasons, policy_evidence, created_at, updated_at
     from agent_actions where id = $pending`,
    /^Action 3 has no entry in the log\.$/,
  ],
  'a deleted action': [
    'delete from agent_actions where id = $pending',
    /^Action 2, which entry \d+ names, is missing\.$/,
  ],
  'a deleted proposal': [
    'delete from agent_batches where id = 2',
    /^Proposal 2, which entry \d+ names, is missing\.$/,
  ],
  'the policy': [
    `update agent_policies set execution_mode = 'auto_with_limits'`,
    /^The policy does not match entry \d+: execution_mode\.$/,
  ],
  'a deleted policy': [
    'delete from agent_policies',
    /^The policy does not match entry \d+: execution_mode\.$/,
  ],
}

for (const [what, [statement, finding]] of Object.entries(FORGERIES)) {
  it(`finds a change of ${what}`, async test => {
    const fixture = await stage(test)
    const forged = statement
      .replace('$verified', String(fixture.verified))
      .replace('$pending', String(fixture.pending))
    await runAsDatabaseOwner(fixture.database, client => client.query(forged))
    assert.match((await findingOf(fixture)) ?? 'intact', finding)
  })
}
