import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { EXECUTION_MODES } from '@signalbox/contract/agents/policy.ts'
import {
  buildProposal,
  createAgentFixture,
  createExecutionPrincipal,
  type ProposedChange,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { type Dump, dumpDatabase } from '../../../testing/fixtures/database-dump.ts'
import type { Refusal } from '../../runtime/http/refusal.ts'
import { dryRunActions } from './evaluate-actions.ts'
import { proposeActions } from './propose-actions.ts'

const CHANGES: ProposedChange[] = [
  { type: 'increase_budget', entity: 1, budgetMinor: 10_700 },
  { type: 'decrease_budget', entity: 2, budgetMinor: 3_000 },
  { type: 'resume', entity: 3 },
  { type: 'pause', entity: 0 },
]

async function stageOf(test: TestContext) {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  const principal = await resolvePrincipal(fixture)
  const dryRun = async (body: unknown, by = principal) =>
    (await dryRunActions(fixture.context, by, body)).dry_run.actions
  return { ...fixture, fixture, principal, dryRun }
}

const onlyActions = ({ actions }: ReturnType<typeof buildProposal>) => ({ actions })

/** Excludes statistics that the server collects by itself. */
function rowsOf(dump: Dump): string[] {
  return dump.filter(line => !line.startsWith('pg_catalog.')).sort()
}

it('stores nothing', async test => {
  const { fixture, dryRun, database } = await stageOf(test)
  await setPolicy(fixture, 'auto_with_limits')
  const before = rowsOf(await dumpDatabase(database))
  assert.equal((await dryRun(onlyActions(buildProposal(...CHANGES)))).length, CHANGES.length)
  assert.deepEqual(rowsOf(await dumpDatabase(database)), before)
  // The same comparison detects a real proposal.
  await proposeActions(fixture.context, await resolvePrincipal(fixture), buildProposal(...CHANGES))
  assert.notDeepEqual(rowsOf(await dumpDatabase(database)), before)
})

it('returns the decisions of the same proposal', async test => {
  const { fixture, dryRun, context, principal } = await stageOf(test)
  for (const mode of EXECUTION_MODES) {
    for (const limits of [{}, { daily_total_minor_max: 1_500 }, { actions_per_day_max: 1 }]) {
      await setPolicy(fixture, mode, limits)
      const body = buildProposal(...CHANGES)
      const predicted = await dryRun(onlyActions(body))
      assert.deepEqual(await dryRun(body), predicted)
      const { actions } = await proposeActions(context, principal, body)
      assert.deepEqual(
        predicted,
        actions.map(({ type, policyDecision, policyReasons, before, proposed }, at) => ({
          type,
          target_entity: body.actions[at]?.target_entity,
          status: 'evaluated',
          policy_decision: policyDecision,
          policy_reasons: policyReasons,
          approval_required: policyDecision === 'require_approval',
          would_auto_execute: policyDecision === 'allow',
          diff: { before, proposed },
        })),
      )
    }
  }
})

it('returns the current and the proposed state', async test => {
  const { fixture, dryRun } = await stageOf(test)
  await setPolicy(fixture, 'auto_with_limits')
  const [raise] = await dryRun(onlyActions(buildProposal(...CHANGES)))
  assert.ok(raise?.status === 'evaluated' && raise.would_auto_execute)
  const { before, proposed } = raise.diff
  assert.deepEqual([before.daily_budget_minor, proposed.daily_budget_minor], [10_000, 10_700])
  assert.deepEqual({ ...proposed, daily_budget_minor: 10_000, version: 1 }, before)
})

it('returns a reason instead of a diff for a missing entity', async test => {
  const { dryRun, context, principal } = await stageOf(test)
  const body = buildProposal({ type: 'pause', entity: 1 })
  const target_entity = { type: 'campaign', id: '404' }
  const actions = [{ ...body.actions[0], target_entity }]
  assert.deepEqual(await dryRun({ actions }), [
    {
      type: 'pause',
      target_entity,
      status: 'dry_run_unavailable',
      reason: 'The ad account has no such entity; check its type and ID.',
    },
  ])
  const proposed = await proposeActions(context, principal, { ...body, actions })
  assert.equal(proposed.actions[0]?.status, 'blocked')
})

it('returns 403 without the permission, and 422 naming every invalid field', async test => {
  const { fixture, dryRun, otherAccountId } = await stageOf(test)
  const { actions } = buildProposal(...CHANGES)
  const reader = await createExecutionPrincipal(fixture, { tier: 'read' })
  await assert.rejects(dryRun({ actions }, reader), { status: 403 })
  const twice = { actions: [...actions, actions[0]], account_id: otherAccountId }
  await assert.rejects(dryRun(twice), ({ status, errors }: Refusal) => {
    assert.equal(status, 422)
    assert.deepEqual(Object.keys(errors ?? {}).sort(), ['account_id', 'actions.4.target_entity'])
    return true
  })
})
