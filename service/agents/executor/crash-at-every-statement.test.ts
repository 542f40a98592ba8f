import assert from 'node:assert/strict'
import { it } from 'node:test'
import { watchActions } from '../../../testing/agent-moves.ts'
import { brokenPromises } from '../../../testing/agent-promises.ts'
import {
  type AgentStage,
  agentStage,
  entityNow,
  principalOf,
  proposalOf,
  propose,
  setPolicy,
} from '../../../testing/agent-stage.ts'
import { mortalAct } from '../../../testing/mortal-act.ts'
import { testStore } from '../../../testing/test-store.ts'
import type { ProposalContext } from '../proposals/agents-context.ts'
import {
  decideAndExecute,
  EXECUTION_LEASE_SECONDS,
  resumeExecutions,
  submitProposal,
} from './execution-triggers.ts'

const STATEMENTS_MAX = 100

interface Attempt {
  act: (context: ProposalContext) => Promise<unknown>
  /** What a caller without a response does. */
  retry: () => Promise<unknown>
}

/** Crashes before the first statement, then before the second, until all statements ran. */
async function crashEverywhere(
  stage: AgentStage,
  connectionString: string,
  begin: (change: { type: 'pause' | 'resume'; entity: 2 }) => Promise<Attempt>,
): Promise<number> {
  for (let count = 1; count <= STATEMENTS_MAX; count += 1) {
    const before = await entityNow(stage, 2)
    const isActive = before.status === 'active'
    const { act, retry } = await begin({ type: isActive ? 'pause' : 'resume', entity: 2 })
    const death = { at: 'before statement', count } as const
    const hasCrashed = await mortalAct(stage, { connectionString, death, act })
    if (hasCrashed) await retry()
    const after = await entityNow(stage, 2)
    const expected = isActive ? 'paused' : 'active'
    const where = `after a crash before statement ${count}`
    assert.deepEqual([after.status, after.version], [expected, before.version + 1], where)
    if (!hasCrashed) return count - 1
  }
  throw new Error('too many statements')
}

it('executes a retried proposal once after a crash before any statement', async test => {
  const { database, connectionString } = await testStore(test)
  await watchActions(database)
  const stage = await agentStage(database)
  await setPolicy(stage, 'auto_with_limits')
  const principal = await principalOf(stage)
  const deaths = await crashEverywhere(stage, connectionString, async change => {
    const body = proposalOf(change)
    const act = (context: ProposalContext) => submitProposal(context, principal, body)
    return { act, retry: () => act(stage.context) }
  })
  assert.ok(deaths > 40, `${deaths} statements`)
  assert.deepEqual(await brokenPromises(stage, { isOver: true }), [])
})

it('executes an approved action once after a crash before any statement', async test => {
  const { database, connectionString } = await testStore(test)
  await watchActions(database)
  const stage = await agentStage(database)
  await setPolicy(stage, 'ask')
  const body = { decision: 'approve', reason: 'It is worth it.' }
  const deaths = await crashEverywhere(stage, connectionString, async change => {
    const { batchId } = await propose(stage, change)
    const visit = { person: stage.owner, workspaceId: stage.workspaceId, batchId }
    const act = (context: ProposalContext) => decideAndExecute(context, visit, body)
    const retry = async () => {
      // 409: the decision was stored.
      await act(stage.context).catch(({ status }) => assert.equal(status, 409))
      stage.clock.forward(EXECUTION_LEASE_SECONDS)
      await resumeExecutions(stage.context)
    }
    return { act, retry }
  })
  assert.ok(deaths > 40, `${deaths} statements`)
  assert.deepEqual(await brokenPromises(stage, { isOver: true }), [])
})
