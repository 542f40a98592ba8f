import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  addMember,
  createSignedInClient,
  createTestUser,
  createTestWorkspace,
  findEmailedLink,
  type TestUser,
} from '../../../testing/fixtures/users.ts'
import { setUserStatus } from './user-store.ts'
import { findMemberRole, setWorkspaceStatus } from './workspace-store.ts'

async function joined(service: TestService, workspaceId: number, role: WorkspaceRole) {
  const user = await createTestUser(service)
  await addMember(service, { workspaceId, userId: user.userId, role })
  return user
}

function membersPath(workspaceId: number, user?: TestUser): string {
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/members`
  return user ? `${path}/${user.userId}` : path
}

it('lets the last owner leave or step down only after another member becomes an owner', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const other = await joined(service, workspaceId, 'admin')
  const own = membersPath(workspaceId, owner)
  const leave = await owner.client.call('DELETE', own)
  assert.equal(leave.status, 422)
  assert.match(leave.body.message, /at least one owner/)
  const stepDown = await owner.client.call('PATCH', own, { body: { role: 'member' } })
  assert.equal(stepDown.status, 422)
  const promote = { body: { role: 'owner' } }
  const path = membersPath(workspaceId, other)
  assert.equal((await owner.client.call('PATCH', path, promote)).status, 204)
  assert.equal((await owner.client.call('DELETE', own)).status, 204)
  assert.equal((await owner.client.call('GET', membersPath(workspaceId))).status, 404)
})

it('keeps one owner when two leave concurrently', async test => {
  const service = await startTestService(test)
  for (let round = 0; round < 5; round += 1) {
    const { owner, workspaceId } = await createTestWorkspace(service)
    const other = await joined(service, workspaceId, 'owner')
    const replies = await Promise.all(
      [owner, other].map(user => user.client.call('DELETE', membersPath(workspaceId, user))),
    )
    assert.deepEqual(replies.map(({ status }) => status).toSorted(), [204, 422])
  }
})

it('does not count a disabled owner', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const other = await joined(service, workspaceId, 'owner')
  await setUserStatus(service.database, other.email, 'disabled')
  const reply = await owner.client.call('DELETE', membersPath(workspaceId, owner))
  assert.equal(reply.status, 422)
})

it('returns 403 when a member invites to or removes a higher role', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const admin = await joined(service, workspaceId, 'admin')
  const member = await joined(service, workspaceId, 'member')
  const invitations = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
  const invite = (user: TestUser, role: string) =>
    user.client.call('POST', invitations, { body: { email: 'second@self.example', role } })
  assert.equal((await invite(member, 'owner')).status, 403)
  assert.equal((await invite(member, 'member')).status, 403)
  assert.equal((await invite(admin, 'owner')).status, 403)
  assert.equal((await invite(admin, 'root')).status, 422)
  const ownPath = membersPath(workspaceId, admin)
  const promotion = await admin.client.call('PATCH', ownPath, { body: { role: 'owner' } })
  assert.equal(promotion.status, 403)
  const removal = await admin.client.call('DELETE', membersPath(workspaceId, owner))
  assert.equal(removal.status, 403)
  assert.deepEqual(service.mails, [])
})

it('adds the recipient of an invitation to the workspace, once', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const guest = await createTestUser(service)
  const body = { email: guest.email.toUpperCase(), role: 'admin' }
  const invitations = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
  assert.equal((await owner.client.call('POST', invitations, { body })).status, 201)
  const link = findEmailedLink(service.mails, guest.email, '/invitations/')
  const { body: own } = await guest.client.call('GET', `${SESSION_API_PATH}/invitations`)
  assert.equal(link, `/invitations/${own.invitations[0].id}`)
  await guest.client.get(link)
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => guest.client.post(link, { answer: 'accepted' })),
  )
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 404, 404, 404])
  const name = { workspaceId, userId: guest.userId }
  // Until the wait ends (waiting-roles.test.ts).
  assert.equal(await findMemberRole(service.database, name), 'member')
})

it('returns 404 for an invitation to another address', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const guest = await createTestUser(service)
  const thief = await createTestUser(service)
  const body = { email: guest.email, role: 'owner' }
  const invitations = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
  await owner.client.call('POST', invitations, { body })
  const link = findEmailedLink(service.mails, guest.email, '/invitations/')
  for (const user of [thief, owner]) {
    assert.equal((await user.client.get(link)).status, 404)
    assert.equal((await user.client.post(link, { answer: 'accepted' })).status, 404)
  }
  await service.database.pool.query(
    'update people.users set email_verified = false where id = $1',
    [guest.userId],
  )
  assert.equal((await guest.client.get(link)).status, 404, 'not confirmed yet')
})

it('returns 404 for a withdrawn, declined or expired invitation', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const guest = await createTestUser(service)
  const invitations = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
  const invite = async () => {
    const body = { email: guest.email, role: 'member' }
    const reply = await owner.client.call('POST', invitations, { body })
    return reply.body.id as string
  }
  const withdrawn = await invite()
  assert.equal(await invite(), withdrawn, 'it is renewed, not doubled')
  await owner.client.call('DELETE', `${invitations}/${withdrawn}`)
  const declined = await invite()
  assert.equal((await guest.client.post(`/invitations/${declined}`, { answer: 'no' })).status, 200)
  const old = await invite()
  service.clock.advance(7 * 86_400)
  // An earlier session has ended by then.
  const client = await createSignedInClient(service, guest.userId)
  for (const id of [withdrawn, declined, old]) {
    const page = await client.post(`/invitations/${id}`, { answer: 'accepted' })
    assert.equal(page.status, 404)
  }
})

it('returns 422 for inviting a member and for an invalid address', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const invitations = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
  const invite = (email: string) =>
    owner.client.call('POST', invitations, { body: { email, role: 'member' } })
  assert.equal((await invite(owner.email)).status, 422)
  assert.equal((await invite('x@y')).status, 422)
})

it('closes a disabled workspace to all members immediately', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  await setWorkspaceStatus(service.database, workspaceId, 'disabled')
  const { body } = await owner.client.call('GET', `${SESSION_API_PATH}/workspaces`)
  assert.deepEqual(body, { workspaces: [] })
  assert.equal((await owner.client.get(`/w/${workspaceId}/people`)).status, 404)
})

it('returns 404 for a malformed ID, as for an unknown one', async test => {
  const service = await startTestService(test)
  const { owner } = await createTestWorkspace(service)
  for (const id of ['0', '-1', '1e3', '99999999999', '1%27', 'a', '2147483648', '1.0']) {
    const reply = await owner.client.call('GET', `${SESSION_API_PATH}/workspaces/${id}/members`)
    assert.equal(reply.status, 404, id)
  }
})
