import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Tier } from '@signalbox/contract/session/agent-permissions.ts'
import { issueAgentTokens } from '../../../testing/fixtures/agent-tokens.ts'
import { buildProposal } from '../../../testing/fixtures/agents.ts'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import { createMcpFixture, type McpFixture } from '../../../testing/fixtures/mcp.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { issueExecutionToken } from '../../workspaces/oauth/execution-tokens.ts'

const TOOLS = [
  'get_account_state',
  'get_signal_health',
  'get_performance',
  'explain_delivery',
  'search_events',
  'verify_signal_ingestion',
  'dry_run_actions',
  'propose-actions',
  'cancel_proposal',
  'list_actions',
  'get_action',
  'get_action_batch',
  'get_action_decision_receipt',
  'get_action_policy',
]
const MORE = { type: 'increase_budget', entity: 1, budgetMinor: 11_000 } as const
const SILLY = { type: 'increase_budget', entity: 1, budgetMinor: 1 } as const

it('lists every tool in a fixed order', async test => {
  const mcp = await createMcpFixture(await startTestService(test))
  const { result } = await mcp.request('tools/list')
  assert.deepEqual(
    result.tools.map(({ name }: { name: string }) => name),
    TOOLS,
  )
})

it('returns the requested data from every tool', async test => {
  const mcp = await ready(await startTestService(test))
  const { adAccountId, workspaceId } = mcp.tokens.workspace
  const { content: state } = await mcp.callTool('get_account_state')
  assert.deepEqual([state.ad_account.id, state.workspace.id], [adAccountId, workspaceId])
  assert.equal(state.entities.length, 4)
  assert.equal(state.credential.type, 'connection')
  const { content: health } = await mcp.callTool('get_signal_health')
  assert.deepEqual(
    health.trackers.map(({ id }: { id: string }) => id),
    [mcp.service.tracker.trackerId],
  )
  const { content: performance } = await mcp.callTool('get_performance')
  assert.deepEqual([performance.since, performance.until], ['2026-11-15', '2026-11-21'])
  for (const isAgain of [false, true]) {
    const { verifications } = (await mcp.callTool('verify_signal_ingestion')).content
    assert.equal(verifications.length, 1)
    assert.deepEqual([verifications[0].duplicate, verifications[0].is_stored], [isAgain, true])
  }
  const { content: policy } = await mcp.callTool('get_action_policy')
  assert.equal(policy.policy.execution_mode, 'suggest_only')
})

it('stores a proposal once and returns its current state', async test => {
  const mcp = await ready(await startTestService(test))
  const body = buildProposal(MORE)
  const { content: first } = await mcp.callTool('propose-actions', body)
  const { content: again } = await mcp.callTool('propose-actions', body)
  assert.deepEqual(again, first)
  assert.equal(first.proposal.approval_required, true)
  assert.equal(first.proposal.evidence_provenance.evidence[0].tool_used_at !== null, true)
  const other = { ...body, rationale: 'Something else.' }
  const refused = await mcp.callTool('propose-actions', other)
  assert.equal(refused.isError, true)
  assert.match(refused.text, /idempotency_key/)
  const { content } = await mcp.callTool('list_actions')
  assert.equal(content.actions.length, 1)
  const { content: batch } = await mcp.callTool('get_action_batch', { batch_id: first.proposal.id })
  assert.equal(batch.batch.status, 'pending_approval')
  const waiting = { action_id: first.proposal.actions[0].id }
  const receipt = await mcp.callTool('get_action_decision_receipt', waiting)
  assert.equal(receipt.isError, true)
  assert.match(receipt.text, /Next step: /)
})

/** Valid arguments of the tools that require some. */
function validInputs(): Record<string, object> {
  return {
    'propose-actions': buildProposal(MORE),
    dry_run_actions: { actions: buildProposal(MORE).actions },
    get_action: { action_id: 1 },
    get_action_decision_receipt: { action_id: 1 },
    get_action_batch: { batch_id: 1 },
    cancel_proposal: { batch_id: 1 },
  }
}

it('requires get_account_state first for each credential, and again after an hour', async test => {
  const mcp = await createMcpFixture(await startTestService(test))
  const { tokens, service } = mcp
  const others = TOOLS.filter(name => name !== 'get_account_state')
  const given = validInputs()
  for (const name of others) {
    const answer = await mcp.callTool(name, given[name])
    assert.equal(answer.isError, true, name)
    assert.match(answer.text, /Next step: call get_account_state without arguments/)
  }
  assert.equal((await mcp.callTool('get_account_state')).isError, false)
  assert.equal((await mcp.callTool('list_actions')).isError, false)
  const ofAnother = await mcp.callTool('list_actions', {}, { token: tokens.execution })
  assert.match(ofAnother.text, /call get_account_state/)
  await mcp.callTool('get_account_state', {}, { token: tokens.execution })
  service.clock.advance(3_600)
  const inTime = await mcp.callTool('list_actions', {}, { token: tokens.execution })
  assert.equal(inTime.isError, false)
  service.clock.advance(1)
  const late = await mcp.callTool('list_actions', {}, { token: tokens.execution })
  assert.match(late.text, /within the last hour/)
})

it('names unknown and invalid arguments', async test => {
  const mcp = await ready(await startTestService(test))
  const smuggled = { ad_account_id: 1, workspace_id: 1 }
  const given = validInputs()
  for (const name of TOOLS) {
    const answer = await mcp.callTool(name, { ...given[name], ...smuggled })
    assert.equal(answer.isError, true, name)
    for (const member of Object.keys(smuggled)) {
      assert.ok(
        answer.text.includes(`The ${member} field is not known here; remove it.`),
        answer.text,
      )
    }
    assert.match(answer.text, /Next step: correct what is named above/)
    const prototype = JSON.parse('{"__proto__": {"workspace_id": 1}}')
    const hostile = await mcp.callTool(name, { ...given[name], ...prototype })
    assert.match(hostile.text, /The __proto__ field is not known here; remove it\./, name)
  }
  for (const [name, arguments_, fault] of [
    ['get_performance', { days: 0 }, /The days field must be at least 1\./],
    ['get_performance', { days: 91 }, /The days field must not be greater than 90\./],
    ['get_performance', { days: '7' }, /The days field must be an integer\./],
    ['list_actions', { status: 'all' }, /The status field must be one of: pending, /],
    ['get_action', {}, /The action_id field is required\./],
    ['get_action_batch', { batch_id: 0 }, /The batch_id field must be at least 1\./],
    ['propose-actions', { ...buildProposal(MORE), account_id: 999 }, /The account_id field /],
    ['propose-actions', {}, /- The actions field is required\.\n- .*evidence/s],
  ] as [string, object, RegExp][]) {
    const answer = await mcp.callTool(name, arguments_)
    assert.equal(answer.isError, true, name)
    assert.match(answer.text, fault)
  }
})

it('proposes the same under the name with an underscore', async test => {
  const mcp = await ready(await startTestService(test))
  const body = buildProposal(MORE)
  const { content: first } = await mcp.callTool('propose_actions', body)
  const { content: again } = await mcp.callTool('propose-actions', body)
  assert.deepEqual(again, first)
  // Since 2026-07-28 a header repeats the name.
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' }
  const call = { name: 'propose_actions', arguments: body, _meta }
  const named = { headers: { ...headers, 'mcp-name': 'propose_actions' } }
  const { result } = await mcp.request('tools/call', call, named)
  assert.deepEqual(result.structuredContent, first)
  const other = { headers: { ...headers, 'mcp-name': 'get_action' } }
  assert.ok((await mcp.request('tools/call', call, other)).error)
})

it('lists the entities that exist when an action names one that does not', async test => {
  const mcp = await ready(await startTestService(test))
  const { actions } = buildProposal(MORE)
  const [action] = actions
  const wrong = { ...action, target_entity: { type: 'campaign', id: '9010' } }
  const expected = [{ type: 'campaign', id: '901', name: 'Autumn' }]
  const { content: preview } = await mcp.callTool('dry_run_actions', { actions: [wrong] })
  assert.equal(preview.dry_run.actions[0].status, 'dry_run_unavailable')
  assert.deepEqual(preview.valid_entities, expected)
  const body = { ...buildProposal(MORE), actions: [wrong] }
  const { content: proposed } = await mcp.callTool('propose-actions', body)
  assert.equal(proposed.proposal.status, 'blocked')
  assert.deepEqual(proposed.valid_entities, expected)
  const { content: right } = await mcp.callTool('dry_run_actions', { actions })
  assert.equal('valid_entities' in right, false)
})

it('writes one line for an error that many actions share', async test => {
  const mcp = await ready(await startTestService(test))
  const { actions } = buildProposal(MORE)
  const action = { ...actions[0], params: { new_daily_budget_minor: 1.5 }, extra: true }
  const { text } = await mcp.callTool('dry_run_actions', { actions: Array(25).fill(action) })
  const lines = text.split('\n')
  assert.deepEqual(lines.slice(0, 3), [
    'Refused.',
    '- The actions.*.extra field is not known here; remove it. (25 times, from actions.0.extra ' +
      'to actions.24.extra)',
    '- The actions.*.params.new_daily_budget_minor field must be an integer. (25 times, from ' +
      'actions.0.params.new_daily_budget_minor to actions.24.params.new_daily_budget_minor)',
  ])
  assert.ok(lines.length <= 5, text)
})

it('does not find data of another workspace', async test => {
  const mcp = await ready(await startTestService(test))
  const { content } = await mcp.callTool('propose-actions', buildProposal(SILLY))
  const stranger = { token: (await issueAgentTokens(mcp.service)).mcp }
  await mcp.callTool('get_account_state', {}, stranger)
  const [action] = content.proposal.actions
  for (const [name, given] of [
    ['get_action', { action_id: action.id }],
    ['get_action_decision_receipt', { action_id: action.id }],
    ['get_action_batch', { batch_id: content.proposal.id }],
  ] as const) {
    assert.equal((await mcp.callTool(name, given)).isError, false, name)
    const answer = await mcp.callTool(name, given, stranger)
    assert.equal(answer.isError, true, name)
    assert.match(answer.text, /Next step: call list_actions/)
  }
  const { content: listed } = await mcp.callTool('list_actions', {}, stranger)
  assert.deepEqual(listed.actions, [])
})

it('lets a Read token read, and refuses its proposals with an explanation', async test => {
  const mcp = await createMcpFixture(await startTestService(test))
  const token = await tokenOf(mcp, 'read')
  assert.equal((await mcp.callTool('get_account_state', {}, { token })).isError, false)
  for (const [name, given] of [
    ['propose-actions', buildProposal(MORE)],
    ['propose_actions', buildProposal(MORE)],
    ['dry_run_actions', { actions: buildProposal(MORE).actions }],
  ] as const) {
    const answer = await mcp.callTool(name, given, { token })
    assert.equal(answer.isError, true)
    assert.match(
      answer.text,
      /^This credential lacks the permission actions\.propose\. Ask an owner .+\nNext step: /,
    )
  }
})

it('logs an internal error and returns a generic message', async test => {
  const mcp = await ready(await startTestService(test))
  await mcp.service.database.pool.query('alter table agent_policies rename to gone')
  const answer = await mcp.callTool('get_action_policy')
  assert.equal(answer.isError, true)
  const [, requestId = ''] = /on our side; (req_\w+) helps/.exec(answer.text) ?? []
  assert.equal(answer.text.includes('agent_policies'), false)
  assert.ok(mcp.service.logged().includes(requestId))
  assert.match(mcp.service.logged(), /tool call failed/)
})

it('returns a protocol error for an unknown tool', async test => {
  const mcp = await createMcpFixture(await startTestService(test))
  const { error } = await mcp.request('tools/call', { name: 'drop_tables', arguments: {} })
  assert.equal(error.code, -32_602)
})

/** After get_account_state. */
async function ready(service: McpFixture['service']): Promise<McpFixture> {
  const mcp = await createMcpFixture(service)
  await mcp.callTool('get_account_state')
  return mcp
}

async function tokenOf({ service, tokens }: McpFixture, tier: Tier): Promise<string> {
  const { workspaceId, adAccountId, owner } = tokens.workspace
  const scope = { database: service.database, audit: createTestAuditTrail(service) }
  const { token } = await issueExecutionToken(scope, {
    workspaceId,
    adAccountId,
    tier,
    issuedBy: owner.userId,
    days: 30,
    name: tier,
    issuedAt: service.clock.now(),
  })
  return token
}
