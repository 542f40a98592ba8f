import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { canonicalJson } from '@signalbox/contract/canonical-json.ts'
import {
  buildProposal,
  createAgentFixture,
  createExecutionPrincipal,
  ENTITIES,
  FIXTURE_AUDIT_KEYS,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { blockAuditWrites, readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { verifyChain } from '../../audit/verify-chain.ts'
import { HOUR_MILLISECONDS } from '../../runtime/util/time.ts'
import { findAction } from './action-store.ts'
import { toProposalResult } from './proposal-view.ts'
import { PENDING_ACTIONS_MAX, proposeActions } from './propose-actions.ts'
import { findReceipt } from './receipt-store.ts'
import { recordToolUse } from './tool-use-store.ts'

const HOURS_72 = 72 * HOUR_MILLISECONDS
const RAISE = { type: 'increase_budget', entity: 1, budgetMinor: 11_000 } as const
const PAUSE = { type: 'pause', entity: 2 } as const
const IMPOSSIBLE = { type: 'resume', entity: 3 } as const

async function stageOf(test: TestContext) {
  const fixture = await createAgentFixture((await createTestDatabase(test)).database)
  const principal = await resolvePrincipal(fixture)
  const propose = (body: unknown, by = principal) => proposeActions(fixture.context, by, body)
  const count = async (table: string) =>
    (await fixture.database.pool.query(`select from ${table}`)).rowCount
  return { ...fixture, principal, propose, count, fixture }
}

it('returns 403 without the permission to propose, and stores nothing', async test => {
  const { fixture, propose, count } = await stageOf(test)
  const reader = await createExecutionPrincipal(fixture, { tier: 'read' })
  await assert.rejects(propose(buildProposal(RAISE), reader), { status: 403 })
  await assert.rejects(propose('nonsense', reader), { status: 403 })
  assert.equal(await count('agent_batches'), 0)
})

it('returns 422 for another ad account of the same workspace', async test => {
  const { propose, otherAccountId, adAccountId, count } = await stageOf(test)
  const other = propose({ ...buildProposal(RAISE), account_id: otherAccountId })
  await assert.rejects(other, {
    status: 422,
    errors: {
      account_id: ['The account_id field must be the ad account of this credential; omit it.'],
    },
  })
  assert.equal(await count('agent_batches'), 0)
  const { batch } = await propose({ ...buildProposal(RAISE), account_id: adAccountId })
  assert.equal(batch.adAccountId, adAccountId)
})

it('returns 403 if the ad account was disabled after authentication', async test => {
  const { propose, database, adAccountId, count } = await stageOf(test)
  await database.pool.query(`update ad_accounts set status = 'disabled' where id = $1`, [
    adAccountId,
  ])
  await assert.rejects(propose(buildProposal(RAISE)), { status: 403 })
  assert.equal(await count('agent_batches'), 0)
})

it('keeps an action that requires approval pending for 72 hours', async test => {
  const { propose, clock, workspaceId, adAccountId, database } = await stageOf(test)
  const body = buildProposal(RAISE, PAUSE)
  const { batch, actions, isNew } = await propose(body)
  assert.equal(isNew, true)
  assert.deepEqual(
    [batch.policyDecision, batch.policyVersion, batch.createdAt],
    ['require_approval', 0, clock.now()],
  )
  assert.equal(batch.expiresAt.getTime(), clock.now().getTime() + HOURS_72)
  assert.deepEqual(
    actions.map(action => [action.position, action.status, action.executionStartedAt]),
    [
      [0, 'pending', null],
      [1, 'pending', null],
    ],
  )
  for (const action of actions) {
    assert.deepEqual(await findAction(database, { workspaceId, actionId: action.id }), action)
    assert.deepEqual([action.workspaceId, action.adAccountId], [workspaceId, adAccountId])
  }
  const [raise, pause] = actions
  assert.equal(raise?.changeMinor, 1_000)
  assert.deepEqual(
    [raise?.before?.daily_budget_minor, raise?.proposed?.daily_budget_minor],
    [10_000, 11_000],
  )
  assert.deepEqual([pause?.before?.status, pause?.proposed?.status], ['active', 'paused'])
})

it('stores allowed actions as executing and impossible ones as blocked', async test => {
  const { fixture, propose, clock, database } = await stageOf(test)
  await setPolicy(fixture, 'auto_with_limits', { change_minor_max: 500 })
  const { batch, actions } = await propose(buildProposal(PAUSE, RAISE, IMPOSSIBLE))
  assert.equal(batch.policyDecision, 'block')
  const now = clock.now()
  assert.deepEqual(
    actions.map(action => [action.status, action.executionStartedAt, action.finishedAt]),
    [
      ['executing', now, null],
      ['pending', null, null],
      ['blocked', null, now],
    ],
  )
  const receipts = await Promise.all(
    actions.map(({ id, workspaceId }) => findReceipt(database, { workspaceId, actionId: id })),
  )
  assert.deepEqual(
    receipts.map(receipt => receipt?.actionId),
    [undefined, undefined, actions[2]?.id],
  )
})

it('audits the proposal, then each action with its decision', async test => {
  const { fixture, propose, database, workspaceId, principal, clock } = await stageOf(test)
  await setPolicy(fixture, 'auto_with_limits', { change_minor_max: 500 })
  const before = await readAuditEntries(database, workspaceId)
  const { batch, actions } = await propose(buildProposal(PAUSE, RAISE, IMPOSSIBLE))
  const entries = (await readAuditEntries(database, workspaceId)).slice(before.length)
  assert.deepEqual(
    entries.map(({ action, subject }) => [action, subject.type, subject.id]),
    [
      ['proposal.submitted', 'batch', String(batch.id)],
      ['action.allowed', 'action', String(actions[0]?.id)],
      ['action.approval_required', 'action', String(actions[1]?.id)],
      ['action.blocked', 'action', String(actions[2]?.id)],
    ],
  )
  const tokenId = 'tokenId' in principal ? principal.tokenId : 0
  for (const { actor, at } of entries) {
    assert.deepEqual(actor, { type: 'execution_token', id: String(tokenId) })
    assert.equal(at, clock.now().toISOString())
  }
  const [submitted, , waiting, blocked] = entries.map(({ details }) => {
    const { record_sha256, ...rest } = details
    assert.match(record_sha256, /^[0-9a-f]{64}$/)
    return rest
  })
  assert.deepEqual(submitted, {
    ad_account_id: batch.adAccountId,
    actions: 3,
    policy_version: 2,
    policy_decision: 'block',
    content_sha256: batch.contentSha256.toString('hex'),
  })
  const common = { batch_id: batch.id, outcome: null, policy_version: 2 }
  const reason_codes = ['change_amount_exceeded']
  assert.deepEqual(waiting, { ...common, status: 'pending', reason_codes })
  const receipt = await findReceipt(database, { workspaceId, actionId: actions[2]?.id ?? 0 })
  assert.ok(receipt)
  assert.deepEqual(blocked, {
    ...common,
    status: 'blocked',
    reason_codes: ['already_active'],
    document_sha256: receipt.documentSha256.toString('hex'),
  })
  assert.equal(hash('sha256', receipt.document, 'hex'), receipt.documentSha256.toString('hex'))
  assert.equal(receipt.document, canonicalJson(JSON.parse(receipt.document)))
  const chain = await verifyChain(database, FIXTURE_AUDIT_KEYS, { workspaceId, now: clock.now() })
  assert.equal(chain.is_intact, true, chain.finding)
})

it('stores nothing if the audit entry cannot be written', async test => {
  const { propose, database, count } = await stageOf(test)
  await blockAuditWrites(database)
  await assert.rejects(propose(buildProposal(RAISE, IMPOSSIBLE)), /audit_entries/)
  for (const table of ['agent_batches', 'agent_actions', 'agent_receipts']) {
    assert.equal(await count(table), 0, table)
  }
})

it('stores and returns the text of an agent unchanged, and never in the audit log', async test => {
  const { context, propose, database, workspaceId } = await stageOf(test)
  const hostile = `<script>alert(1)</script> "; drop table agent_actions; -- \u202e {{7*7}} 😀`
  const body = buildProposal(IMPOSSIBLE)
  const [action] = body.actions
  const target_entity = { ...ENTITIES[3], name: hostile }
  const target = { type: target_entity.type, id: target_entity.id, name: hostile }
  const { batch, actions } = await propose({
    ...body,
    rationale: hostile,
    idempotency_key: hostile.slice(0, 60),
    actions: [{ ...action, target_entity: target, rationale: hostile }],
  })
  const { proposal } = toProposalResult(context, { batch, actions })
  assert.equal(proposal.rationale, hostile)
  assert.equal(proposal.actions[0]?.rationale, hostile)
  assert.deepEqual(proposal.actions[0]?.target_entity, target)
  assert.doesNotMatch(JSON.stringify(await readAuditEntries(database, workspaceId)), /script/)
})

it('stores evidence with the time at which the credential used the tool', async test => {
  const { propose, principal, fixture, database, clock } = await stageOf(test)
  const readAt = clock.now()
  await recordToolUse(database, principal, 'get_account_state', readAt)
  clock.advance(60)
  const evidence = [{ source_tool: 'get_account_state', fields_used: ['a', 'b'], action_index: 0 }]
  const { batch } = await propose({ ...buildProposal(RAISE), evidence })
  const fields = ['a', 'b'].map(toField)
  assert.deepEqual(batch.provenance, {
    target_source: 'human_supplied',
    evidence: [{ ...evidence[0], tool_used_at: readAt.toISOString(), fields }],
  })
  const ofAnother = await resolvePrincipal(fixture, 'connection')
  const { batch: unused } = await propose({ ...buildProposal(RAISE), evidence }, ofAnother)
  assert.deepEqual(unused.provenance.evidence, [{ ...evidence[0], tool_used_at: null, fields }])
})

/** No answer of the tool was kept. */
function toField(path: string) {
  return { path, is_found: null, value: null, answered_at: null }
}

it('returns the URL of the approval page', async test => {
  const { context, propose, workspaceId, adAccountId, principal } = await stageOf(test)
  const { batch, actions } = await propose(buildProposal(RAISE, PAUSE))
  const { proposal } = toProposalResult(context, { batch, actions })
  const queue = `${context.publicOrigin()}/w/${workspaceId}/approvals`
  assert.deepEqual(
    { ...proposal, actions: proposal.actions.length, evidence_provenance: null },
    {
      id: batch.id,
      scope: { workspace_id: workspaceId, ad_account_id: adAccountId },
      evidence_provenance: null,
      status: 'pending_approval',
      policy_decision: 'require_approval',
      policy_reasons: [
        {
          code: 'suggest_only',
          message:
            'This workspace only accepts suggestions: a person decides and makes the change.',
        },
      ],
      approval_required: true,
      all_or_nothing: false,
      inbox_url: `${queue}/${batch.id}`,
      approval_queue_url: queue,
      rationale: 'More of what sells.',
      proposed_by: {
        type: 'execution_token',
        id: 'tokenId' in principal ? principal.tokenId : 0,
        name: 'Test token',
      },
      actions: 2,
    },
  )
})

it('names the connection as the proposer', async test => {
  const { fixture, propose, database, workspaceId } = await stageOf(test)
  const connection = await resolvePrincipal(fixture, 'connection')
  const { actions } = await propose(buildProposal(RAISE), connection)
  const id = 'connectionId' in connection ? connection.connectionId : 0
  const { userId } = connection
  assert.deepEqual(actions[0]?.proposer, { kind: 'connection', id, name: 'Test agent', userId })
  const [entry] = await readAuditEntries(database, workspaceId, 'proposal.submitted')
  assert.deepEqual(entry?.actor, { type: 'connection', id: String(id) })
})

it('does not find entities of another ad account', async test => {
  const { fixture, propose, database, otherAccountId } = await stageOf(test)
  await database.pool.query(
    `update ad_entities set id = '999' where ad_account_id = $1 and id = $2`,
    [otherAccountId, '903'],
  )
  const body = buildProposal({ type: 'pause', entity: 3 })
  const [action] = body.actions
  const foreign = { ...action, target_entity: { type: 'ad', id: '999' } }
  const { actions } = await propose({ ...body, actions: [foreign] })
  assert.deepEqual(
    [actions[0]?.status, actions[0]?.policyReasons[0]?.code, actions[0]?.before],
    ['blocked', 'entity_not_found', null],
  )
  const other = await createExecutionPrincipal(fixture, { account: otherAccountId })
  const own = await propose({ ...buildProposal(PAUSE), actions: [foreign] }, other)
  assert.equal(own.actions[0]?.status, 'pending')
})

it('returns 422 for too many pending actions, until some are decided', async test => {
  const { propose, database } = await stageOf(test)
  const proposed = (key: number) => ({ ...buildProposal(RAISE, PAUSE), idempotency_key: `k${key}` })
  for (let key = 0; key < PENDING_ACTIONS_MAX / 2; key += 1) await propose(proposed(key))
  const message = /^The actions field requires approval, .+ at most 200 pending actions/
  await assert.rejects(propose(proposed(500)), { status: 422, message })
  assert.equal((await propose(proposed(7))).isNew, false)
  assert.equal((await propose(buildProposal(IMPOSSIBLE))).batch.policyDecision, 'block')
  await database.pool.query(`update agent_actions set status = 'rejected' where batch_id = 1`)
  assert.equal((await propose(proposed(500))).isNew, true)
})
