import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { createAgentFixture } from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { chooseSeeds } from '../../../testing/fixtures/seeded-random.ts'
import { arbitraryAgentSchedule } from '../../../testing/simulation/agents/fault-schedule.ts'
import { findInvariantViolations } from '../../../testing/simulation/agents/invariants.ts'
import { simulateAgents } from '../../../testing/simulation/agents/run-simulation.ts'
import { recordActionTransitions } from '../../../testing/simulation/agents/transition-log.ts'

const OWN_SEEDS = [1]
const SCHEDULES = 40

for (const seed of chooseSeeds(OWN_SEEDS)) {
  it(`executes only allowed actions, once, and audits all of them (seed ${seed})`, async test => {
    const { database, connectionString } = await createTestDatabase(test)
    await recordActionTransitions(database)
    const reached: Record<string, number> = {}
    const property = fc.asyncProperty(arbitraryAgentSchedule, async steps => {
      const fixture = await createAgentFixture(database)
      await simulateAgents(fixture, connectionString, steps)
      const violations = await findInvariantViolations(fixture, { isOver: true })
      assert.deepEqual(violations, [])
      await count(reached, database, fixture.workspaceId)
    })
    await fc.assert(property, { seed, numRuns: SCHEDULES })
    const counts = Object.entries(reached).map(([name, times]) => `${times} ${name}`)
    test.diagnostic(`seed ${seed}: ${counts.toSorted().join(', ')}`)
  })
}

type Pool = Awaited<ReturnType<typeof createTestDatabase>>['database']

/** Reports the final statuses of a run. */
async function count(reached: Record<string, number>, { pool }: Pool, workspaceId: number) {
  const { rows } = await pool.query(
    'select status, outcome from agent_actions where workspace_id = $1',
    [workspaceId],
  )
  for (const { status, outcome } of rows) {
    const name = outcome ? `${status} (${outcome})` : status
    reached[name] = (reached[name] ?? 0) + 1
  }
}
