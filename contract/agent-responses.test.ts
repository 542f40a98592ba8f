import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  agentResource,
  connectAgent,
  type OauthFixture,
  startOauthFixture,
} from '../testing/fixtures/oauth.ts'
import { samplePurchase } from '../testing/fixtures/sample-events.ts'
import { disconnectStore } from '../testing/fixtures/store-loss.ts'
import { AGENT_OPERATIONS, AGENT_RESPONSE_DESCRIPTIONS } from './agent-operations.ts'
import { type Address, assertDocumented, findExample } from './assert-documented.ts'

const CONTEXT: Address = ['/agent/context', 'get']
const PATH = '/api/v1/agent/context'

it('describes the responses that only agents get', () => {
  for (const { config, schema } of AGENT_OPERATIONS) {
    const described = AGENT_RESPONSE_DESCRIPTIONS[config.operationId]
    for (const [status, text] of Object.entries(described)) {
      assert.ok(status in schema.response)
      assert.match(text, /^[A-Z].+\.$/s)
    }
  }
})

it('200 returns the members of its example: connection, client, account, workspace and signals', async test => {
  const { fixture, ask } = await asked(test)
  const reply = await ask()
  assertDocumented(CONTEXT, reply, 200)
  const { workspace, service } = fixture
  const example = findExample(CONTEXT, 200, 'context')
  assert.deepEqual(shapeOf(reply.body), shapeOf(example))
  assert.deepEqual(reply.body, {
    connection: { id: 1, name: 'Test agent', approved_at: service.clock.now().toISOString() },
    client: { name: 'Test agent' },
    permissions: ['ad-account.read'],
    ad_account: {
      id: workspace.adAccountId,
      name: 'Shop EU',
      platform: 'meta',
      currency: 'EUR',
      time_zone: 'Europe/Berlin',
    },
    workspace: { id: workspace.workspaceId, name: workspace.workspaceName },
    signals: { tracker_connected: false, dataset_connected: false },
  })
})

it('200 reports whether signals arrive for this workspace and this ad account only', async test => {
  const { fixture, ask } = await asked(test)
  const { service, workspace } = fixture
  const { pool } = service.database
  await service.submit(samplePurchase())
  const signals = async () => (await ask()).body.signals
  assert.deepEqual(await signals(), { tracker_connected: false, dataset_connected: false })
  const { workspaceId, adAccountId } = workspace
  await pool.query('update trackers set workspace_id = $1', [workspaceId])
  assert.deepEqual(await signals(), { tracker_connected: true, dataset_connected: false })
  await pool.query('update destinations set platform_ad_account_id = $1', [adAccountId])
  assert.deepEqual(await signals(), { tracker_connected: true, dataset_connected: true })
  await pool.query(`update destinations set status = 'inactive'`)
  assert.deepEqual(await signals(), { tracker_connected: true, dataset_connected: false })
})

it('401 without a token, with a challenge that links to the metadata', async test => {
  const { fixture } = await asked(test)
  for (const headers of [{}, { authorization: 'Bearer x' }, { authorization: 'Basic x' }]) {
    const reply = await fixture.send(PATH, { headers: headers as Record<string, string> })
    assertDocumented(CONTEXT, reply, 401)
    assert.deepEqual(reply.body, findExample(CONTEXT, 401, 'unauthenticated'))
    const error = headers.authorization ? 'error="invalid_token", ' : ''
    assert.equal(
      reply.headers.get('www-authenticate'),
      `Bearer resource_metadata="${fixture.service.url}` +
        `/.well-known/oauth-protected-resource/api/v1/agent", ${error}scope="ad-account.read"`,
    )
  }
})

it('403 for a connection without the permission', async test => {
  const { fixture, ask } = await asked(test)
  await fixture.service.database.pool.query(`update agent_connections set permissions = '{}'`)
  const reply = await ask()
  assertDocumented(CONTEXT, reply, 403)
  assert.deepEqual(reply.body, findExample(CONTEXT, 403, 'lacking'))
})

it('500 for an internal error, and 503 while the store is unavailable', async test => {
  const { fixture, ask } = await asked(test)
  const { pool } = fixture.service.database
  await pool.query('alter table ad_accounts rename to gone')
  const fault = await ask()
  assertDocumented(CONTEXT, fault, 500)
  assert.deepEqual(fault.body, findExample(CONTEXT, 500, 'fault'))
  await disconnectStore(fixture.service)
  const away = await ask()
  assertDocumented(CONTEXT, away, 503)
  assert.deepEqual(away.body, findExample(CONTEXT, 503, 'store_away'))
})

async function asked(test: Parameters<typeof startOauthFixture>[0]) {
  const limits = { oauthRatePerMinute: 100_000 }
  const fixture: OauthFixture = await startOauthFixture(test, { limits })
  const { accessToken } = await connectAgent(fixture, agentResource(fixture))
  const headers = { authorization: `Bearer ${accessToken}` }
  return { fixture, ask: () => fixture.send(PATH, { headers }) }
}

/** Names and types, without values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]))
}
