import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runUntilCrash } from '../../../testing/crash/crash-injection.ts'
import {
  type AgentFixture,
  buildProposal,
  createAgentFixture,
  readCurrentEntity,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { failNextChange } from '../../../testing/fixtures/executions.ts'
import { isShortRun } from '../../../testing/fixtures/seeded-random.ts'
import { findInvariantViolations } from '../../../testing/simulation/agents/invariants.ts'
import { recordActionTransitions } from '../../../testing/simulation/agents/transition-log.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import { EXECUTION_LEASE_SECONDS, resumeExecutions, submitProposal } from './execution-triggers.ts'

const STATEMENTS_MAX = 250
/** `npm test` crashes before some of the statements. */
const STEP = isShortRun() ? 7 : 1
const BEFORE = [10_000, 4_000] as const
const AFTER = [12_000, 3_000] as const

async function readBudgets(fixture: AgentFixture): Promise<(number | null)[]> {
  const entities = [await readCurrentEntity(fixture, 1), await readCurrentEntity(fixture, 2)]
  return entities.map(({ daily_budget_minor }) => daily_budget_minor)
}

/** Moves the two budgets back and forth, so that each entity is once the one that spends less. */
function buildMove(budgets: readonly (number | null)[]) {
  const isBefore = budgets[0] === BEFORE[0]
  const [campaign, adSet] = isBefore ? AFTER : BEFORE
  const more = isBefore ? 'increase_budget' : 'decrease_budget'
  const less = isBefore ? 'decrease_budget' : 'increase_budget'
  const body = buildProposal(
    { type: more, entity: 1, budgetMinor: campaign },
    { type: less, entity: 2, budgetMinor: adSet },
  )
  return { body: { ...body, all_or_nothing: true }, desired: [campaign, adSet] }
}

for (const fault of [null, 'altered'] as const) {
  const end = fault === null ? 'executed' : 'set back'
  it(`ends with all actions ${end} after a crash before any statement`, async test => {
    const { database, connectionString } = await createTestDatabase(test)
    await recordActionTransitions(database)
    const fixture = await createAgentFixture(database)
    await setPolicy(fixture, 'auto_with_limits')
    const principal = await resolvePrincipal(fixture)
    let crashes = 0
    for (let count = 1; count <= STATEMENTS_MAX; count += STEP) {
      const before = await readBudgets(fixture)
      const { body, desired } = buildMove(before)
      if (fault) await failNextChange(fixture, fault)
      const hasCrashed = await runUntilCrash(fixture, {
        connectionString,
        crashPoint: { at: 'before statement', count },
        operation: context => submitProposal(context, principal, body),
      })
      fixture.clock.advance(EXECUTION_LEASE_SECONDS)
      // Half of the time a job resumes the batch, otherwise a retry of the proposal.
      if (count % 2 === 0) await resumeExecutions(fixture.context)
      const { result } = await submitProposal(fixture.context, principal, body)
      const where = `after a crash before statement ${count}`
      const actions = await findActionsOfBatch(database, result.proposal.id)
      const statuses = actions.map(({ status }) => status)
      const reached = fault ? before : desired
      assert.deepEqual(await readBudgets(fixture), reached, where)
      if (fault) assert.ok(!statuses.includes('verified'), where)
      else assert.deepEqual(statuses, ['verified', 'verified'], where)
      if (!hasCrashed) break
      crashes = count
    }
    assert.ok(crashes > 60 && crashes < STATEMENTS_MAX, `${crashes} statements`)
    assert.deepEqual(await findInvariantViolations(fixture, { isOver: true }), [])
  })
}
