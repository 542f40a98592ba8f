// Full run only: crashes once for each statement of two flows.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runUntilCrash } from '../../../testing/crash/crash-injection.ts'
import {
  type AgentFixture,
  buildProposal,
  createAgentFixture,
  propose,
  readCurrentEntity,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { findInvariantViolations } from '../../../testing/simulation/agents/invariants.ts'
import { recordActionTransitions } from '../../../testing/simulation/agents/transition-log.ts'
import type { ProposalContext } from '../agents-context.ts'
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
  fixture: AgentFixture,
  connectionString: string,
  begin: (change: { type: 'pause' | 'resume'; entity: 2 }) => Promise<Attempt>,
): Promise<number> {
  for (let count = 1; count <= STATEMENTS_MAX; count += 1) {
    const before = await readCurrentEntity(fixture, 2)
    const isActive = before.status === 'active'
    const { act, retry } = await begin({ type: isActive ? 'pause' : 'resume', entity: 2 })
    const crashPoint = { at: 'before statement', count } as const
    const hasCrashed = await runUntilCrash(fixture, {
      connectionString,
      crashPoint,
      operation: act,
    })
    if (hasCrashed) await retry()
    const after = await readCurrentEntity(fixture, 2)
    const expected = isActive ? 'paused' : 'active'
    const where = `after a crash before statement ${count}`
    assert.deepEqual([after.status, after.version], [expected, before.version + 1], where)
    if (!hasCrashed) return count - 1
  }
  throw new Error('too many statements')
}

it('executes a retried proposal once after a crash before any statement', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  await recordActionTransitions(database)
  const fixture = await createAgentFixture(database)
  await setPolicy(fixture, 'auto_with_limits')
  const principal = await resolvePrincipal(fixture)
  const crashCount = await crashEverywhere(fixture, connectionString, async change => {
    const body = buildProposal(change)
    const act = (context: ProposalContext) => submitProposal(context, principal, body)
    return { act, retry: () => act(fixture.context) }
  })
  assert.ok(crashCount > 40, `${crashCount} statements`)
  assert.deepEqual(await findInvariantViolations(fixture, { isOver: true }), [])
})

it('executes an approved action once after a crash before any statement', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  await recordActionTransitions(database)
  const fixture = await createAgentFixture(database)
  await setPolicy(fixture, 'ask')
  const body = { decision: 'approve', reason: 'It is worth it.' }
  const crashCount = await crashEverywhere(fixture, connectionString, async change => {
    const { batchId } = await propose(fixture, change)
    const target = { user: fixture.owner, workspaceId: fixture.workspaceId, batchId }
    const act = (context: ProposalContext) => decideAndExecute(context, target, body)
    const retry = async () => {
      // 409: the decision was stored.
      await act(fixture.context).catch(({ status }) => assert.equal(status, 409))
      fixture.clock.advance(EXECUTION_LEASE_SECONDS)
      await resumeExecutions(fixture.context)
    }
    return { act, retry }
  })
  assert.ok(crashCount > 40, `${crashCount} statements`)
  assert.deepEqual(await findInvariantViolations(fixture, { isOver: true }), [])
})
