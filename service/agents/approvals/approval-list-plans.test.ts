import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  setExecutionMode,
  startAgentActionsFixture,
  submitSingleActionProposal,
} from '../../../testing/fixtures/agent-actions.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'
import {
  findPlanProblems,
  type RecordedDatabase,
  recordPlans,
} from '../../../testing/performance/query-plans.ts'
import type { Database } from '../../runtime/db/database.ts'
import { findDecidedActions } from '../proposals/action-list-store.ts'
import { countQueuedBatches } from '../proposals/batch-store.ts'

const STAGES = [
  { count: 2_000, isAnalyzed: false },
  { count: 20_000, isAnalyzed: false },
  { count: 20_000, isAnalyzed: true },
]

it('reads only what a page of decided actions and the count of pending ones need', async test => {
  const fixture = await startAgentActionsFixture(test)
  await setExecutionMode(fixture, 'ask')
  await submitSingleActionProposal(fixture)
  const { database } = fixture.service
  const other = await createTestWorkspace(fixture.service)
  const workspaceId = fixture.workspace.workspaceId
  const session = recordPlans(database.pool.options.connectionString as string)
  test.after(() => session.database.close())

  const faults: string[] = []
  const firstBuffers = new Map<string, number>()
  for (const { count, isAnalyzed } of STAGES) {
    await growTo(database, other.workspaceId, count)
    if (isAnalyzed) await database.pool.query('analyze agent_actions')
    for (const [name, run] of Object.entries(statements(workspaceId))) {
      const { buffers, problems } = await measure(session, run)
      const before = firstBuffers.get(name) ?? buffers
      firstBuffers.set(name, before)
      faults.push(...problems.map(problem => `${name}: ${problem}`))
      if (buffers > before + 10) faults.push(`${name}: ${before} buffers, then ${buffers}`)
    }
  }
  assert.deepEqual(faults, [])
})

function statements(workspaceId: number) {
  return {
    'count pending approvals': (database: Database) => countQueuedBatches(database, workspaceId),
    'first page of decided actions': (database: Database) =>
      findDecidedActions(database, { workspaceId, before: null, limit: 50 }),
    'a page in the middle': (database: Database) =>
      findDecidedActions(database, { workspaceId, before: 2_000, limit: 50 }),
  }
}

/**
 * Copies of the first action: the first 200 and each tenth belong to its workspace and are decided,
 * the others to another workspace, half of them pending.
 */
async function growTo({ pool }: Database, otherId: number, count: number): Promise<void> {
  await pool.query(
    `insert into agent_actions overriding system value
     select copy.* from agent_actions original,
       generate_series((select max(id) from agent_actions) + 1, $1) number,
       jsonb_populate_record(original, jsonb_build_object(
         'id', number, 'position', number,
         'workspace_id', case when number <= 200 or number % 10 = 0 then workspace_id else $2 end,
         'status', case when number <= 200 or number % 2 = 0 then 'verified' else 'pending' end
       )) copy
     where original.id = 1`,
    [count, otherId],
  )
}

async function measure(
  { database, takePlans }: RecordedDatabase,
  run: (database: Database) => Promise<unknown>,
) {
  takePlans()
  await run(database)
  const plans = takePlans()
  assert.ok(plans.length > 0)
  return {
    buffers: plans.reduce((sum, plan) => sum + plan.buffers, 0),
    problems: plans.flatMap(findPlanProblems),
  }
}
