import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import {
  createTestAuditTrail,
  runAsDatabaseOwner,
  sampleEntry,
} from '../../../testing/fixtures/audit.ts'
import { openDashboardWorkspace } from '../../../testing/fixtures/dashboard.ts'
import { startNotificationsFixture } from '../../../testing/fixtures/notifications.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { addMember, createTestUser } from '../../../testing/fixtures/users.ts'
import { verifyProposalRecords } from '../../agents/proposals/verify-records.ts'
import { auditJobs } from '../../audit/jobs.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import type { VerifiedChain } from '../../audit/verify-chains.ts'
import {
  countOpenWorkspaceAlerts,
  createAuditAlerts,
  type WorkspaceAlertTransition,
} from '../../workspaces/notifications/audit-alert-store.ts'

/** The jobs over the log of a workspace with an owner, an administrator and two members. */
async function startWithLog(test: TestContext) {
  const service = await startTestService(test)
  const { database, clock } = service
  const { owner, path } = await openDashboardWorkspace(service)
  const { workspaceId } = service.tracker
  const workspace = { workspaceId, workspaceName: 'Shop', adAccountId: 0, owner }
  const fixture = await startNotificationsFixture(test, { service, workspace })
  const [admin, member, other] = await Promise.all([1, 2, 3].map(() => createTestUser(service)))
  assert.ok(admin && member && other)
  for (const [user, role] of [[admin, 'admin'] as const, [member, 'member'] as const]) {
    await addMember(service, { workspaceId, userId: user.userId, role })
  }
  await addMember(service, { workspaceId, userId: other.userId, role: 'member' })
  const dataDirectory = mkdtempSync(join(tmpdir(), 'signalbox-audit-'))
  test.after(() => rmSync(dataDirectory, { recursive: true, force: true }))
  const transitions: WorkspaceAlertTransition[] = []
  const tampered: VerifiedChain[] = []
  const alerts = createAuditAlerts({
    database,
    onWorkspaceAlert: transition => void transitions.push(transition),
  })
  const jobs = auditJobs({
    database,
    settings: { dataDirectory },
    verifyRecords: verifyProposalRecords,
    alerts,
    auditKeys: deriveAuditKeys(service.delivery.credentialKeys),
    onTamperedLog: chain => void tampered.push(chain),
    onVerifiedLogs: () => {},
    onCheckpointError: error => assert.fail(String(error)),
  })
  const verify = async (name: 'verify-audit' | 'verify-new-audit-entries') => {
    const signal = new AbortController().signal
    await jobs.find(job => job.name === name)?.run({}, { now: clock.now(), signal })
  }
  const announce = async () => {
    clock.advance(3_600)
    await fixture.announce()
    await fixture.runJob()
  }
  const run = async (name: Parameters<typeof verify>[0]) => {
    await verify(name)
    await announce()
  }
  const trail = createTestAuditTrail(service)
  const write = async (count: number) => {
    for (let index = 1; index <= count; index += 1) {
      await trail.append(database, sampleEntry(workspaceId, index))
    }
  }
  return {
    ...fixture,
    run,
    verify,
    announce,
    write,
    transitions,
    tampered,
    people: { owner, admin, member, other },
    readAlerts: async () => (await owner.client.call('GET', `${path}/overview`)).body.alerts,
    asOwner: (text: string) =>
      runAsDatabaseOwner(database, client => client.query(text, [workspaceId])),
  }
}

const REMOVE = `
  with removed as (
    delete from audit_entries where workspace_id = $1
      and sequence = (select sequence - 1 from audit_heads where workspace_id = $1)
    returning workspace_id, sequence, body, hash
  ) insert into removed_entries select * from removed`
const RESTORE = `
  insert into audit_entries (workspace_id, sequence, body, hash)
  select * from removed_entries where workspace_id = $1`

it('tells people and systems about a changed log within minutes, once, and about its end', async test => {
  const fixture = await startWithLog(test)
  const { service, people, emails, receiver, run, write, asOwner } = fixture
  const { workspaceId } = service.tracker
  await service.database.pool.query(
    'create table removed_entries (workspace_id integer, sequence bigint, body text, hash bytea)',
  )
  await fixture.setWebhook()
  const body = { topics: ['audit_log'] }
  await people.other.client.call('PUT', `${fixture.path}/mine`, { body })
  await write(3)
  await run('verify-new-audit-entries')
  assert.deepEqual([emails.length, await fixture.readAlerts()], [0, []])

  await write(3)
  await asOwner(REMOVE)
  const at = service.clock.now().toISOString()
  await run('verify-new-audit-entries')
  await run('verify-new-audit-entries')
  await run('verify-audit')
  const [{ kind, transition, sentence } = {}, ...others] = fixture.transitions
  assert.deepEqual([kind, transition, others], ['audit_log_broken', 'raised', []])
  assert.match(
    sentence ?? '',
    /^The audit log of the workspace was changed at entry (\d+): Entry \1 is missing\.$/,
  )
  assert.deepEqual(await fixture.readAlerts(), [
    { destination_id: null, kind: 'audit_log_broken', sentence, raised_at: at },
  ])
  assert.deepEqual(await countOpenWorkspaceAlerts(service.database), { audit_log_broken: 1 })
  const chosen = [people.owner.email, people.admin.email, people.other.email].toSorted()
  assert.deepEqual(emails.map(({ to }) => to).toSorted(), chosen)
  assert.equal(emails[0]?.subject, 'Alert: Test')

  await asOwner(RESTORE)
  // Only the whole verification can tell that a log is intact again.
  await run('verify-new-audit-entries')
  assert.equal(fixture.transitions.length, 1)
  await run('verify-audit')
  await run('verify-audit')
  assert.equal(fixture.transitions[1]?.transition, 'resolved')
  assert.deepEqual(await fixture.readAlerts(), [])
  assert.deepEqual(await countOpenWorkspaceAlerts(service.database), {})
  assert.equal(emails.length, 2 * chosen.length)
  const items = receiver.requests.flatMap(({ body }) => JSON.parse(body).data.notifications)
  assert.deepEqual(
    items.map(({ type, topic, subject, url }) => ({ type, topic, subject, url })),
    ['raised', 'resolved'].map(end => ({
      type: `alert.audit_log_broken.${end}`,
      topic: 'audit_log',
      subject: { type: 'workspace', id: String(workspaceId) },
      url: `${service.url}/w/${workspaceId}/audit`,
    })),
  )
})

it('raises the alert of concurrent verifications once', async test => {
  const { run, verify, announce, write, asOwner, transitions, emails } = await startWithLog(test)
  await write(4)
  await asOwner('delete from audit_entries where workspace_id = $1 and sequence = 2')
  // Only these run at once: an hour that passes while an email is being sent would end its claim.
  const names = ['verify-audit', 'verify-audit', 'verify-new-audit-entries'] as const
  await Promise.all(names.map(verify))
  await announce()
  assert.equal(transitions.length, 1)
  await run('verify-audit')
  assert.equal(transitions.length, 1)
  assert.equal(emails.length, 2)
})

it('raises an alert about the log of a workspace that is gone', async test => {
  const { service, run, write, asOwner, transitions } = await startWithLog(test)
  await write(2)
  await run('verify-audit')
  await asOwner('delete from audit_heads where workspace_id = $1')
  await asOwner('delete from audit_entries where workspace_id = $1')
  await asOwner('delete from workspaces where id = $1')
  await run('verify-new-audit-entries')
  assert.equal(transitions.length, 1)
  const { rows } = await service.database.pool.query('select 1 from notifications')
  assert.equal(rows.length, 0)
})
