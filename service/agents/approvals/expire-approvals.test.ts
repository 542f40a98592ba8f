import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createAgentFixture, propose, setPolicy } from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { expireApprovals } from '../jobs.ts'
import { findActionsOfBatch } from '../proposals/action-store.ts'
import { decideActions } from './decide-actions.ts'

const RAISE = { type: 'increase_budget', entity: 1, budgetMinor: 12_000 } as const
const PAUSE = { type: 'pause', entity: 2 } as const
const HOURS_72 = 72 * 3_600

it('expires a pending action once, after 72 hours', async test => {
  const { database } = await createTestDatabase(test)
  const fixture = await createAgentFixture(database)
  await setPolicy(fixture, 'ask')
  const { batchId } = await propose(fixture, RAISE, PAUSE)
  fixture.clock.advance(1)
  const { batchId: younger } = await propose(fixture, RAISE)
  const expire = () => expireApprovals({ ...fixture.context, now: fixture.clock.now() })

  fixture.clock.advance(HOURS_72 - 2)
  assert.deepEqual(await expire(), { expired: 0, more: false })
  fixture.clock.advance(1)
  assert.deepEqual(await expire(), { expired: 2, more: false })
  assert.deepEqual(await expire(), { expired: 0, more: false })
  for (const { status, outcome } of await findActionsOfBatch(database, batchId)) {
    assert.deepEqual([status, outcome], ['rejected', 'expired'])
  }
  const [waiting] = await findActionsOfBatch(database, younger)
  assert.equal(waiting?.status, 'pending')
  const told = await readAuditEntries(database, fixture.workspaceId, 'action.rejected')
  assert.deepEqual(
    told.map(({ actor, details }) => [actor.type, details.outcome]),
    [
      ['system', 'expired'],
      ['system', 'expired'],
    ],
  )
})

it('ends the action once under a concurrent decision and expiry', async test => {
  const { database } = await createTestDatabase(test)
  const fixture = await createAgentFixture(database)
  await setPolicy(fixture, 'ask')
  const { batchId } = await propose(fixture, PAUSE)
  fixture.clock.advance(HOURS_72)
  const request = { user: fixture.owner, workspaceId: fixture.workspaceId, batchId }
  const body = { decision: 'reject', reason: 'Too late.' }
  await Promise.allSettled([
    decideActions(fixture.context, request, body),
    expireApprovals({ ...fixture.context, now: fixture.clock.now() }),
  ])
  const [action] = await findActionsOfBatch(database, batchId)
  assert.deepEqual([action?.status, action?.outcome], ['rejected', 'expired'])
  assert.equal((await readAuditEntries(database, fixture.workspaceId, 'action.rejected')).length, 1)
})
