import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  addMember,
  createTestUser,
  createTestWorkspace,
  type TestUser,
} from '../../../testing/fixtures/users.ts'

const LIMITS = {
  invitationsPerUserPerDay: 5,
  invitationsPerWorkspacePerDay: 8,
  invitationsPerRecipientPerDay: 2,
}

async function startLimitedService(test: TestContext) {
  const time = { seconds: 0 }
  const monotonicSeconds = () => time.seconds
  const service = await startTestService(test, { limits: LIMITS, monotonicSeconds })
  const invite = async (user: TestUser, workspaceId: number, email: string) => {
    const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
    const reply = await user.client.call('POST', path, { body: { email, role: 'member' } })
    return reply
  }
  return { service, time, invite }
}

it('limits the invitations of a person over all workspaces and recipients', async test => {
  const { service, time, invite } = await startLimitedService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const second = await createTestWorkspace(service, { owner })
  const statuses: number[] = []
  for (let count = 0; count < 20; count += 1) {
    const id = count % 2 ? workspaceId : second.workspaceId
    statuses.push((await invite(owner, id, `victim${count}@people.example`)).status)
  }
  assert.deepEqual(statuses, [...Array(5).fill(201), ...Array(15).fill(429)])
  assert.equal(service.mails.length, 5)
  const refused = await invite(owner, workspaceId, 'another@people.example')
  assert.match(refused.body.message, /You sent too many invitations; wait some hours/)
  assert.ok(Number(refused.headers.get('retry-after')) > 3_600)
  time.seconds += 86_400 / 5
  assert.equal((await invite(owner, workspaceId, 'another@people.example')).status, 201)
})

it('limits the invitations of a workspace over all its members', async test => {
  const { service, invite } = await startLimitedService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const admin = await createTestUser(service)
  await addMember(service, { workspaceId, userId: admin.userId, role: 'admin' })
  const statuses: number[] = []
  for (let count = 0; count < 10; count += 1) {
    const user = count % 2 ? owner : admin
    statuses.push((await invite(user, workspaceId, `guest${count}@people.example`)).status)
  }
  assert.deepEqual(statuses, [...Array(8).fill(201), 429, 429])
})

it('limits the invitations to an address over all inviters, also renewed and withdrawn ones', async test => {
  const { service, invite } = await startLimitedService(test)
  const shops = [await createTestWorkspace(service), await createTestWorkspace(service)]
  const victim = 'victim@people.example'
  for (const { owner, workspaceId } of shops) {
    const { status, body } = await invite(owner, workspaceId, victim)
    assert.equal(status, 201)
    const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations/${body.id}`
    assert.equal((await owner.client.call('DELETE', path)).status, 204)
  }
  for (const { owner, workspaceId } of shops) {
    const reply = await invite(owner, workspaceId, victim.toUpperCase())
    assert.equal(reply.status, 429)
    assert.match(reply.body.message, /to this address/)
  }
  // What is refused for its recipient counts neither for the inviter nor for the workspace.
  const [{ owner, workspaceId } = await createTestWorkspace(service)] = shops
  for (let count = 0; count < 4; count += 1) {
    assert.equal((await invite(owner, workspaceId, `guest${count}@people.example`)).status, 201)
  }
})

it('lets only a person with a verified address invite and create workspaces', async test => {
  const { service, invite } = await startLimitedService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  await service.database.pool.query(
    'update people.users set email_verified = false where id = $1',
    [owner.userId],
  )
  const reply = await invite(owner, workspaceId, 'guest@people.example')
  assert.equal(reply.status, 403)
  assert.match(reply.body.message, /Confirm your email address first.*\/verify/)
  const created = await owner.client.call('POST', `${SESSION_API_PATH}/workspaces`, {
    body: { name: 'Second shop' },
  })
  assert.equal(created.status, 403)
  assert.equal(service.mails.length, 0)
})
