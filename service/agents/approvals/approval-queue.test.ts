import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ApprovalQueue, QueuedBatchAnswer } from '@signalbox/contract/agents/approvals.ts'
import { Ajv } from 'ajv'
import {
  createAgentFixture,
  createFixtureMember,
  ENTITIES,
  propose,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { Refusal } from '../../runtime/http/refusal.ts'
import { applyExternalChange } from '../campaigns/simulated-account-store.ts'
import { BATCHES_PER_PAGE, readApprovalQueue, readQueuedBatch } from './approval-queue.ts'
import { decideActions } from './decide-actions.ts'

const RAISE = { type: 'increase_budget', entity: 1, budgetMinor: 12_000 } as const
const PAUSE = { type: 'pause', entity: 2 } as const
const ajv = new Ajv({ strict: false, formats: { 'date-time': true } })
const fitsQueue = ajv.compile(ApprovalQueue)
const fitsAnswer = ajv.compile(QueuedBatchAnswer)

it('returns pages of pending batches of the workspace, oldest first', async test => {
  const { database } = await createTestDatabase(test)
  const fixture = await createAgentFixture(database)
  await setPolicy(fixture, 'ask')
  const other = await createAgentFixture(database)
  await propose(other, RAISE)
  const ids: number[] = []
  for (let number = 0; number <= BATCHES_PER_PAGE; number += 1) {
    ids.push((await propose(fixture, number % 2 === 0 ? RAISE : PAUSE)).batchId)
    fixture.clock.advance(60)
  }
  const request = { user: fixture.owner, workspaceId: fixture.workspaceId }
  const body = { decision: 'reject', reason: 'No.' }
  await decideActions(fixture.context, { ...request, batchId: ids.shift() }, body)

  const queue = await readApprovalQueue(fixture.context, request, {})
  assert.ok(fitsQueue(queue), ajv.errorsText(fitsQueue.errors))
  assert.deepEqual(
    queue.batches.map(({ id }) => id),
    ids,
  )
  assert.equal(queue.has_more, false)
  await propose(fixture, RAISE)
  assert.equal((await readApprovalQueue(fixture.context, request, { page: '1' })).has_more, true)
  assert.equal((await readApprovalQueue(fixture.context, request, { page: '2' })).batches.length, 1)
  for (const page of ['0', 'x', -1]) {
    await assert.rejects(
      readApprovalQueue(fixture.context, request, { page }),
      error => error instanceof Refusal && error.status === 422,
    )
  }
})

it('tells the reader whether they may decide, and why not', async test => {
  const { database } = await createTestDatabase(test)
  const fixture = await createAgentFixture(database)
  const { workspaceId, context } = fixture
  await setPolicy(fixture, 'ask')
  const { batchId } = await propose(fixture, RAISE)
  const readAs = async (user = fixture.owner) => {
    const answer = await readQueuedBatch(context, { user, workspaceId, batchId })
    assert.ok(fitsAnswer(answer), ajv.errorsText(fitsAnswer.errors))
    return answer.batch
  }
  const batch = await readAs()
  assert.deepEqual([batch.may_decide, batch.may_not_reason], [true, null])
  assert.deepEqual([batch.currency, batch.ad_account_name], ['EUR', 'Shop EU'])
  assert.match(batch.responsible, /^[0-9a-f]{12}@people\.example$/)
  assert.match(String((await readAs(fixture.responsible)).may_not_reason), /your own credential/)
  const member = await createFixtureMember(fixture, 'member')
  assert.match(String((await readAs(member)).may_not_reason), /admins can decide/)
  fixture.clock.advance(72 * 3_600)
  assert.match(String((await readAs()).may_not_reason), /approval period has ended/)
  const request = { user: fixture.owner, workspaceId, batchId }
  await decideActions(context, request, { decision: 'approve', reason: 'Now.' })
  assert.match(String((await readAs()).may_not_reason), /no pending actions/)
  const stranger = await createAgentFixture(database)
  await assert.rejects(
    readQueuedBatch(context, { ...request, user: stranger.owner }),
    error => error instanceof Refusal && error.status === 404,
  )
})

it('lists stale actions, whose entity changed since the proposal', async test => {
  const { database } = await createTestDatabase(test)
  const fixture = await createAgentFixture(database)
  const { adAccountId, otherAccountId, workspaceId, context, clock } = fixture
  await setPolicy(fixture, 'ask')
  const { batchId, actionIds } = await propose(fixture, RAISE, PAUSE)
  const request = { user: fixture.owner, workspaceId, batchId }
  const change = { status: 'paused', at: clock.now() } as const
  await applyExternalChange(database, { adAccountId: otherAccountId, ...ENTITIES[1] }, change)
  const before = await readQueuedBatch(context, request)
  assert.deepEqual(before.batch.stale_action_ids, [])
  await applyExternalChange(database, { adAccountId, ...ENTITIES[2] }, change)
  const after = await readQueuedBatch(context, request)
  assert.deepEqual(after.batch.stale_action_ids, [actionIds[1]])
})
