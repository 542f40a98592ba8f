import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import { PageClient } from '../../../testing/fixtures/page-client.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  addMember,
  createSignedInClient,
  createTestUser,
  createTestWorkspace,
  type TestUser,
} from '../../../testing/fixtures/users.ts'
import { createAuditTrail } from '../../audit/audit-store.ts'
import { deriveAuditKeys } from '../../audit/signed-head.ts'
import { createLogger } from '../../runtime/http/logger.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import { settleWaitingRoles } from './waiting-roles.ts'
import { findMemberRole } from './workspace-store.ts'

/** Two owners for 30 days; the second one has invited a guest, who has accepted. */
async function stage(test: TestContext, role = 'admin') {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const inviter = await createTestUser(service)
  await addMember(service, { workspaceId, userId: inviter.userId, role: 'owner' })
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}`
  const guest = await createTestUser(service)
  await join(inviter, guest, { path, role })
  const roleOf = ({ userId }: TestUser) => findMemberRole(service.database, { workspaceId, userId })
  const confirm = ({ client }: TestUser, user = guest) =>
    client.call('POST', `${path}/members/${user.userId}/role/confirmation`)
  return { service, owner, inviter, guest, workspaceId, path, roleOf, confirm }
}

async function join(inviter: TestUser, guest: TestUser, place: { path: string; role: string }) {
  const { path, role } = place
  const body = { email: guest.email, role }
  const invited = await inviter.client.call('POST', `${path}/invitations`, { body })
  assert.equal(invited.status, 201, JSON.stringify(invited.body))
  const answer = { body: { answer: 'accepted' } }
  const accepting = `${SESSION_API_PATH}/invitations/${invited.body.id}`
  assert.equal((await guest.client.call('POST', accepting, answer)).status, 200)
}

/** As the job does. */
function settle({ database, clock }: TestService) {
  const keys = deriveAuditKeys({ current: Buffer.alloc(32, 7), previous: [] })
  const audit = createAuditTrail(keys, createLogger('silent'))
  return settleWaitingRoles({ database, audit }, clock.now())
}

it('keeps an invited admin a member for 72 hours', async test => {
  const { service, guest, workspaceId, path, roleOf } = await stage(test)
  assert.equal(await roleOf(guest), 'member')
  const { body } = await guest.client.call('GET', `${path}/members`)
  const from = new Date(service.clock.now().getTime() + 72 * HOUR_SECONDS * 1_000).toISOString()
  assert.deepEqual(body.members.at(-1).waiting_role, { role: 'admin', from })
  const denied = await guest.client.call('GET', `${path}/audit`)
  assert.equal(denied.status, 403)
  service.clock.advance(72 * HOUR_SECONDS - 1)
  assert.deepEqual(await settle(service), { settled: 0, more: false })
  service.clock.advance(1)
  assert.deepEqual(await settle(service), { settled: 1, more: false })
  assert.equal(await roleOf(guest), 'admin')
  const [entry] = await readAuditEntries(service.database, workspaceId, 'member.role_changed')
  assert.equal(entry?.actor.type, 'system')
  assert.deepEqual(entry?.details, { role_before: 'member', role: 'admin', reason: 'waited' })
  assert.deepEqual(await settle(service), { settled: 0, more: false })
})

it('ends the wait when another owner of 72 hours confirms the role, once', async test => {
  const { service, owner, inviter, guest, workspaceId, roleOf, confirm } = await stage(test)
  const own = await confirm(inviter)
  assert.equal(own.status, 403)
  assert.match(own.body.message, /your own change/)
  assert.equal((await confirm(guest)).status, 403)
  const replies = await Promise.all(Array.from({ length: 4 }, () => confirm(owner)))
  assert.deepEqual(replies.map(({ status }) => status).toSorted(), [204, 409, 409, 409])
  assert.equal(await roleOf(guest), 'admin')
  const entries = await readAuditEntries(service.database, workspaceId, 'member.role_changed')
  assert.deepEqual(
    entries.map(({ actor, details }) => [actor.id, details.reason]),
    [[String(owner.userId), 'confirmed']],
  )
})

it('is confirmed by nobody whom the inviter invited, or who is new', async test => {
  const { service, inviter, guest, workspaceId, path, confirm } = await stage(test, 'owner')
  service.clock.advance(72 * HOUR_SECONDS)
  await settle(service)
  const second = await createTestUser(service)
  const client = await createSignedInClient(service, inviter.userId)
  await join({ ...inviter, client }, second, { path, role: 'admin' })
  const signedIn = { ...guest, client: await createSignedInClient(service, guest.userId) }
  const young = await confirm(signedIn, second)
  assert.match(young.body.message, /less than 72 hours/)
  // The wait of the second guest starts again, so that it is not over before the guest may confirm.
  service.clock.advance(73 * HOUR_SECONDS)
  await service.database.pool.query('update members set granted_at = $1 where user_id = $2', [
    service.clock.now(),
    second.userId,
  ])
  const later = { ...guest, client: await createSignedInClient(service, guest.userId) }
  const invited = await confirm(later, second)
  assert.equal(invited.status, 403)
  assert.match(invited.body.message, /invited you/)
  assert.equal(
    await findMemberRole(service.database, { workspaceId, userId: second.userId }),
    'member',
  )
})

it('gives no deciding role at once to a person who just joined as a member', async test => {
  const { service, inviter, path, roleOf } = await stage(test)
  const mailbox = await createTestUser(service)
  await join(inviter, mailbox, { path, role: 'member' })
  const promoted = await inviter.client.call('PATCH', `${path}/members/${mailbox.userId}`, {
    body: { role: 'owner' },
  })
  assert.equal(promoted.status, 204)
  assert.equal(await roleOf(mailbox), 'member')
})

it('forgets the role that waits when an owner sets another one', async test => {
  const { service, owner, guest, path, confirm } = await stage(test)
  const body = { role: 'member' }
  const changed = await owner.client.call('PATCH', `${path}/members/${guest.userId}`, { body })
  assert.equal(changed.status, 204)
  assert.equal((await confirm(owner)).status, 409)
  service.clock.advance(73 * HOUR_SECONDS)
  assert.deepEqual(await settle(service), { settled: 0, more: false })
})

it('needs a confirmed identity to invite an admin, to promote and to confirm', async test => {
  const { service, owner, inviter, guest, path, confirm } = await stage(test)
  service.clock.advance(56 * 60)
  const other = await createTestUser(service)
  const body = { email: other.email, role: 'admin' }
  const invited = await inviter.client.call('POST', `${path}/invitations`, { body })
  assert.equal(invited.status, 403)
  assert.match(invited.body.message, /Confirm your identity/)
  const promotion = { body: { role: 'admin' } }
  const promoted = await owner.client.call('PATCH', `${path}/members/${guest.userId}`, promotion)
  assert.equal(promoted.status, 403)
  assert.match((await confirm(owner)).body.message, /Confirm your identity/)
})

it('returns 404 for a person of another workspace, and 401 without a session', async test => {
  const { service, owner, guest, confirm } = await stage(test)
  const outsider = await createTestUser(service)
  assert.equal((await confirm(outsider)).status, 404)
  assert.equal((await confirm(owner, outsider)).status, 404)
  const anonymous = { ...guest, client: new PageClient(service.url) }
  assert.equal((await confirm(anonymous)).status, 401)
})

it('lists the role that waits with its time, until it is confirmed', async test => {
  const { service, owner, guest, workspaceId, confirm } = await stage(test)
  const waitingRole = async () => {
    const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/members`
    const { members } = (await owner.client.call('GET', path)).body
    return members.find((one: { user_id: number }) => one.user_id === guest.userId).waiting_role
  }
  const from = new Date(service.clock.now().getTime() + 72 * 3_600_000).toISOString()
  assert.deepEqual(await waitingRole(), { role: 'admin', from })
  assert.equal((await confirm(owner)).status, 204)
  assert.equal(await waitingRole(), null)
})

for (const [loss, role] of [
  ['is removed', null],
  ['becomes a member', 'member'],
] as const) {
  it(`ends the wait of a person whose inviter ${loss}, and audits it`, async test => {
    const { service, owner, inviter, guest, workspaceId, path, roleOf, confirm } = await stage(test)
    const member = `${path}/members/${inviter.userId}`
    const reply = role
      ? await owner.client.call('PATCH', member, { body: { role } })
      : await owner.client.call('DELETE', member)
    assert.equal(reply.status, 204)
    assert.equal((await confirm(owner)).status, 409)
    service.clock.advance(73 * HOUR_SECONDS)
    assert.deepEqual(await settle(service), { settled: 0, more: false })
    assert.equal(await roleOf(guest), 'member')
    const entries = await readAuditEntries(service.database, workspaceId, 'member.role_changed')
    const entry = entries.find(({ subject }) => subject.id === String(guest.userId))
    const reason = role ? 'inviter_demoted' : 'inviter_removed'
    const same = { role_before: 'member', role: 'member', granted_role: null }
    assert.deepEqual(entry?.details, { ...same, reason })
  })
}
