import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { WorkspaceRole } from '@signalbox/contract/session/roles.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import {
  addMember,
  createTestUser,
  createTestWorkspace,
  type TestUser,
} from '../../../testing/fixtures/users.ts'
import { findGrantedRole } from './role-store.ts'
import { setUserStatus } from './user-store.ts'
import { findMemberRole } from './workspace-store.ts'

/** Two owners, one of whom has invited a guest. */
async function inviteByOwner(service: TestService, role: WorkspaceRole = 'owner') {
  const { owner, workspaceId } = await createTestWorkspace(service)
  const inviter = await createTestUser(service)
  await addMember(service, { workspaceId, userId: inviter.userId, role: 'owner' })
  const guest = await createTestUser(service)
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}`
  const invite = async (user: TestUser) => {
    const body = { email: guest.email, role }
    const reply = await user.client.call('POST', `${path}/invitations`, { body })
    assert.equal(reply.status, 201)
    return reply.body.id as string
  }
  const accept = (id: string) =>
    guest.client.call('POST', `${SESSION_API_PATH}/invitations/${id}`, {
      body: { answer: 'accepted' },
    })
  const key = { workspaceId, userId: guest.userId }
  // An invited owner is a member at first.
  const guestRole = async () =>
    (await findGrantedRole(service.database, key))?.role ?? findMemberRole(service.database, key)
  const pending = async () => {
    const { body } = await owner.client.call('GET', `${path}/invitations`)
    return body.invitations.length as number
  }
  const id = await invite(inviter)
  return { owner, inviter, guest, workspaceId, path, id, invite, accept, guestRole, pending }
}

type Scene = Awaited<ReturnType<typeof inviteByOwner>>

const LOSSES: Record<string, (service: TestService, scene: Scene) => Promise<unknown>> = {
  'is removed': (_, { owner, inviter, path }) =>
    owner.client.call('DELETE', `${path}/members/${inviter.userId}`),
  leaves: (_, { inviter, path }) =>
    inviter.client.call('DELETE', `${path}/members/${inviter.userId}`),
  'is demoted to administrator': (_, { owner, inviter, path }) =>
    owner.client.call('PATCH', `${path}/members/${inviter.userId}`, { body: { role: 'admin' } }),
  'is disabled': ({ database }, { inviter }) => setUserStatus(database, inviter.email, 'disabled'),
}

for (const [loss, apply] of Object.entries(LOSSES)) {
  it(`withdraws the owner invitation of an owner who ${loss}`, async test => {
    const service = await startTestService(test)
    const scene = await inviteByOwner(service)
    await apply(service, scene)
    assert.equal(await scene.pending(), 0)
    assert.equal((await scene.accept(scene.id)).status, 404)
    assert.equal(await scene.guestRole(), null)
    const renewed = await scene.invite(scene.owner)
    assert.notEqual(renewed, scene.id)
    assert.equal((await scene.accept(renewed)).status, 200)
    assert.equal(await scene.guestRole(), 'owner')
  })
}

it('keeps the invitations that a demoted inviter may still send', async test => {
  const service = await startTestService(test)
  const scene = await inviteByOwner(service, 'member')
  await LOSSES['is demoted to administrator']?.(service, scene)
  assert.equal((await scene.accept(scene.id)).status, 200)
  assert.equal(await scene.guestRole(), 'member')
})

it('returns 403 when an administrator withdraws or replaces the invitation of an owner', async test => {
  const service = await startTestService(test)
  const scene = await inviteByOwner(service)
  const admin = await createTestUser(service)
  await addMember(service, {
    workspaceId: scene.workspaceId,
    userId: admin.userId,
    role: 'admin',
  })
  const invitation = `${scene.path}/invitations/${scene.id}`
  assert.equal((await admin.client.call('DELETE', invitation)).status, 403)
  const body = { email: scene.guest.email, role: 'member' }
  const replaced = await admin.client.call('POST', `${scene.path}/invitations`, { body })
  assert.equal(replaced.status, 403)
  assert.match(replaced.body.message, /Ask an owner/)
  assert.equal((await scene.accept(scene.id)).status, 200)
  assert.equal(await scene.guestRole(), 'owner')
})

it('refuses an invitation whose inviter lost the role in a way that withdrew nothing', async test => {
  const service = await startTestService(test)
  const scene = await inviteByOwner(service)
  const { inviter, workspaceId } = scene
  const key = [workspaceId, inviter.userId]
  const changes = [
    "update members set role = 'member' where workspace_id = $1 and user_id = $2",
    'delete from members where workspace_id = $1 and user_id = $2',
  ]
  for (const statement of changes) {
    await service.database.pool.query(statement, key)
    assert.equal((await scene.guest.client.get(`/invitations/${scene.id}`)).status, 404)
    assert.equal((await scene.accept(scene.id)).status, 404)
    const { body } = await scene.guest.client.call('GET', `${SESSION_API_PATH}/invitations`)
    assert.deepEqual(body.invitations, [])
  }
  assert.equal(await scene.guestRole(), null)
})

it('admits no guest as an owner when the inviter is removed concurrently', async test => {
  const service = await startTestService(test)
  for (let round = 0; round < 5; round += 1) {
    const scene = await inviteByOwner(service)
    const [answer, removal] = await Promise.all([
      scene.accept(scene.id),
      LOSSES['is removed']?.(service, scene) as Promise<{ status: number }>,
    ])
    assert.equal(removal.status, 204)
    // A guest who joined before the removal stays a member, because the role still waited.
    assert.equal(await scene.guestRole(), answer.status === 200 ? 'member' : null)
    assert.equal(await scene.pending(), 0)
  }
})
