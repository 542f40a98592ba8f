import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import {
  type AgentActionsFixture,
  createAgentActionsFixture,
} from '../testing/fixtures/agent-actions.ts'
import { type Reply, type RequestOptions, startTestService } from '../testing/fixtures/service.ts'
import { disconnectStore } from '../testing/fixtures/store-loss.ts'
import {
  AGENT_ACTION_OPERATIONS,
  AGENT_ACTION_RESPONSE_DESCRIPTIONS,
} from './agent-action-operations.ts'
import {
  type Address,
  assertDocumented,
  document,
  findExample,
  jsonContent,
} from './assert-documented.ts'
import { canonicalJson } from './canonical-json.ts'

const BASE = '/agent/workspaces/{workspace}'
const DRY_RUN: Address = [`${BASE}/actions/dry-run`, 'post']
const PROPOSE: Address = [`${BASE}/actions`, 'post']
const LIST: Address = [`${BASE}/actions`, 'get']
const POLICY: Address = [`${BASE}/actions/policy`, 'get']
const ACTION: Address = [`${BASE}/actions/{action}`, 'get']
const RECEIPT: Address = [`${BASE}/actions/{action}/decision-receipt`, 'get']
const BATCH: Address = [`${BASE}/action-batches/{batch}`, 'get']
const CANCEL: Address = [`${BASE}/action-batches/{batch}/cancel`, 'post']
const POSTS = [DRY_RUN, PROPOSE]
const ALL = [...POSTS, LIST, POLICY, ACTION, RECEIPT, BATCH, CANCEL]

it('describes the responses that only these operations have', () => {
  for (const { config, schema } of AGENT_ACTION_OPERATIONS) {
    const described = AGENT_ACTION_RESPONSE_DESCRIPTIONS[config.operationId]
    for (const [status, text] of Object.entries(described)) {
      assert.ok(status in schema.response)
      assert.match(text, /^[A-Z].+\.$/s)
    }
  }
})

it('201 for each documented proposal as in its example, then 200 with the same body', async test => {
  const fixture = await exampleWorld(test)
  const requests = requestsOf(PROPOSE)
  assert.equal(requests.length, 2)
  for (const [name, body] of requests) {
    const first = await fixture.send(PROPOSE, { body })
    assertDocumented(PROPOSE, first, 201)
    assert.deepEqual(fixture.shown(first), findExample(PROPOSE, 201, name))
    const again = await fixture.send(PROPOSE, { body })
    assertDocumented(PROPOSE, again, 200)
    assert.deepEqual(again.body, first.body)
    if (name === 'changes') assert.deepEqual(fixture.shown(again), findExample(PROPOSE, 200, name))
  }
})

it('200 for the documented dry run as in its example, and stores nothing', async test => {
  const fixture = await exampleWorld(test)
  for (const [name, body] of requestsOf(DRY_RUN)) {
    const reply = await fixture.send(DRY_RUN, { body })
    assertDocumented(DRY_RUN, reply, 200)
    assert.deepEqual(fixture.shown(reply), findExample(DRY_RUN, 200, name))
  }
  assert.deepEqual((await fixture.send(LIST)).body.actions, [])
})

it('200 returns the documented proposals exactly as in the examples', async test => {
  const fixture = await exampleWorld(test)
  for (const [, body] of requestsOf(PROPOSE)) await fixture.send(PROPOSE, { body })
  for (const [address, name, path] of [
    [LIST, 'pending', '/actions?status=pending&page=1&account_id=3'],
    [POLICY, 'first', '/actions/policy'],
    [ACTION, 'waiting', '/actions/41'],
    [ACTION, 'blocked', '/actions/43'],
    [BATCH, 'changes', '/action-batches/12'],
  ] as const) {
    const reply = await fixture.request('GET', path)
    assertDocumented(address, reply, 200)
    assert.deepEqual(fixture.shown(reply), findExample(address, 200, name), name)
  }
})

it('200 for a canceled proposal, then 409, and 403 for another token', async test => {
  const fixture = await exampleWorld(test)
  const [[, body] = []] = requestsOf(PROPOSE)
  await fixture.send(PROPOSE, { body })
  for (const [tier, name] of [
    ['write', 'not_own'],
    ['read', 'lacking'],
  ] as const) {
    const refused = await fixture.send(CANCEL, { secret: await fixture.issueToken({ tier }) })
    assertDocumented(CANCEL, refused, 403)
    assert.deepEqual(refused.body, findExample(CANCEL, 403, name))
  }
  const canceled = await fixture.send(CANCEL)
  assertDocumented(CANCEL, canceled, 200)
  assert.deepEqual(fixture.shown(canceled), findExample(CANCEL, 200, 'canceled'))
  const again = await fixture.send(CANCEL)
  assertDocumented(CANCEL, again, 409)
  assert.deepEqual(again.body, findExample(CANCEL, 409, 'nothing_pending'))
})

it('200 returns the receipt of the example with the digest of its document', async test => {
  const fixture = await exampleWorld(test)
  for (const [, body] of requestsOf(PROPOSE)) await fixture.send(PROPOSE, { body })
  const reply = await fixture.request('GET', '/actions/43/decision-receipt')
  assertDocumented(RECEIPT, reply, 200)
  // The hash depends on every earlier entry of the log.
  const { hash: linked, ...place } = reply.body.chain_entry
  const example = findExample(RECEIPT, 200, 'blocked')
  const { hash: _, ...shownPlace } = example.chain_entry
  assert.deepEqual(place, shownPlace)
  assert.deepEqual({ ...reply.body, chain_entry: example.chain_entry }, example)
  assert.equal(hash('sha256', canonicalJson(example.document)), example.document_sha256)
  const { rows } = await fixture.service.database.pool.query(
    'select hash from audit_entries where workspace_id = 2 and sequence = $1',
    [example.chain_entry.sequence],
  )
  assert.equal(rows[0].hash.toString('hex'), linked)
})

it('401 for a missing or unknown token, with a challenge without OAuth metadata', async test => {
  const fixture = await exampleWorld(test)
  for (const address of ALL) {
    for (const secret of [null, 'garbage', fixture.service.tracker.trackerSecret]) {
      const reply = await fixture.send(address, { secret })
      assertDocumented(address, reply, 401)
      assert.deepEqual(reply.body, findExample(address, 401, 'unauthenticated'))
      assert.equal(reply.headers.get('www-authenticate'), 'Bearer')
    }
  }
})

it('403 for a proposal with a read-only token, and for any token from a browser', async test => {
  const fixture = await exampleWorld(test)
  const secret = await fixture.issueToken({ tier: 'read' })
  for (const address of POSTS) {
    const [[, body] = []] = requestsOf(address)
    const reply = await fixture.send(address, { secret, body })
    assertDocumented(address, reply, 403)
    assert.deepEqual(reply.body, findExample(address, 403, 'lacking'))
  }
  for (const address of ALL) {
    const reply = await fixture.send(address, { headers: { origin: 'https://shop.example' } })
    assertDocumented(address, reply, 403)
    assert.deepEqual(reply.body, findExample(address, 403, 'from_a_browser'))
  }
})

it('404 for another workspace and for unknown resources', async test => {
  const fixture = await exampleWorld(test)
  const other = await createAgentActionsFixture(fixture.service)
  for (const address of ALL) {
    const reply = await fixture.send(address, { secret: other.token })
    assertDocumented(address, reply, 404)
    assert.deepEqual(reply.body, findExample(address, 404, 'another_workspace'))
  }
  for (const [address, name] of [
    [ACTION, 'no_action'],
    [RECEIPT, 'no_action'],
    [BATCH, 'no_batch'],
    [CANCEL, 'no_batch'],
  ] as const) {
    const reply = await fixture.send(address)
    assertDocumented(address, reply, 404)
    assert.deepEqual(reply.body, findExample(address, 404, name))
  }
  const [[, body] = []] = requestsOf(PROPOSE)
  await fixture.send(PROPOSE, { body })
  const waiting = await fixture.send(RECEIPT)
  assertDocumented(RECEIPT, waiting, 404)
  assert.deepEqual(waiting.body, findExample(RECEIPT, 404, 'not_ended'))
})

it('both operations with a body return 400, 413 and 415 as documented', async test => {
  const fixture = await exampleWorld(test)
  const csv = { 'content-type': 'text/csv' }
  for (const address of POSTS) {
    for (const [status, name, options] of [
      [400, 'not_json', { rawBody: '{' }],
      [413, 'too_large', { rawBody: ' '.repeat(262_145) }],
      [415, 'wrong_type', { rawBody: 'x', headers: csv }],
    ] as const) {
      const reply = await fixture.send(address, options)
      assertDocumented(address, reply, status)
      assert.deepEqual(reply.body, findExample(address, status, name))
    }
    const largest = await fixture.send(address, { rawBody: ' '.repeat(262_144) })
    assertDocumented(address, largest, 400)
  }
})

it('422 names a wrong ad account or a reused key, as documented', async test => {
  const fixture = await exampleWorld(test)
  for (const address of POSTS) {
    const [[, body] = []] = requestsOf(address)
    const reply = await fixture.send(address, { body: { ...(body as object), account_id: 4 } })
    assertDocumented(address, reply, 422)
    assert.deepEqual(reply.body, findExample(address, 422, 'account_id'))
  }
  const list = await fixture.request('GET', '/actions?account_id=4')
  assertDocumented(LIST, list, 422)
  assert.deepEqual(list.body, findExample(LIST, 422, 'account_id'))
  const [[, body] = []] = requestsOf(PROPOSE)
  await fixture.send(PROPOSE, { body })
  const other = await fixture.send(PROPOSE, {
    body: { ...(body as object), rationale: 'Another.' },
  })
  assertDocumented(PROPOSE, other, 422)
  assert.deepEqual(other.body, findExample(PROPOSE, 422, 'idempotency_key'))
})

it('500 for an internal error, and 503 while the store is unavailable', async test => {
  const fixture = await exampleWorld(test)
  const { pool } = fixture.service.database
  await pool.query(
    'alter table agent_batches rename to gone; alter table agent_policies rename to g',
  )
  await pool.query('alter table agent_receipts rename to lost')
  await assertEverywhere(fixture, 500, 'fault')
  await disconnectStore(fixture.service)
  await assertEverywhere(fixture, 503, 'store_away')
})

interface ExampleWorld extends AgentActionsFixture {
  send(address: Address, options?: RequestOptions): Promise<Reply>
  /** The response with the origin of the examples. */
  shown(reply: Reply): unknown
}

/** The IDs of the examples: workspace 2, ad account 3, token 5, batch 12, action 41. */
async function exampleWorld(test: TestContext): Promise<ExampleWorld> {
  const service = await startTestService(test, { limits: { agentRatePerMinute: 100_000 } })
  for (const [table, id] of [
    ['ad_accounts', 3],
    ['execution_tokens', 5],
    ['agent_batches', 12],
    ['agent_actions', 41],
  ]) {
    await service.database.pool.query(`alter table ${table} alter column id restart with ${id}`)
  }
  const fixture = await createAgentActionsFixture(service, { platformAccountId: '1234567890' })
  const send = (address: Address, options?: RequestOptions) => {
    const ids = address[0].slice(BASE.length).replace('{action}', '41').replace('{batch}', '12')
    return fixture.request(address[1].toUpperCase(), ids, options)
  }
  const shown = ({ text }: Reply) =>
    JSON.parse(text.replaceAll(service.url, 'https://signalbox.example'))
  return { ...fixture, send, shown }
}

async function assertEverywhere(
  fixture: ExampleWorld,
  status: number,
  name: string,
): Promise<void> {
  for (const address of ALL) {
    const [[, body] = []] = POSTS.includes(address) ? requestsOf(address) : []
    const reply = await fixture.send(address, body === undefined ? {} : { body })
    assertDocumented(address, reply, status)
    assert.deepEqual(reply.body, findExample(address, status, name))
  }
}

function requestsOf([path, method]: Address): [name: string, body: unknown][] {
  const examples = jsonContent(document.paths[path][method].requestBody).examples
  return Object.entries<{ value: unknown }>(examples).map(([name, { value }]) => [name, value])
}
