import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { ACTION_STATUSES, type ActionStatus } from '@signalbox/contract/agents/actions.ts'
import {
  buildProposal,
  createAgentFixture,
  FIXTURE_AUDIT_KEYS,
  resolvePrincipal,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { verifyChain } from '../../audit/verify-chain.ts'
import type { Transaction } from '../../runtime/db/database.ts'
import { ACTION_TRANSITIONS, canTransition, isFinal } from './action.ts'
import { findAction, lockActions } from './action-store.ts'
import { proposeActions } from './propose-actions.ts'
import { findReceipt } from './receipt-store.ts'
import { createAction, type TransitionInput, transitionAction } from './transition-action.ts'

async function stageOf(test: TestContext) {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  const { context, database, workspaceId, clock } = fixture
  const principal = await resolvePrincipal(fixture)
  const body = buildProposal({ type: 'pause', entity: 1 })
  const { batch, actions } = await proposeActions(context, principal, body)
  const [action] = actions
  if (!action) throw new Error('nothing was proposed')
  const name = { workspaceId, actionId: action.id }
  const inTransaction = <Result>(work: (transaction: Transaction) => Promise<Result>) =>
    database.query.transaction().execute(query => work({ query }))
  const transition = (input: Partial<TransitionInput> & { to: ActionStatus }) =>
    inTransaction(async transaction => {
      const [locked] = await lockActions(transaction, [action.id])
      if (!locked) throw new Error('the action is missing')
      const defaults = {
        outcome: null,
        at: clock.now(),
        actor: SYSTEM,
        auditAction: 'action.failed',
      } as const
      return transitionAction(transaction, context.audit, { ...defaults, ...input, action: locked })
    })
  const setStatus = (status: ActionStatus) =>
    database.pool.query('update agent_actions set status = $2 where id = $1', [action.id, status])
  return { ...fixture, batch, action, name, inTransaction, transition, setStatus }
}

const SYSTEM = { type: 'system', id: null } as const

it('makes every transition of the table and rejects all others', async test => {
  const { transition, setStatus, database, name } = await stageOf(test)
  for (const from of ACTION_STATUSES) {
    for (const to of ACTION_STATUSES) {
      if (canTransition(from, to)) continue
      await setStatus(from)
      await assert.rejects(transition({ to }), {
        message: `an action cannot go from ${from} to ${to}`,
      })
      assert.equal((await findAction(database, name))?.status, from)
    }
  }
  // Receipts are immutable, so an action ends once; other tests cover the other final statuses.
  for (const [from, to] of [
    ['pending', 'executing'],
    ['executing', 'executed_pending_verification'],
    ['executed_pending_verification', 'verified'],
  ] as const) {
    assert.ok((ACTION_TRANSITIONS[from] as readonly string[]).includes(to))
    await setStatus(from)
    assert.equal((await transition({ to })).status, to)
    assert.equal((await findAction(database, name))?.status, to)
  }
})

it('writes the row, its audit entry and, for a final status, its receipt', async test => {
  const { transition, database, name, workspaceId, clock, owner, action } = await stageOf(test)
  clock.advance(60)
  const at = clock.now()
  const actor = { type: 'person', id: String(owner.userId) } as const
  const decision = { decidedBy: owner.userId, decidedAt: at, decisionReason: 'Not this week.' }
  const updated = await transition({
    to: 'rejected',
    actor,
    auditAction: 'action.rejected',
    changes: decision,
    details: { decided: true },
  })
  assert.deepEqual(updated, {
    ...action,
    ...decision,
    status: 'rejected',
    finishedAt: at,
    updatedAt: at,
  })
  assert.deepEqual(await findAction(database, name), updated)
  const receipt = await findReceipt(database, name)
  assert.ok(receipt)
  const [entry] = await readAuditEntries(database, workspaceId, 'action.rejected')
  assert.deepEqual(entry?.details, {
    decided: true,
    batch_id: action.batchId,
    status: 'rejected',
    outcome: null,
    document_sha256: receipt.documentSha256.toString('hex'),
  })
  assert.deepEqual([entry?.actor, entry?.sequence], [actor, receipt.sequence])
  const document = JSON.parse(receipt.document)
  assert.deepEqual(document.decision, {
    decided_by: owner.userId,
    decided_at: at.toISOString(),
    reason: 'Not this week.',
    context: null,
  })
  const chain = await verifyChain(database, FIXTURE_AUDIT_KEYS, { workspaceId, now: at })
  assert.equal(chain.is_intact, true, chain.finding)
})

it('writes nothing if the action changed concurrently', async test => {
  const { inTransaction, action, context, database, workspaceId, name, clock } = await stageOf(test)
  const entries = await readAuditEntries(database, workspaceId)
  const stale = { ...action, status: 'executing' as const }
  const input = { to: 'failed', outcome: null, at: clock.now(), actor: SYSTEM } as const
  const transitioning = inTransaction(transaction =>
    transitionAction(transaction, context.audit, {
      ...input,
      auditAction: 'action.failed',
      action: stale,
    }),
  )
  await assert.rejects(transitioning, /changed concurrently/)
  assert.deepEqual(await readAuditEntries(database, workspaceId), entries)
  assert.deepEqual(await findAction(database, name), action)
})

it('creates an action only in the status of its decision', async test => {
  const { inTransaction, action, batch, context } = await stageOf(test)
  for (const status of ACTION_STATUSES) {
    if (status === 'pending') continue
    const input = { batch, action: { ...action, position: 1, status } }
    const creation = inTransaction(transaction => createAction(transaction, context.audit, input))
    await assert.rejects(creation, {
      message: `the decision require_approval does not create an action that is ${status}`,
    })
  }
})

it('has no transition from a final status', () => {
  const final = ACTION_STATUSES.filter(isFinal)
  assert.deepEqual(final.sort(), [
    ...['approved_without_execution', 'blocked', 'execution_uncertain', 'failed'],
    ...['rejected', 'rolled_back', 'verified'],
  ])
})
