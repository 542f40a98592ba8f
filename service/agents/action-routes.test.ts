import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  buildBudgetProposal,
  startAgentActionsFixture,
} from '../../testing/fixtures/agent-actions.ts'
import { issueAgentTokens } from '../../testing/fixtures/agent-tokens.ts'
import type { Reply } from '../../testing/fixtures/service.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { DAY_SECONDS } from '../runtime/util/time.ts'

it('returns 201 after executing allowed actions', async test => {
  const fixture = await startAgentActionsFixture(test)
  await allow(fixture)
  const reply = await fixture.request('POST', '/actions', {
    body: buildBudgetProposal(fixture.entityId(1)),
  })
  assert.equal(reply.status, 201, reply.text)
  const { id, status, approval_required, actions } = reply.body.proposal
  assert.equal(status, 'completed')
  assert.equal(approval_required, false)
  const batch = await fixture.request('GET', `/action-batches/${id}`)
  assert.equal(batch.body.batch.actions[0].status, 'verified')
  const receipt = await fixture.request('GET', `/actions/${actions[0].id}/decision-receipt`)
  assert.equal(receipt.body.disposition.outcome_status, 'verified')
  assert.equal(receipt.body.document.after.daily_budget_minor, 13_500)
})

it('returns 401 for anything but an active execution token', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { service, token } = fixture
  const { mcp, management } = await issueAgentTokens(service)
  const statusOf = async (secret: string | null) =>
    (await fixture.request('GET', '/actions', { secret })).status
  for (const secret of [null, 'garbage', mcp, management, service.tracker.trackerSecret]) {
    assert.equal(await statusOf(secret), 401)
  }
  const headers = { authorization: `Basic ${btoa(`${token}:`)}` }
  assert.equal((await fixture.request('GET', '/actions', { secret: null, headers })).status, 401)
  assert.equal(await statusOf(token), 200)
  const { pool } = service.database
  for (const table of ['people.users', 'workspaces', 'ad_accounts']) {
    await pool.query(`update ${table} set status = 'disabled'`)
    assert.equal(await statusOf(token), 401, table)
    await pool.query(`update ${table} set status = 'active'`)
  }
  service.clock.advance(30 * DAY_SECONDS)
  assert.equal(await statusOf(token), 401)
})

it('returns 401 immediately after revocation', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { client } = fixture.workspace.owner
  const path = `/browser/workspaces/${fixture.workspace.workspaceId}/execution-tokens`
  const { body } = await client.call('GET', path)
  await client.call('DELETE', `${path}/${body.tokens[0].id}`)
  assert.equal((await fixture.request('GET', '/actions/policy')).status, 401)
})

it('returns 404 for data of another ad account of the workspace', async test => {
  const fixture = await startAgentActionsFixture(test)
  const adAccountId = await fixture.addAccount()
  const secret = await fixture.issueToken({ adAccountId })
  const body = buildBudgetProposal(fixture.entityId(1, adAccountId))
  const { proposal } = (await fixture.request('POST', '/actions', { secret, body })).body
  const [action] = proposal.actions
  for (const path of [
    `/actions/${action.id}`,
    `/actions/${action.id}/decision-receipt`,
    `/action-batches/${proposal.id}`,
  ]) {
    assert.equal((await fixture.request('GET', path)).status, 404, path)
  }
  assert.equal((await fixture.request('GET', `/actions/${action.id}`, { secret })).status, 200)
  assert.deepEqual((await fixture.request('GET', '/actions')).body.actions, [])
  assert.equal((await fixture.request('GET', '/actions', { secret })).body.actions.length, 1)
})

it('returns 404 for invalid IDs', async test => {
  const fixture = await startAgentActionsFixture(test)
  const { service, token: secret } = fixture
  for (const id of ['0', '-1', 'x', '1e3', '2147483648', '%00', '1 ']) {
    assert.equal((await fixture.request('GET', `/actions/${id}`)).status, 404, id)
    assert.equal((await fixture.request('GET', `/action-batches/${id}`)).status, 404, id)
    const path = `/api/v1/agent/workspaces/${id}/actions`
    assert.equal((await service.request('GET', path, { secret })).status, 404, id)
  }
})

it('returns 422 naming every invalid and unknown field', async test => {
  const fixture = await startAgentActionsFixture(test)
  const action = { type: 'delete', params: { budget: 1 }, target_entity: { id: 'x' } }
  const body = { actions: [action], ad_account_id: 1, evidence: [], target_source: 'guess' }
  const reply = await fixture.request('POST', '/actions', { body })
  assert.equal(reply.status, 422)
  assert.deepEqual(Object.keys(reply.body.errors).toSorted(), [
    'actions.0.params.budget',
    'actions.0.rationale',
    'actions.0.target_entity.id',
    'actions.0.target_entity.type',
    'actions.0.type',
    'ad_account_id',
    'evidence',
    'idempotency_key',
    'rationale',
    'target_source',
  ])
  assert.deepEqual(reply.body.errors.ad_account_id, [
    'The ad_account_id field is not known here; remove it.',
  ])
})

it('names the next step in every error', async test => {
  const fixture = await startAgentActionsFixture(test)
  const reader = await fixture.issueToken({ tier: 'read' })
  const body = buildBudgetProposal(fixture.entityId(1))
  const { proposal } = (await fixture.request('POST', '/actions', { body })).body
  const { service, token: secret } = fixture
  const elsewhere = await service.request('GET', '/api/v1/agent/workspaces/999/actions', { secret })
  for (const [reply, status, nextStep] of [
    [elsewhere, 404, /Use the workspace that issued the token/],
    [await fixture.request('GET', '/actions/999'), 404, /List the actions to find its ID/],
    [await fixture.request('GET', '/action-batches/999'), 404, /Use the proposal\.id/],
    [
      await fixture.request('GET', `/actions/${proposal.actions[0].id}/decision-receipt`),
      404,
      /Read the action, and ask again when its finished_at is set/,
    ],
    [
      await fixture.request('POST', '/actions', { body, secret: reader }),
      403,
      /Ask an owner of the workspace for a token of the tier Write or Admin/,
    ],
    [
      await fixture.request('POST', '/actions', { body: { ...body, rationale: 'Other.' } }),
      422,
      /choose a new one/,
    ],
    [
      await fixture.request('POST', '/actions', { body: { ...body, dry_run: true } }),
      422,
      /remove it/,
    ],
  ] as const) {
    assert.equal(reply.status, status, reply.text)
    assert.match(reply.body.message, nextStep)
  }
})

it('accepts the body of a proposal as a dry run', async test => {
  const fixture = await startAgentActionsFixture(test)
  const body = buildBudgetProposal(fixture.entityId(1))
  const whole = await fixture.request('POST', '/actions/dry-run', { body })
  assert.equal(whole.status, 200, whole.text)
  const { actions } = body
  const alone = await fixture.request('POST', '/actions/dry-run', { body: { actions } })
  assert.deepEqual(whole.body, alone.body)
  const invalid = { ...body, evidence: [], rationale: ' ', idempotency_key: 'x'.repeat(65) }
  const refused = await fixture.request('POST', '/actions/dry-run', { body: invalid })
  assert.equal(refused.status, 422)
  assert.deepEqual(Object.keys(refused.body.errors).toSorted(), [
    'evidence',
    'idempotency_key',
    'rationale',
  ])
  assert.deepEqual((await fixture.request('GET', '/actions')).body.actions, [])
})

it('limits the size of a 422 response to many invalid actions', async test => {
  const fixture = await startAgentActionsFixture(test)
  const rawBody = `{"actions":[${Array(80_000).fill('{}').join(',')}]}`
  const reply = await fixture.request('POST', '/actions/dry-run', { rawBody })
  assert.equal(reply.status, 422)
  assert.ok(reply.text.length < 200_000, `${reply.text.length} bytes`)
})

it('accepts the longest valid proposal in four-byte characters', async test => {
  const fixture = await startAgentActionsFixture(test)
  const actions = Array.from({ length: 25 }, (_, index) => ({
    type: 'pause',
    params: {},
    target_entity: { type: 'ad', id: String(index + 1) },
    rationale: '🌱'.repeat(2_000),
  }))
  const body = buildBudgetProposal('1', { actions, rationale: '🌱'.repeat(4_000) })
  assert.ok(Buffer.byteLength(JSON.stringify(body)) > 200_000)
  const reply = await fixture.request('POST', '/actions', { body })
  assert.equal(reply.status, 201, reply.text.slice(0, 500))
})

it('returns 422 naming an invalid status and page', async test => {
  const fixture = await startAgentActionsFixture(test)
  for (const [query, field] of [
    ['status=done', 'status'],
    ['status=', 'status'],
    ['status=pending&status=failed', 'status'],
    ['page=0', 'page'],
    ['page=x', 'page'],
    ['page=2147483648', 'page'],
    ['account_id=', 'account_id'],
    ['account_id=999', 'account_id'],
  ]) {
    const reply = await fixture.request('GET', `/actions?${query}`)
    assert.equal(reply.status, 422, query)
    assert.deepEqual(Object.keys(reply.body.errors), [field], query)
  }
})

it('returns 201 to one of many concurrent identical proposals, else 200', async test => {
  const fixture = await startAgentActionsFixture(test)
  await allow(fixture)
  const body = buildBudgetProposal(fixture.entityId(1))
  const replies = await Promise.all(
    Array.from({ length: 6 }, () => fixture.request('POST', '/actions', { body })),
  )
  assert.deepEqual(statusesOf(replies), [200, 200, 200, 200, 200, 201])
  assert.equal(new Set(replies.map(reply => reply.body.proposal.id)).size, 1)
  const { rows } = await fixture.service.database.pool.query(
    'select version from ad_entities where id = $1',
    [fixture.entityId(1)],
  )
  assert.equal(rows[0].version, 2)
})

it('stores one of many concurrent proposals with one key, else returns 422', async test => {
  const fixture = await startAgentActionsFixture(test)
  const replies = await Promise.all(
    Array.from({ length: 6 }, (_, index) => {
      const body = buildBudgetProposal(fixture.entityId(1), { rationale: `Reason ${index}.` })
      return fixture.request('POST', '/actions', { body })
    }),
  )
  assert.deepEqual(statusesOf(replies), [201, 422, 422, 422, 422, 422])
})

it('limits requests per address for all tokens', async test => {
  const fixture = await startAgentActionsFixture(test, {
    limits: { agentRatePerMinute: 2 },
    monotonicSeconds: () => 1_000,
  })
  const secret = await fixture.issueToken()
  assert.equal((await fixture.request('GET', '/actions')).status, 200)
  assert.equal((await fixture.request('GET', '/actions', { secret })).status, 200)
  const refused = await fixture.request('POST', '/actions', { rawBody: '{' })
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '30')
  assert.equal(refused.headers.get('ratelimit-policy'), '"agents";q=2;w=60')
})

it('records the last use of a token, but not of a refused request', async test => {
  const fixture = await startAgentActionsFixture(test)
  const lastUse = async () => {
    const text = 'select last_used_at from execution_tokens'
    return (await fixture.service.database.pool.query(text)).rows[0].last_used_at
  }
  await fixture.request('GET', '/actions', { headers: { origin: 'https://shop.example' } })
  assert.equal(await lastUse(), null)
  await fixture.request('GET', '/actions')
  const at = fixture.service.clock.now()
  await waitUntil('the use is recorded', async () => (await lastUse())?.getTime() === at.getTime())
})

function statusesOf(replies: readonly Reply[]): number[] {
  return replies.map(({ status }) => status).toSorted()
}

type Under = Awaited<ReturnType<typeof startAgentActionsFixture>>

/** Actions within the limits need no approval. */
async function allow({ workspace }: Under): Promise<void> {
  const path = `/browser/workspaces/${workspace.workspaceId}/policy`
  const { body } = await workspace.owner.client.call('GET', path)
  const { version, limits } = body.policy
  const policy = { version, limits, execution_mode: 'auto_with_limits' }
  const reply = await workspace.owner.client.call('PUT', path, { body: policy })
  assert.equal(reply.status, 200)
}
