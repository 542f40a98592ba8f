import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  buildProposal,
  createAgentFixture,
  createExecutionPrincipal,
  FIXTURE_AUDIT_KEYS,
  resolvePrincipal,
  setPolicy,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { verifyChain } from '../../audit/verify-chain.ts'
import { openDatabase } from '../../runtime/db/database.ts'
import type { Refusal } from '../../runtime/http/refusal.ts'
import { proposeActions } from './propose-actions.ts'

const RAISE = { type: 'increase_budget', entity: 1, budgetMinor: 11_000 } as const
const PAUSE = { type: 'pause', entity: 2 } as const
const AT_ONCE = 16

async function stageOf(test: TestContext) {
  const { connectionString } = await createTestDatabase(test)
  const database = openDatabase({
    connectionString,
    connectionsMax: AT_ONCE,
    applicationName: 'signalbox test',
    onIdleError: () => {},
  })
  test.after(() => database.close())
  const fixture = await createAgentFixture(database)
  const principal = await resolvePrincipal(fixture)
  const propose = (body: unknown, by = principal) => proposeActions(fixture.context, by, body)
  const submitted = () => readAuditEntries(database, fixture.workspaceId, 'proposal.submitted')
  return { ...fixture, fixture, principal, propose, submitted }
}

const KEY_TAKEN = {
  status: 422,
  errors: {
    idempotency_key: [
      'The idempotency_key field was used for another proposal of this credential; ' +
        'choose a new one.',
    ],
  },
}

it('returns the stored proposal for the same key and equivalent content', async test => {
  const { propose, adAccountId, submitted, clock } = await stageOf(test)
  const body = buildProposal(RAISE, PAUSE)
  const first = await propose(body)
  clock.advance(3_600)
  const reordered = Object.fromEntries(Object.entries(body).reverse())
  for (const same of [body, { ...body, account_id: adAccountId }, reordered]) {
    const again = await propose(same)
    assert.deepEqual(again, { ...first, isNew: false })
  }
  assert.equal((await submitted()).length, 1)
})

it('returns the current state of the stored proposal after a policy change', async test => {
  const { fixture, propose } = await stageOf(test)
  const body = buildProposal(RAISE)
  const first = await propose(body)
  await setPolicy(fixture, 'auto_with_limits')
  const again = await propose(body)
  assert.deepEqual(again, { ...first, isNew: false })
  const anew = await propose({ ...body, idempotency_key: 'another key' })
  assert.equal(anew.actions[0]?.status, 'executing')
})

it('returns 422 on the key if anything else differs', async test => {
  const { propose, submitted } = await stageOf(test)
  const body = buildProposal(RAISE)
  await propose(body)
  const [action] = body.actions
  const others = [
    { ...body, rationale: 'Less of what sells.' },
    { ...body, actions: [{ ...action, rationale: 'It sells!' }] },
    { ...body, actions: [{ ...action, params: { new_daily_budget_minor: 11_001 } }] },
    { ...body, actions: [{ ...action, type: 'decrease_budget' }] },
    { ...body, actions: buildProposal(RAISE, PAUSE).actions },
    { ...body, evidence: [{ source_tool: 'get_action', fields_used: ['status'] }] },
  ]
  for (const other of others) await assert.rejects(propose(other), KEY_TAKEN)
  assert.equal((await submitted()).length, 1)
})

it('stores a proposal of its own for each credential and ad account', async test => {
  const { fixture, propose, principal, otherAccountId, submitted } = await stageOf(test)
  const body = buildProposal(RAISE)
  const callers = [
    principal,
    await resolvePrincipal(fixture, 'connection'),
    await createExecutionPrincipal(fixture),
    await createExecutionPrincipal(fixture, { account: otherAccountId }),
  ]
  const first = []
  for (const by of callers) first.push(await propose(body, by))
  assert.equal(new Set(first.map(({ batch }) => batch.id)).size, callers.length)
  for (const [at, by] of callers.entries()) {
    assert.deepEqual(await propose(body, by), { ...first[at], isNew: false })
    assert.equal(first[at]?.batch.idempotencyKey, body.idempotency_key)
    await assert.rejects(propose({ ...body, rationale: 'Less.' }, by), KEY_TAKEN)
  }
  assert.equal((await submitted()).length, callers.length)
})

it('finds proposals that an earlier version stored, and lets it store more', async test => {
  const { propose, database } = await stageOf(test)
  const body = buildProposal(RAISE)
  const { batch } = await propose(body)
  // What 0020 knew: no proposal_key, and one key in the workspace.
  const columns = `workspace_id, ad_account_id, content_sha256, rationale, target_source, evidence,
    proposer_kind, proposer_id, proposer_name, person_id, policy_version, policy_decision,
    created_at, expires_at`
  const insertAsBefore = (key: string) =>
    database.pool.query(
      `insert into agent_batches (idempotency_key, ${columns})
       select $1, ${columns} from agent_batches where id = $2
       on conflict (workspace_id, idempotency_key) do nothing returning id`,
      [key, batch.id],
    )
  const { rows } = await insertAsBefore('of before')
  const again = await propose({ ...body, idempotency_key: 'of before' })
  assert.deepEqual([again.isNew, again.batch.id], [false, rows[0].id])
  assert.deepEqual((await insertAsBefore('of before')).rows, [])
  // A retry that reaches the earlier version never becomes a second proposal.
  await assert.rejects(insertAsBefore(String(body.idempotency_key)), /agent_batches_by_key/)
})

it('accepts the same key in another workspace', async test => {
  const { propose, database } = await stageOf(test)
  const other = await createAgentFixture(database)
  const body = buildProposal(RAISE)
  const first = await propose(body)
  const second = await proposeActions(other.context, await resolvePrincipal(other), body)
  assert.equal(second.isNew, true)
  assert.notEqual(first.batch.id, second.batch.id)
})

it('stores one of many concurrent identical proposals and returns it to all', async test => {
  const { propose, submitted, database, workspaceId, clock } = await stageOf(test)
  const body = buildProposal(RAISE, PAUSE)
  const proposals = await Promise.all(Array.from({ length: AT_ONCE }, () => propose(body)))
  assert.equal(proposals.filter(({ isNew }) => isNew).length, 1)
  assert.equal(new Set(proposals.map(({ batch }) => batch.id)).size, 1)
  for (const { actions } of proposals) {
    assert.deepEqual(actions, proposals[0]?.actions)
    assert.equal(actions.length, 2)
  }
  assert.equal((await submitted()).length, 1)
  const chain = await verifyChain(database, FIXTURE_AUDIT_KEYS, { workspaceId, now: clock.now() })
  assert.equal(chain.is_intact, true, chain.finding)
})

it('stores one of many concurrent proposals with one key; the others get 422', async test => {
  const { propose, submitted } = await stageOf(test)
  const body = buildProposal(RAISE)
  const tries = Array.from({ length: AT_ONCE }, (_, at) =>
    propose({ ...body, rationale: `Number ${at}.` }),
  )
  const results = await Promise.allSettled(tries)
  const kept = results.filter(({ status }) => status === 'fulfilled')
  assert.equal(kept.length, 1)
  for (const result of results) {
    if (result.status === 'rejected') assert.equal((result.reason as Refusal).status, 422)
  }
  assert.equal((await submitted()).length, 1)
})

it('stores one proposal for each of two ad accounts that use a key concurrently', async test => {
  const { fixture, principal, propose, otherAccountId, submitted } = await stageOf(test)
  const other = await createExecutionPrincipal(fixture, { account: otherAccountId })
  const rounds = 6
  for (let round = 0; round < rounds; round += 1) {
    const body = buildProposal(RAISE)
    const results = await Promise.all(
      [principal, other, principal, other].map(by => propose(body, by)),
    )
    assert.equal(new Set(results.map(({ batch }) => batch.id)).size, 2)
    assert.equal(results.filter(({ isNew }) => isNew).length, 2)
  }
  assert.equal((await submitted()).length, 2 * rounds)
})
