import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { it } from 'node:test'
import {
  type AgentActionsFixture,
  buildBudgetProposal,
  startAgentActionsFixture,
} from '../../../testing/fixtures/agent-actions.ts'
import { createTestAuditTrail } from '../../../testing/fixtures/audit.ts'
import type { TestService } from '../../../testing/fixtures/service.ts'
import { addMember, createTestUser } from '../../../testing/fixtures/users.ts'
import type { AuditAction, AuditEntry, AuditSubject } from '../../audit/audit-entry.ts'

async function withEntries(fixture: AgentActionsFixture, proposals: number): Promise<string> {
  for (let number = 1; number <= proposals; number += 1) {
    const body = buildBudgetProposal(fixture.entityId(1), { idempotency_key: `key-${number}` })
    assert.equal((await fixture.request('POST', '/actions', { body })).status, 201)
  }
  return `/workspaces/${fixture.workspace.workspaceId}/audit`
}

it('shows entries newest first, with the current names of actors', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await withEntries(fixture, 1)
  const { owner } = fixture.workspace
  await fixture.service.database.pool.query('update people.users set email = $1 where id = $2', [
    'grace.renamed@people.example',
    owner.userId,
  ])
  const { text } = await owner.client.get(path)
  assert.match(text, /Action requires approval[\s\S]*Proposal submitted[\s\S]*Token issued/)
  assert.match(text, /<bdi>grace\.renamed@people\.example<\/bdi>, person \d+/)
  assert.match(text, /<bdi>Budget robot<\/bdi>, token \d+/)
  assert.match(text, /<a href="\/workspaces\/\d+\/approvals\/1">action 1<\/a>/)
})

it('names on each line what the entry is about, and the ending of a key', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await withEntries(fixture, 1)
  const { service, workspace } = fixture
  const { workspaceId, adAccountId, owner } = workspace
  const { trackerId } = service.tracker
  const setWorkspace = 'update trackers set workspace_id = $1 where id = $2'
  await service.database.pool.query(setWorkspace, [workspaceId, trackerId])
  const { userId } = await createTestUser(service, { email: 'new.member@people.example' })
  const key = { tracker_id: trackerId, kind: 'tracker_secret', last_characters: 'd76f' }
  await appendEntries(service, workspaceId, [
    ['key.issued', { type: 'key', id: 'ab'.repeat(32) }, key],
    ['ad_account.disabled', { type: 'ad_account', id: String(adAccountId) }, {}],
    ['member.added', { type: 'member', id: String(userId) }, { role: 'member' }],
    ['deliveries.replayed', { type: 'tracker', id: trackerId }, {}],
    ['member.removed', { type: 'member', id: '999999' }, {}],
  ])
  const { text } = await owner.client.get(path)
  const lines = [...text.matchAll(/<summary>(\s*<time[\s\S]*?)<\/summary>/g)].map(([, line = '']) =>
    line
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
  const at = '2026-11-21 12:00'
  assert.deepEqual(lines, [
    `${at} Member removed member 999999 Operator`,
    `${at} Deliveries replayed tracker Test tracker Operator`,
    `${at} Member added new.member@people.example Operator`,
    `${at} Ad account disabled Shop EU Operator`,
    `${at} Key issued tracker secret …d76f, Test tracker Operator`,
    `${at} Action requires approval Autumn collection - New customers Budget robot`,
    `${at} Proposal submitted proposal 1 Budget robot`,
    `${at} Token issued Budget robot …${fixture.token.slice(-4)} ${owner.email}`,
  ])
})

it('links older and newer pages with the same filter', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await withEntries(fixture, 60)
  const { client } = fixture.workspace.owner
  const link = (text: string, label: string) =>
    new RegExp(`<a href="([^"]*)" rel="\\w+">${label}`)
      .exec(text)?.[1]
      ?.replaceAll('&#61;', '=')
      .replaceAll('&#38;', '&')
  const seen = (text: string) => [...text.matchAll(/id="entry-(\d+)"/g)].map(([, n]) => Number(n))
  const first = await client.get(path)
  const second = await client.get(link(first.text, 'Older') ?? '')
  const third = await client.get(link(second.text, 'Older') ?? '')
  const all = [first, second, third].flatMap(({ text }) => seen(text))
  assert.deepEqual(
    all,
    Array.from({ length: 121 }, (_, index) => 121 - index),
  )
  assert.equal(link(third.text, 'Older'), undefined)
  const back = await client.get(link(third.text, 'Newer') ?? '')
  assert.deepEqual(seen(back.text), seen(second.text))
  const filtered = await client.get(`${path}?action=proposal.submitted`)
  const older = await client.get(link(filtered.text, 'Older') ?? '')
  assert.equal(seen(filtered.text).length + seen(older.text).length, 60)
  assert.match(older.text, /<option value="proposal\.submitted" selected>/)
  const one = await client.get(`${path}?subject_type=action&subject_id=7`)
  assert.equal(seen(one.text).length, 1)
})

it('verifies the log and names the first changed entry', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await withEntries(fixture, 2)
  const { client } = fixture.workspace.owner
  await client.get(path)
  const intact = await client.submit({ action: `${path}/verify` })
  assert.equal(intact.status, 200)
  assert.match(intact.text, /The log is intact/)
  const { pool } = fixture.service.database
  await pool.query('alter table audit_entries disable trigger all')
  await pool.query(
    `update audit_entries set body = replace(body, 'submitted', 'withdrawn')
     where sequence = 2 and workspace_id = $1`,
    [fixture.workspace.workspaceId],
  )
  await client.get(path)
  const broken = await client.submit({ action: `${path}/verify` })
  assert.match(broken.text, /role="alert"[\s\S]*The log was changed[\s\S]*\b2\b/)
})

it('downloads the whole log as NDJSON', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await withEntries(fixture, 2)
  const { status, headers, text } = await fixture.workspace.owner.client.get(`${path}/export`)
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
  const { workspaceId } = fixture.workspace
  const name = `attachment; filename="audit-${workspaceId}.ndjson"`
  assert.equal(headers.get('content-disposition'), name)
  assert.equal(headers.get('cache-control'), 'no-store')
  const lines = text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.equal(lines.length, 6)
  for (const { body, hash: digest } of lines.slice(0, -1)) {
    assert.equal(hash('sha256', body), digest)
  }
})

it('returns 403 to a member with an explanation', async test => {
  const fixture = await startAgentActionsFixture(test)
  const path = await withEntries(fixture, 1)
  const { userId, client } = await createTestUser(fixture.service)
  await addMember(fixture.service, {
    workspaceId: fixture.workspace.workspaceId,
    userId,
    role: 'member',
  })
  const page = await client.get(path)
  assert.equal(page.status, 403)
  assert.match(page.text, /Only owners and administrators of the workspace can read its log/)
  assert.doesNotMatch(page.text, /entry-\d/)
  assert.equal((await client.post(`${path}/verify`)).status, 403)
  const file = await client.get(`${path}/export`)
  assert.equal(file.status, 403)
  assert.doesNotMatch(file.text, /proposal\.submitted/)
})

type TestEntry = [AuditAction, AuditSubject, AuditEntry['details']]

async function appendEntries(service: TestService, workspaceId: number, entries: TestEntry[]) {
  const { database, clock } = service
  const audit = createTestAuditTrail(service)
  await database.query.transaction().execute(async query => {
    for (const [action, subject, details] of entries) {
      const actor = { type: 'operator', id: null } as const
      const entry = { workspaceId, at: clock.now(), actor, action, subject, details }
      await audit.append({ query }, entry)
    }
  })
}
