import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { ACTIONS_PER_PAGE } from '@signalbox/contract/agents/tool-inputs.ts'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import {
  buildProposal,
  createAgentFixture,
  createExecutionPrincipal,
  type ProposedChange,
  resolvePrincipal,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import type { Refusal } from '../../runtime/http/refusal.ts'
import { proposeActions } from './propose-actions.ts'
import { listActions, type ReadScope, readAction, readBatch, readReceipt } from './read-actions.ts'

const RAISE = { type: 'increase_budget', entity: 1, budgetMinor: 11_000 } as const
const IMPOSSIBLE = { type: 'resume', entity: 3 } as const

async function stageOf(test: TestContext) {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  const { workspaceId, adAccountId, otherAccountId, context } = fixture
  const principal = await resolvePrincipal(fixture)
  const propose = async (changes: ProposedChange[], by = principal) =>
    proposeActions(context, by, buildProposal(...changes))
  const scope: ReadScope = { workspaceId, adAccountId }
  const foreign: ReadScope[] = [
    { workspaceId, adAccountId: otherAccountId },
    { workspaceId: workspaceId + 1_000, adAccountId: null },
  ]
  return { ...fixture, fixture, propose, scope, foreign }
}

it('lists the actions of an ad account page by page, newest first', async test => {
  const { context, propose, scope } = await stageOf(test)
  const ids: number[] = []
  for (let count = 0; count <= ACTIONS_PER_PAGE; count += 1) {
    const { actions } = await propose([RAISE])
    ids.unshift(...actions.map(({ id }) => id))
  }
  const first = await listActions(context, scope, {})
  assert.deepEqual(
    first.actions.map(({ id }) => id),
    ids.slice(0, ACTIONS_PER_PAGE),
  )
  assert.deepEqual([first.page, first.per_page, first.has_more], [1, ACTIONS_PER_PAGE, true])
  for (const page of ['2', 2]) {
    const second = await listActions(context, scope, { page })
    assert.deepEqual(
      second.actions.map(({ id }) => id),
      ids.slice(ACTIONS_PER_PAGE),
    )
    assert.deepEqual([second.page, second.has_more], [2, false])
  }
  assert.deepEqual((await listActions(context, scope, { page: 2_147_483_647 })).actions, [])
})

it('filters actions by status, ad account and workspace', async test => {
  const { fixture, context, propose, scope, otherAccountId, workspaceId } = await stageOf(test)
  const { actions: own } = await propose([RAISE, IMPOSSIBLE])
  const other = await createExecutionPrincipal(fixture, { account: otherAccountId })
  const { actions: others } = await propose([RAISE], other)
  const idsOf = async (where: ReadScope, status?: string) => {
    const { actions } = await listActions(context, where, status === undefined ? {} : { status })
    return actions.map(({ id }) => id)
  }
  const [raise = 0, impossible = 0] = own.map(({ id }) => id)
  const foreign = others[0]?.id
  assert.deepEqual(await idsOf(scope), [impossible, raise])
  assert.deepEqual(await idsOf(scope, 'blocked'), [impossible])
  assert.deepEqual(await idsOf(scope, 'verified'), [])
  const whole = { workspaceId, adAccountId: null }
  assert.deepEqual(await idsOf(whole), [foreign, impossible, raise])
  assert.deepEqual(await idsOf(whole, 'pending'), [foreign, raise])
})

it('returns 422 for an invalid status or page', async test => {
  const { context, scope } = await stageOf(test)
  const wrong = [
    [{ status: 'done' }, ['status']],
    [{ status: '' }, ['status']],
    [{ status: ['pending'] }, ['status']],
    [{ page: '0' }, ['page']],
    [{ page: -1 }, ['page']],
    [{ page: 'two' }, ['page']],
    [{ page: '99999999999' }, ['page']],
    [{ status: null, page: null }, ['status', 'page']],
  ] as const
  for (const [query, fields] of wrong) {
    await assert.rejects(listActions(context, scope, query), ({ status, errors }: Refusal) => {
      assert.equal(status, 422)
      assert.deepEqual(Object.keys(errors ?? {}), fields)
      return true
    })
  }
})

it('returns an action with its history', async test => {
  const { context, propose, scope, clock } = await stageOf(test)
  const { batch, actions } = await propose([RAISE])
  const id = actions[0]?.id ?? 0
  for (const given of [id, String(id)]) {
    const { action } = await readAction(context, scope, given)
    const at = clock.now().toISOString()
    const expiresAt = batch.expiresAt.toISOString()
    const { before, proposed, policy_evidence, policy_reasons, proposed_by, ...rest } = action
    assert.deepEqual(rest, {
      id,
      batch_id: batch.id,
      type: 'increase_budget',
      status: 'pending',
      outcome: null,
      target_entity: { type: 'campaign', id: '901', name: null },
      params: { new_daily_budget_minor: 11_000 },
      rationale: 'It sells.',
      explanation: `A person can approve or reject it until ${expiresAt}; check again later.`,
      policy_decision: 'require_approval',
      after: null,
      decided_at: null,
      decision_reason: null,
      executed_at: null,
      finished_at: null,
      expires_at: expiresAt,
      created_at: at,
      updated_at: at,
    })
    assert.equal(policy_evidence.change_minor, 1_000)
    assert.equal(policy_reasons[0]?.code, 'suggest_only')
    assert.deepEqual(proposed_by.name, 'Test token')
    assert.deepEqual([before?.daily_budget_minor, proposed?.daily_budget_minor], [10_000, 11_000])
  }
})

it('returns a batch with its actions and derived status', async test => {
  const { context, propose, scope } = await stageOf(test)
  const { batch, actions } = await propose([RAISE, IMPOSSIBLE])
  const { batch: read } = await readBatch(context, scope, String(batch.id))
  assert.deepEqual(
    [read.id, read.status, read.policy_decision, read.idempotency_key, read.rationale],
    [batch.id, 'pending_approval', 'block', batch.idempotencyKey, 'More of what sells.'],
  )
  assert.match(read.inbox_url, new RegExp(`/w/${scope.workspaceId}/approvals/${batch.id}$`))
  assert.deepEqual(
    read.actions.map(({ id, status }) => [id, status]),
    actions.map(({ id, status }) => [id, status]),
  )
})

it('returns the receipt that the audit entry names', async test => {
  const { context, propose, scope, database, workspaceId } = await stageOf(test)
  const { actions } = await propose([IMPOSSIBLE])
  const id = actions[0]?.id ?? 0
  const receipt = await readReceipt(context, scope, id)
  const { document, document_sha256, chain_entry, disposition } = receipt
  assert.equal(hash('sha256', canonicalJson(document), 'hex'), document_sha256)
  assert.deepEqual([document.action_id, document.status], [id, 'blocked'])
  const entry = (await readAuditEntries(database, workspaceId)).find(
    ({ sequence }) => sequence === chain_entry.sequence,
  )
  assert.deepEqual(
    [entry?.action, entry?.subject.id, entry?.details.document_sha256],
    ['action.blocked', String(id), document_sha256],
  )
  assert.deepEqual(disposition, {
    receipt_status: 'final',
    outcome_status: 'blocked',
    recovery_disposition: 'none',
  })
})

it('returns 404 for the receipt of an open action', async test => {
  const { context, propose, scope } = await stageOf(test)
  const { actions } = await propose([RAISE])
  await assert.rejects(readReceipt(context, scope, actions[0]?.id), {
    status: 404,
    message:
      'This action has no receipt yet: it gets one when it is completed. Read the action, and ask ' +
      'again when its finished_at is set.',
  })
})

it('returns 404 for actions and batches of another ad account or workspace', async test => {
  const { context, propose, scope, foreign } = await stageOf(test)
  const { batch, actions } = await propose([IMPOSSIBLE])
  const id = actions[0]?.id
  for (const where of foreign) {
    await assert.rejects(readAction(context, where, id), { status: 404 })
    await assert.rejects(readReceipt(context, where, id), { status: 404 })
    await assert.rejects(readBatch(context, where, batch.id), { status: 404 })
    assert.deepEqual((await listActions(context, where, {})).actions, [])
  }
  for (const nothing of [0, -1, 'x', '1e3', '', null, undefined, 2 ** 31, 999_999]) {
    await assert.rejects(readAction(context, scope, nothing), { status: 404 })
    await assert.rejects(readReceipt(context, scope, nothing), { status: 404 })
    await assert.rejects(readBatch(context, scope, nothing), { status: 404 })
  }
})
