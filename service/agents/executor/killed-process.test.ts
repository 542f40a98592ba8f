import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it, type TestContext } from 'node:test'
import {
  createAgentFixture,
  propose,
  readCurrentEntity,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { findInvariantViolations } from '../../../testing/simulation/agents/invariants.ts'
import { recordActionTransitions } from '../../../testing/simulation/agents/transition-log.ts'
import { decideActions } from '../approvals/decide-actions.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import { EXECUTION_LEASE_SECONDS } from './execution-triggers.ts'

const PROGRAM = join(import.meta.dirname, '../../../testing/crash/executor-process.ts')
const RAISE = { type: 'increase_budget', entity: 1, budgetMinor: 12_000 } as const
const APPROVE = { decision: 'approve', reason: 'It is worth it.' } as const
/**
 * During the change, before its commit, between both steps, during the verification, before the
 * last commit. crash-at-every-statement.test.ts covers every statement within one process.
 */
const KILLED_BEFORE = [11, 17, 18, 22, 27]

/** Runs until the first output, then kills the process. */
async function runAndKill(test: TestContext, ...options: string[]): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  test.after(() => child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const [output = 'nothing'] = await Promise.race([once(lines, 'line'), exit.then(() => [])])
  if (output === 'stopped') child.kill('SIGKILL')
  const [, signal] = await exit
  assert.equal(signal, output === 'stopped' ? 'SIGKILL' : null)
  return output
}

it('resumes the action of a killed process, once', async test => {
  const { database, connectionString } = await createTestDatabase(test)
  await recordActionTransitions(database)
  const outputs: string[] = []
  for (const statement of KILLED_BEFORE) {
    const fixture = await createAgentFixture(database)
    await setPolicy(fixture, 'ask')
    const { batchId } = await propose(fixture, RAISE)
    const target = { person: fixture.owner, workspaceId: fixture.workspaceId, batchId }
    await decideActions(fixture.context, target, APPROVE)
    fixture.clock.advance(EXECUTION_LEASE_SECONDS)
    const resume = (stopBefore: number) => {
      const moment = fixture.clock.now().toISOString()
      return runAndKill(test, connectionString, moment, String(stopBefore))
    }
    outputs.push(await resume(statement))
    fixture.clock.advance(EXECUTION_LEASE_SECONDS)
    assert.equal(await resume(0), 'done')
    const [action] = await findActionsOfBatch(database, batchId)
    assert.equal(action?.status, 'verified', `killed before statement ${statement}`)
    assert.equal((await readCurrentEntity(fixture, 1)).version, 2)
    assert.deepEqual(await findInvariantViolations(fixture, { isOver: true }), [])
  }
  assert.deepEqual(new Set(outputs), new Set(['stopped']))
})
