import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import {
  blockAuditWrites,
  createOperatorContext,
  readAuditEntries,
  readAuditLines,
} from '../../../testing/fixtures/audit.ts'
import { setUpAuthenticatorApp } from '../../../testing/fixtures/authenticator-app.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { addMember, createTestUser, createTestWorkspace } from '../../../testing/fixtures/users.ts'
import { listSecurityEvents } from './security-event-store.ts'
import { createSecurityEventRecorder } from './security-events.ts'
import { changeUserStatus, changeWorkspaceStatus, removeSecondFactors } from './user-status.ts'
import { findMemberRole } from './workspace-store.ts'

/** Action, actor, subject and details of every entry, as one text each. */
async function readLog(service: TestService, workspaceId: number) {
  const entries = await readAuditEntries(service.database, workspaceId)
  return entries.map(({ action, actor, subject, details }) => ({
    action,
    actor: actor.type === 'operator' ? 'operator' : `${actor.type} ${actor.id}`,
    subject: `${subject.type} ${subject.id}`,
    details,
  }))
}

it('audits members, roles and their end, with a log line for each entry', async test => {
  const service = await startTestService(test)
  const owner = await createTestUser(service)
  const other = await createTestUser(service)
  const workspaces = `${SESSION_API_PATH}/workspaces`
  const { body } = await owner.client.call('POST', workspaces, { body: { name: 'Shop' } })
  const workspaceId = body.id as number
  await addMember(service, { workspaceId, userId: other.userId, role: 'member' })
  const path = `${workspaces}/${workspaceId}/members/${other.userId}`
  const setRole = (role: string) => owner.client.call('PATCH', path, { body: { role } })
  for (const role of ['owner', 'owner', 'admin']) assert.equal((await setRole(role)).status, 204)
  assert.equal((await setRole('captain')).status, 422)
  assert.equal((await owner.client.call('DELETE', path)).status, 204)

  const actor = `person ${owner.userId}`
  const subject = `member ${other.userId}`
  const changed = { action: 'member.role_changed', actor, subject }
  assert.deepEqual(await readLog(service, workspaceId), [
    {
      action: 'member.added',
      actor,
      subject: `member ${owner.userId}`,
      details: { role: 'owner', reason: 'workspace_created' },
    },
    { ...changed, details: { role_before: 'member', role: 'owner' } },
    { ...changed, details: { role_before: 'owner', role: 'admin' } },
    { action: 'member.removed', actor, subject, details: { role: 'admin', reason: 'removed' } },
  ])
  const lines = readAuditLines(service, workspaceId)
  assert.deepEqual(
    lines.map(({ event }) => event),
    ['member.added', 'member.role_changed', 'member.role_changed', 'member.removed'],
  )
})

it('audits invitations from their first mail to the answer, without an address', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const guest = await createTestUser(service, { email: 'guest@people.example' })
  const invitations = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
  const invite = async (role: string) => {
    const body = { email: guest.email, role }
    return (await owner.client.call('POST', invitations, { body })).body.id as string
  }
  const answer = (id: string, given: string) =>
    guest.client.call('POST', `${SESSION_API_PATH}/invitations/${id}`, { body: { answer: given } })

  const withdrawn = await invite('member')
  await owner.client.call('DELETE', `${invitations}/${withdrawn}`)
  const declined = await invite('admin')
  assert.equal((await answer(declined, 'declined')).status, 200)
  const accepted = await invite('owner')
  assert.equal((await answer(accepted, 'accepted')).status, 200)
  assert.equal((await guest.client.call('DELETE', memberPath(workspaceId, guest))).status, 204)

  const [host, invitee] = [`person ${owner.userId}`, `person ${guest.userId}`]
  const created = (id: string, role: string) => ({
    action: 'invitation.created',
    actor: host,
    subject: `invitation ${id}`,
    details: { role },
  })
  const subject = `member ${guest.userId}`
  assert.deepEqual(await readLog(service, workspaceId), [
    created(withdrawn, 'member'),
    {
      action: 'invitation.withdrawn',
      actor: host,
      subject: `invitation ${withdrawn}`,
      details: { role: 'member' },
    },
    created(declined, 'admin'),
    {
      action: 'invitation.declined',
      actor: invitee,
      subject: `invitation ${declined}`,
      details: { role: 'admin' },
    },
    created(accepted, 'owner'),
    {
      action: 'member.added',
      actor: invitee,
      subject,
      details: {
        role: 'member',
        granted_role: 'owner',
        reason: 'invitation_accepted',
        invitation_id: accepted,
      },
    },
    {
      action: 'member.removed',
      actor: invitee,
      subject,
      details: { role: 'member', reason: 'left' },
    },
  ])
  assert.ok(!service.logged().includes(guest.email))
})

function memberPath(workspaceId: number, { userId }: { userId: number }): string {
  return `${SESSION_API_PATH}/workspaces/${workspaceId}/members/${userId}`
}

it('audits ad accounts that are added, disabled and enabled', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const accounts = `${SESSION_API_PATH}/workspaces/${workspaceId}/ad-accounts`
  const { body } = await owner.client.call('POST', accounts, {
    body: {
      platform_account_id: '1234567890',
      name: 'Shop EU',
      currency: 'EUR',
      time_zone: 'Europe/Berlin',
    },
  })
  for (const status of ['active', 'disabled', 'disabled', 'active']) {
    const path = `${accounts}/${body.id}`
    assert.equal((await owner.client.call('PATCH', path, { body: { status } })).status, 204)
  }
  const log = await readLog(service, workspaceId)
  assert.deepEqual(
    log.map(({ action, subject }) => [action, subject]),
    ['ad_account.added', 'ad_account.disabled', 'ad_account.enabled'].map(action => [
      action,
      `ad_account ${body.id}`,
    ]),
  )
})

it('audits disabled people in each of their workspaces, and disabled workspaces', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const second = await createTestWorkspace(service, { owner })
  const context = operatorContext(service)
  assert.equal(await changeUserStatus(context, owner.email, 'disabled'), true)
  assert.equal(await changeUserStatus(context, 'unknown@people.example', 'disabled'), false)
  assert.equal(await changeUserStatus(context, owner.email, 'active'), true)
  assert.equal(await changeWorkspaceStatus(context, second.workspaceId, 'disabled'), true)
  const user = ['person.disabled', 'person.enabled'].map(action => ({
    action,
    actor: 'operator',
    subject: `member ${owner.userId}`,
    details: {},
  }))
  assert.deepEqual(await readLog(service, workspaceId), user)
  const subject = `workspace ${second.workspaceId}`
  assert.deepEqual(await readLog(service, second.workspaceId), [
    ...user,
    { action: 'workspace.disabled', actor: 'operator', subject, details: {} },
  ])
})

/** What the operator's commands depend on. */
function operatorContext(service: TestService) {
  const { database, logger, now, ...context } = createOperatorContext(service)
  const recording = { database, logger, now, addressOf: () => '' }
  const recordSecurityEvent = createSecurityEventRecorder(recording)
  return { database, now, ...context, recordSecurityEvent }
}

const WITHDRAWALS = {
  inviter_removed: 'removes the inviter',
  inviter_left: 'is left by the inviter',
  inviter_demoted: 'demotes the inviter',
  inviter_disabled: 'has an inviter whom the operator disables',
} as const

for (const [reason, title] of Object.entries(WITHDRAWALS)) {
  it(`audits each invitation that is withdrawn when a workspace ${title}`, async test => {
    const service = await startTestService(test)
    const { owner, workspaceId } = await createTestWorkspace(service)
    const inviter = await createTestUser(service)
    await addMember(service, { workspaceId, userId: inviter.userId, role: 'owner' })
    const invitations = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
    const ids: string[] = []
    for (const email of ['one@people.example', 'two@people.example']) {
      const body = { email, role: 'owner' }
      ids.push((await inviter.client.call('POST', invitations, { body })).body.id)
    }
    const path = memberPath(workspaceId, inviter)
    const changes: Record<string, () => Promise<unknown>> = {
      inviter_removed: () => owner.client.call('DELETE', path),
      inviter_left: () => inviter.client.call('DELETE', path),
      inviter_demoted: () => owner.client.call('PATCH', path, { body: { role: 'admin' } }),
      inviter_disabled: () => changeUserStatus(operatorContext(service), inviter.email, 'disabled'),
    }
    await changes[reason]?.()
    const actors: Record<string, string> = {
      inviter_left: `person ${inviter.userId}`,
      inviter_disabled: 'operator',
    }
    const actor = actors[reason] ?? `person ${owner.userId}`
    const log = await readLog(service, workspaceId)
    const withdrawn = log.filter(({ action }) => action === 'invitation.withdrawn')
    const bySubject = withdrawn.toSorted((one, other) => (one.subject < other.subject ? -1 : 1))
    const expected = ids.toSorted().map(id => ({
      action: 'invitation.withdrawn',
      actor,
      subject: `invitation ${id}`,
      details: { role: 'owner', reason },
    }))
    assert.deepEqual(bySubject, expected)
    const written = readAuditLines(service, workspaceId)
    const lines = written.filter(({ event }) => event === 'invitation.withdrawn')
    assert.equal(lines.length, 2)
    assert.doesNotMatch(JSON.stringify([log, lines]), /@/)
  })
}

it('audits the requirement of a second factor when it changes, on and off', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  await setUpAuthenticatorApp(owner.client)
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/security`
  for (const isRequired of [true, true, false, false]) {
    const body = { second_factor_required: isRequired }
    assert.equal((await owner.client.call('PUT', path, { body })).status, 204)
  }
  const entry = (isRequired: boolean) => ({
    action: 'second_factor_requirement.changed',
    actor: `person ${owner.userId}`,
    subject: `workspace ${workspaceId}`,
    details: { is_required: isRequired },
  })
  assert.deepEqual(await readLog(service, workspaceId), [entry(true), entry(false)])
  const lines = readAuditLines(service, workspaceId).map(({ event, details }) => [event, details])
  assert.deepEqual(lines, [
    ['second_factor_requirement.changed', { is_required: true }],
    ['second_factor_requirement.changed', { is_required: false }],
  ])
})

it('audits factors that the operator removes in each workspace, and as a security event', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const second = await createTestWorkspace(service, { owner })
  await setUpAuthenticatorApp(owner.client)
  const context = operatorContext(service)
  assert.equal(await removeSecondFactors(context, owner.email), true)
  assert.equal(await removeSecondFactors(context, owner.email), true)
  const entry = {
    action: 'person.second_factors_removed',
    actor: 'operator',
    subject: `member ${owner.userId}`,
    details: { authenticator_app: true, passkeys: 0 },
  }
  assert.deepEqual(await readLog(service, workspaceId), [entry])
  assert.deepEqual(await readLog(service, second.workspaceId), [entry])
  assert.equal(readAuditLines(service, workspaceId).length, 1)
  const range = { since: new Date(0), after: null, limit: 100 }
  const events = await listSecurityEvents(service.database, range)
  const removals = events.filter(({ type }) => type === 'second_factor.removed')
  assert.deepEqual(
    removals.map(({ userId, details }) => [userId, details]),
    [[owner.userId, { factor: 'all', by: 'operator' }]],
  )
})

it('changes no role when its entry cannot be written, and logs nothing', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const other = await createTestUser(service)
  await addMember(service, { workspaceId, userId: other.userId, role: 'member' })
  await blockAuditWrites(service.database)
  const change = { body: { role: 'owner' } }
  const path = memberPath(workspaceId, other)
  assert.equal((await owner.client.call('PATCH', path, change)).status, 500)
  const key = { workspaceId, userId: other.userId }
  assert.equal(await findMemberRole(service.database, key), 'member')
  assert.deepEqual(readAuditLines(service, workspaceId), [])
})
