import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { watchActions } from '../../../testing/agent-moves.ts'
import { brokenPromises } from '../../../testing/agent-promises.ts'
import { rehearseAgents } from '../../../testing/agent-rehearsal.ts'
import { agentSchedule } from '../../../testing/agent-schedule.ts'
import { agentStage } from '../../../testing/agent-stage.ts'
import { testSeeds } from '../../../testing/seeded-choices.ts'
import { testStore } from '../../../testing/test-store.ts'

const OWN_SEEDS = [1]
const SCHEDULES = 40

for (const seed of testSeeds(OWN_SEEDS)) {
  it(`executes only allowed actions, once, and audits all of them (seed ${seed})`, async test => {
    const { database, connectionString } = await testStore(test)
    await watchActions(database)
    const reached: Record<string, number> = {}
    const property = fc.asyncProperty(agentSchedule, async steps => {
      const stage = await agentStage(database)
      await rehearseAgents(stage, connectionString, steps)
      const faults = await brokenPromises(stage, { isOver: true })
      assert.deepEqual(faults, [])
      await count(reached, database, stage.workspaceId)
    })
    await fc.assert(property, { seed, numRuns: SCHEDULES })
    const counts = Object.entries(reached).map(([name, times]) => `${times} ${name}`)
    test.diagnostic(`seed ${seed}: ${counts.toSorted().join(', ')}`)
  })
}

type Pool = Awaited<ReturnType<typeof testStore>>['database']

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
