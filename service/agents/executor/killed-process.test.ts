// Full run only: kills processes; all-or-nothing-crash.test.ts is in every run.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it, type TestContext } from 'node:test'
import {
  type AgentFixture,
  createAgentFixture,
  proposeTogether,
  readCurrentEntity,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import {
  APPROVAL,
  approveAction,
  changeBudgetExternally,
  failNextChange,
} from '../../../testing/fixtures/executions.ts'
import { findInvariantViolations } from '../../../testing/simulation/agents/invariants.ts'
import { recordActionTransitions } from '../../../testing/simulation/agents/transition-log.ts'
import { decideActions } from '../approvals/decide-actions.ts'
import type { Action } from '../proposals/action.ts'
import { getAction } from '../proposals/action-store.ts'
import { EXECUTION_LEASE_SECONDS, runExecution } from './execution-triggers.ts'

const PROGRAM = join(import.meta.dirname, '../../../testing/crash/executor-process.ts')
/**
 * Before the call, before the platform's commit, between the call and the settlement, before the
 * commit of the settlement, before the last commit. crash-at-every-statement.test.ts covers every
 * statement within one process.
 */
const KILLED_BEFORE = [21, 24, 25, 32, 43]

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

interface StopPoint {
  beforeStatement?: number
  /** Between the answer of the platform and its settlement. */
  afterChange?: number
}

interface Execution {
  fixture: AgentFixture
  /** Resumes the action in another process after the lease of the last one. */
  resume(stop?: StopPoint): Promise<string>
  readAction(): Promise<Action>
}

async function prepareExecution(
  test: TestContext,
  { database, connectionString }: Awaited<ReturnType<typeof createTestDatabase>>,
): Promise<Execution> {
  const fixture = await createAgentFixture(database)
  await setPolicy(fixture, 'ask')
  const { id } = await approveAction(fixture)
  const resume = ({ beforeStatement = 0, afterChange = 0 }: StopPoint = {}) => {
    fixture.clock.advance(EXECUTION_LEASE_SECONDS)
    const moment = fixture.clock.now().toISOString()
    const stops = [String(beforeStatement), String(afterChange)]
    return runAndKill(test, connectionString, moment, ...stops)
  }
  return { fixture, resume, readAction: () => getAction(database, id) }
}

/** Tells the invariants that the change is not the executor's. */
async function recordExternalChange(fixture: AgentFixture, dailyBudgetMinor: number) {
  await changeBudgetExternally(fixture, dailyBudgetMinor)
  const { rows } = await fixture.database.pool.query(
    'select transaction from recorded_changes order by position desc limit 1',
  )
  fixture.externalTransactions.add(rows[0].transaction)
}

it('resumes the action of a killed process, once', async test => {
  const stored = await createTestDatabase(test)
  await recordActionTransitions(stored.database)
  for (const beforeStatement of KILLED_BEFORE) {
    const { fixture, resume, readAction } = await prepareExecution(test, stored)
    const where = `killed before statement ${beforeStatement}`
    assert.equal(await resume({ beforeStatement }), 'stopped', where)
    assert.equal(await resume(), 'done')
    assert.equal((await readAction()).status, 'verified', where)
    assert.equal((await readCurrentEntity(fixture, 1)).version, 2, where)
    assert.deepEqual(await findInvariantViolations(fixture, { isOver: true }), [], where)
  }
})

it('ends as uncertain if the entity changed after a process was killed', async test => {
  const stored = await createTestDatabase(test)
  await recordActionTransitions(stored.database)
  // The request was committed, and the change was not made or was made.
  for (const stop of [{ beforeStatement: 22 }, { afterChange: 1 }]) {
    const { fixture, resume, readAction } = await prepareExecution(test, stored)
    assert.equal(await resume(stop), 'stopped')
    await recordExternalChange(fixture, 7_000)
    assert.equal(await resume(), 'done')
    const { status, outcome } = await readAction()
    assert.deepEqual([status, outcome], ['execution_uncertain', 'changed_elsewhere'])
    assert.equal((await readCurrentEntity(fixture, 1)).daily_budget_minor, 7_000)
    assert.deepEqual(await findInvariantViolations(fixture, { isOver: true }), [])
  }
})

it('ends with all or nothing if a process is killed after any change of a batch', async test => {
  const stored = await createTestDatabase(test)
  await recordActionTransitions(stored.database)
  const stops = [
    { afterChange: 1, fault: null },
    { afterChange: 3, fault: 'altered' },
    { afterChange: 2, fault: null },
    { afterChange: 4, fault: 'altered' },
  ] as const
  for (const { afterChange, fault } of stops) {
    const { fixture, resume, readAction } = await prepareExecution(test, stored)
    await runExecution(fixture.context, (await readAction()).id)
    const { batchId } = await proposeTogether(
      fixture,
      { type: 'increase_budget', entity: 1, budgetMinor: 13_000 },
      { type: 'decrease_budget', entity: 2, budgetMinor: 3_000 },
    )
    const target = { user: fixture.owner, workspaceId: fixture.workspaceId, batchId }
    await decideActions(fixture.context, target, APPROVAL)
    if (fault) await failNextChange(fixture, fault)
    assert.equal(await resume({ afterChange }), 'stopped')
    assert.equal(await resume(), 'done')
    const entities = [await readCurrentEntity(fixture, 1), await readCurrentEntity(fixture, 2)]
    assert.deepEqual(
      entities.map(({ daily_budget_minor }) => daily_budget_minor),
      fault ? [12_000, 4_000] : [13_000, 3_000],
      `killed after change ${afterChange}`,
    )
    assert.deepEqual(await findInvariantViolations(fixture, { isOver: true }), [])
  }
})

it('rolls back once if a process is killed after the rollback', async test => {
  const stored = await createTestDatabase(test)
  await recordActionTransitions(stored.database)
  const { fixture, resume, readAction } = await prepareExecution(test, stored)
  await failNextChange(fixture, 'altered')
  assert.equal(await resume({ afterChange: 2 }), 'stopped')
  assert.equal(await resume(), 'done')
  assert.equal((await readAction()).status, 'rolled_back')
  const { daily_budget_minor, version } = await readCurrentEntity(fixture, 1)
  assert.deepEqual([daily_budget_minor, version], [10_000, 3])
  assert.deepEqual(await findInvariantViolations(fixture, { isOver: true }), [])
})
