import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  type AgentActionsFixture,
  BUDGET_INCREASE,
  buildBudgetProposal,
  HOSTILE_TEXTS,
  sendDecision,
  setExecutionMode,
  startAgentActionsFixture,
  submitHostileProposal,
  submitSingleActionProposal,
  submitTestProposal,
} from '../../../testing/fixtures/agent-actions.ts'
import { blockAuditWrites, createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import { startNotificationsFixture } from '../../../testing/fixtures/notifications.ts'
import { addMember, createTestUser } from '../../../testing/fixtures/users.ts'
import { expireApprovals } from '../jobs.ts'

async function startFixture(test: TestContext, mode?: string) {
  const agents = await startAgentActionsFixture(test)
  // Alone, the owner waits for nobody.
  if (mode !== undefined) await setExecutionMode(agents, mode)
  const { service, workspace } = agents
  const notifications = await startNotificationsFixture(test, { service, workspace })
  const admin = await createTestUser(service)
  const { workspaceId } = workspace
  await addMember(service, { workspaceId, userId: admin.userId, role: 'admin' })
  const nextDigest = async () => {
    service.clock.advance(900)
    await notifications.runJob()
    return notifications.emails.splice(0)
  }
  return { ...notifications, agents, admin, nextDigest }
}

function action(agents: AgentActionsFixture, type: string, position: number) {
  const target_entity = { type: 'campaign', id: agents.entityId(position) }
  const params = type === 'increase_budget' ? BUDGET_INCREASE.params : {}
  return { ...BUDGET_INCREASE, type, params, target_entity }
}

type Decision = { decision: 'approve' | 'reject'; reason: string }
const APPROVE: Decision = { decision: 'approve', reason: 'It sells.' }

it('tells the people who may decide that a proposal waits', async test => {
  const { agents, service, workspace, admin, nextDigest } = await startFixture(test)
  const path = await submitSingleActionProposal(agents)
  const emails = await nextDigest()
  assert.deepEqual(
    emails.map(({ to }) => to).toSorted(),
    [admin.email, workspace.owner.email].toSorted(),
  )
  const { text = '' } = emails[0] ?? {}
  assert.match(
    text,
    /^- Budget robot proposes: raise the daily budget of the campaign “Autumn collection - New customers” \d+ from €120\.00 to €135\.00 \(proposal \d+\)\. Decide by 24 Nov 2026, 12:00 UTC\.$/m,
  )
  assert.ok(text.includes(`${service.url}${path}\n`))
})

it('tells no one about a retry, a dry run or a blocked proposal', async test => {
  const { agents, nextDigest } = await startFixture(test)
  await submitSingleActionProposal(agents)
  await nextDigest()
  const body = buildBudgetProposal(agents.entityId(1), {
    actions: [action(agents, 'increase_budget', 1)],
  })
  assert.equal((await agents.request('POST', '/actions', { body })).status, 200)
  assert.equal((await agents.request('POST', '/actions/dry-run', { body })).status, 200)
  // It is active already.
  const actions = [action(agents, 'resume', 1)]
  const blocked = buildBudgetProposal(agents.entityId(1), { actions, idempotency_key: 'key-2' })
  const reply = await agents.request('POST', '/actions', { body: blocked })
  assert.equal(reply.body.proposal.status, 'blocked')
  assert.deepEqual(await nextDigest(), [])
})

it('tells no one about a proposal that was decided before the digest', async test => {
  const { agents, admin, nextDigest } = await startFixture(test)
  const path = await submitSingleActionProposal(agents)
  assert.equal((await sendDecision(admin.client, path, APPROVE)).status, 200)
  const emails = await nextDigest()
  assert.deepEqual(
    emails.filter(({ text }) => /proposes/.test(text)),
    [],
  )
})

it('tells no one about a proposal that its agent canceled', async test => {
  const { agents, nextDigest } = await startFixture(test)
  const path = await submitSingleActionProposal(agents)
  const batchId = path.split('/').at(-1)
  const { status } = await agents.request('POST', `/action-batches/${batchId}/cancel`)
  assert.equal(status, 200)
  assert.deepEqual(await nextDigest(), [])
})

it('still asks for the actions of a proposal that wait after others were decided', async test => {
  const { agents, admin, nextDigest } = await startFixture(test)
  const actions = [action(agents, 'increase_budget', 1), action(agents, 'pause', 2)]
  const path = await submitTestProposal(agents, actions)
  const first = /\d+$/.exec(path)?.[0]
  const { rows } = await agents.service.database.pool.query(
    'select id from agent_actions where batch_id = $1 order by id',
    [first],
  )
  const decision = { ...APPROVE, decision: 'reject', action_ids: [rows[0].id] }
  assert.equal((await sendDecision(admin.client, path, decision)).status, 200)
  const emails = await nextDigest()
  assert.ok(
    emails.some(({ text }) =>
      /proposes: raise the daily budget .*; pause the campaign /.test(text),
    ),
  )
})

it('tells the person behind the agent how each action ended', async test => {
  const { agents, workspace, admin, nextDigest } = await startFixture(test, 'ask')
  const path = await submitSingleActionProposal(agents)
  await nextDigest()
  await sendDecision(admin.client, path, APPROVE)
  const emails = await nextDigest()
  assert.deepEqual(
    emails.map(({ to }) => to),
    [workspace.owner.email],
  )
  const expected = /^- Proposal \d+, increase budget of campaign \d+: made and verified\.$/m
  assert.match(emails[0]?.text ?? '', expected)
})

it('does not tell people about their own decisions', async test => {
  const { agents, workspace, nextDigest } = await startFixture(test)
  const path = await submitSingleActionProposal(agents)
  await nextDigest()
  const { client } = workspace.owner
  await sendDecision(client, path, { ...APPROVE, decision: 'reject' })
  assert.deepEqual(await nextDigest(), [])
})

it('tells the requester that a proposal expired', async test => {
  const { agents, service, workspace, nextDigest } = await startFixture(test)
  await submitSingleActionProposal(agents)
  await nextDigest()
  service.clock.advance(73 * 3_600)
  const { database, clock } = service
  await expireApprovals({ database, now: clock.now(), audit: createTestAuditTrail(service) })
  const emails = await nextDigest()
  assert.deepEqual(
    emails.map(({ to }) => to),
    [workspace.owner.email],
  )
  assert.match(emails[0]?.text ?? '', /: rejected \(expired\)\.$/m)
})

it('contains no text of the agent but its name, without links', async test => {
  for (const text of [HOSTILE_TEXTS.link ?? '', HOSTILE_TEXTS.lines ?? '', 'go evil.example NOW']) {
    const { agents, service, nextDigest } = await startFixture(test)
    await submitHostileProposal(agents, text)
    for (const { subject, text: body } of await nextDigest()) {
      assert.deepEqual([...new Set(body.match(/https?:\/\/[^/\s]+/g))], [service.url])
      assert.doesNotMatch(body + subject, /evil\.example|\r/)
      assert.equal(body.match(/^- /gm)?.length, 1)
    }
  }
})

it('stores no notification of a proposal that is rolled back', async test => {
  const { agents, service, nextDigest } = await startFixture(test)
  await blockAuditWrites(service.database)
  const body = buildBudgetProposal(agents.entityId(1))
  assert.equal((await agents.request('POST', '/actions', { body })).status, 500)
  assert.deepEqual(await nextDigest(), [])
})
