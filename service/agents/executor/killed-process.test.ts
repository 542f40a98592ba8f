import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it, type TestContext } from 'node:test'
import { watchActions } from '../../../testing/agent-moves.ts'
import { brokenPromises } from '../../../testing/agent-promises.ts'
import { agentStage, entityNow, propose, setPolicy } from '../../../testing/agent-stage.ts'
import { testStore } from '../../../testing/test-store.ts'
import { decideActions } from '../approvals/decide-actions.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import { EXECUTION_LEASE_SECONDS } from './execution-triggers.ts'

const PROGRAM = join(import.meta.dirname, '../../../testing/executor-program.ts')
const RAISE = { type: 'increase_budget', entity: 1, budgetMinor: 12_000 } as const
const APPROVE = { decision: 'approve', reason: 'It is worth it.' } as const
/**
 * Within the change, before its commit, between the two, within reading back, before the last
 * commit. Every statement is in death-at-every-statement.test.ts, without a process for each.
 */
const KILLED_BEFORE = [11, 17, 18, 22, 27]

/** Runs until it says something, and is ended without a word then. */
async function runAndKill(test: TestContext, ...options: string[]): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  test.after(() => child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })
  const [said = 'nothing'] = await Promise.race([once(lines, 'line'), exit.then(() => [])])
  if (said === 'stopped') child.kill('SIGKILL')
  const [, signal] = await exit
  assert.equal(signal, said === 'stopped' ? 'SIGKILL' : null)
  return said
}

it('a process that is killed halfway leaves an action that another finishes, once', async test => {
  const { database, connectionString } = await testStore(test)
  await watchActions(database)
  const said: string[] = []
  for (const statement of KILLED_BEFORE) {
    const stage = await agentStage(database)
    await setPolicy(stage, 'ask')
    const { batchId } = await propose(stage, RAISE)
    const visit = { person: stage.owner, workspaceId: stage.workspaceId, batchId }
    await decideActions(stage.context, visit, APPROVE)
    stage.clock.forward(EXECUTION_LEASE_SECONDS)
    const finish = (stopBefore: number) => {
      const moment = stage.clock.now().toISOString()
      return runAndKill(test, connectionString, moment, String(stopBefore))
    }
    said.push(await finish(statement))
    stage.clock.forward(EXECUTION_LEASE_SECONDS)
    assert.equal(await finish(0), 'done')
    const [action] = await findActionsOfBatch(database, batchId)
    assert.equal(action?.status, 'verified', `killed before statement ${statement}`)
    assert.equal((await entityNow(stage, 1)).version, 2)
    assert.deepEqual(await brokenPromises(stage, { isOver: true }), [])
  }
  assert.deepEqual(new Set(said), new Set(['stopped']))
})
