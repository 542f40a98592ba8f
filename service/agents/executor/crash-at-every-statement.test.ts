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
  /** What somebody does who heard nothing. */
  again: () => Promise<unknown>
}

/** Dies before the first statement, then before the second, until it dies no more. */
async function dieEverywhere(
  stage: AgentStage,
  connectionString: string,
  begin: (change: { type: 'pause' | 'resume'; entity: 2 }) => Promise<Attempt>,
): Promise<number> {
  for (let count = 1; count <= STATEMENTS_MAX; count += 1) {
    const before = await entityNow(stage, 2)
    const isActive = before.status === 'active'
    const { act, again } = await begin({ type: isActive ? 'pause' : 'resume', entity: 2 })
    const death = { at: 'before statement', count } as const
    const isDead = await mortalAct(stage, { connectionString, death, act })
    if (isDead) await again()
    const after = await entityNow(stage, 2)
    const expected = isActive ? 'paused' : 'active'
    const where = `after a death before statement ${count}`
    assert.deepEqual([after.status, after.version], [expected, before.version + 1], where)
    if (!isDead) return count - 1
  }
  throw new Error('there is no end of statements')
}

it('an agent that hears no answer sends its proposal again, wherever the first one broke off, and it is carried out once', async test => {
  const { database, connectionString } = await testStore(test)
  await watchActions(database)
  const stage = await agentStage(database)
  await setPolicy(stage, 'auto_with_limits')
  const principal = await principalOf(stage)
  const deaths = await dieEverywhere(stage, connectionString, async change => {
    const body = proposalOf(change)
    const act = (context: ProposalContext) => submitProposal(context, principal, body)
    return { act, again: () => act(stage.context) }
  })
  assert.ok(deaths > 40, `${deaths} statements`)
  assert.deepEqual(await brokenPromises(stage, { isOver: true }), [])
})

it('what a person approved is carried out once, wherever the process broke off that was doing it', async test => {
  const { database, connectionString } = await testStore(test)
  await watchActions(database)
  const stage = await agentStage(database)
  await setPolicy(stage, 'ask')
  const body = { decision: 'approve', reason: 'It is worth it.' }
  const deaths = await dieEverywhere(stage, connectionString, async change => {
    const { batchId } = await propose(stage, change)
    const visit = { person: stage.owner, workspaceId: stage.workspaceId, batchId }
    const act = (context: ProposalContext) => decideAndExecute(context, visit, body)
    const again = async () => {
      // 409: the decision was kept.
      await act(stage.context).catch(({ status }) => assert.equal(status, 409))
      stage.clock.forward(EXECUTION_LEASE_SECONDS)
      await resumeExecutions(stage.context)
    }
    return { act, again }
  })
  assert.ok(deaths > 40, `${deaths} statements`)
  assert.deepEqual(await brokenPromises(stage, { isOver: true }), [])
})
