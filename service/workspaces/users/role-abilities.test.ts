import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import {
  DESCRIBED_ACTIONS,
  hasPermission,
  ROLE_ABILITIES,
  ROLE_LABELS,
  WORKSPACE_ACTIONS,
  WORKSPACE_ROLES,
} from '@signalbox/contract/session/roles.ts'
import { SESSION_API_PATH } from '@signalbox/contract/session/session-operation.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import {
  addMember,
  createTestUser,
  createTestWorkspace,
  findEmailedLink,
} from '../../../testing/fixtures/users.ts'

it('describes every action once, in a sentence that is true of a role or not', () => {
  assert.deepEqual(DESCRIBED_ACTIONS.flat().toSorted(), [...WORKSPACE_ACTIONS].toSorted())
  for (const role of WORKSPACE_ROLES) {
    for (const actions of DESCRIBED_ACTIONS) {
      const allowed = actions.filter(action => hasPermission(role, action))
      assert.ok([0, actions.length].includes(allowed.length), `${role}: ${actions}`)
    }
  }
})

it('gives each role what the roles below it have, and more', () => {
  for (const [index, role] of WORKSPACE_ROLES.entries()) {
    const below = WORKSPACE_ROLES[index + 1]
    if (!below) continue
    const [more, less] = [ROLE_ABILITIES[role], ROLE_ABILITIES[below]]
    assert.ok(
      less.every(sentence => more.includes(sentence)),
      `${role} and ${below}`,
    )
    assert.ok(more.length > less.length, `${role} and ${below}`)
  }
})

it('says in the documentation what each role may do', () => {
  const page = join(import.meta.dirname, '../../../docs/operations/people.md')
  const text = readFileSync(page, 'utf8')
  for (const role of WORKSPACE_ROLES) {
    const list = ROLE_ABILITIES[role].map(sentence => `- ${sentence}`).join('\n')
    const more = WORKSPACE_ROLES[WORKSPACE_ROLES.indexOf(role) + 1]
    const own = more
      ? list
          .split('\n')
          .filter(line => !ROLE_ABILITIES[more].includes(line.slice(2)))
          .join('\n')
      : list
    assert.ok(text.includes(`${own}\n`), `${ROLE_LABELS[role]}:\n${own}`)
  }
})

for (const role of WORKSPACE_ROLES) {
  it(`says what an invited ${role} may do, in the email and on the page`, async test => {
    const service = await startTestService(test)
    const { owner, workspaceId } = await createTestWorkspace(service)
    const guest = await createTestUser(service)
    const body = { email: guest.email, role }
    const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/invitations`
    assert.equal((await owner.client.call('POST', path, { body })).status, 201)
    const email = service.mails.find(({ to }) => to === guest.email)?.text ?? ''
    const page = await guest.client.get(
      findEmailedLink(service.mails, guest.email, '/invitations/'),
    )
    for (const sentence of Object.values(ROLE_ABILITIES).flat()) {
      const isAllowed = ROLE_ABILITIES[role].includes(sentence)
      assert.equal(email.includes(`- ${sentence}\n`), isAllowed, sentence)
      assert.equal(page.text.includes(`<li>${sentence}</li>`), isAllowed, sentence)
    }
    const waits = role === 'owner' || role === 'admin'
    assert.equal(/72 hours/.test(email), waits)
    assert.equal(/72 hours/.test(page.text), waits)
  })
}

it('shows an events viewer the own row alone, and lets them leave', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const viewer = await createTestUser(service)
  await addMember(service, { workspaceId, userId: viewer.userId, role: 'viewer' })
  const path = `${SESSION_API_PATH}/workspaces/${workspaceId}/members`
  const { body } = await viewer.client.call('GET', path)
  assert.deepEqual(
    body.members.map((member: { email: string }) => member.email),
    [viewer.email],
  )
  const remove = ({ userId }: typeof viewer) => viewer.client.call('DELETE', `${path}/${userId}`)
  assert.equal((await remove(owner)).status, 403)
  assert.equal((await remove(viewer)).status, 204)
  assert.equal((await viewer.client.call('GET', path)).status, 404)
})

it('makes a viewer who is promoted within 72 hours wait for a role that decides', async test => {
  const service = await startTestService(test)
  const { owner, workspaceId } = await createTestWorkspace(service)
  const viewer = await createTestUser(service)
  const workspace = `${SESSION_API_PATH}/workspaces/${workspaceId}`
  const invitation = { body: { email: viewer.email, role: 'viewer' } }
  const { id } = (await owner.client.call('POST', `${workspace}/invitations`, invitation)).body
  const answer = { body: { answer: 'accepted' } }
  await viewer.client.call('POST', `${SESSION_API_PATH}/invitations/${id}`, answer)
  const path = `${workspace}/members`
  const setRole = async (role: string) => {
    const body = { role }
    const changed = await owner.client.call('PATCH', `${path}/${viewer.userId}`, { body })
    assert.equal(changed.status, 204)
    const { members } = (await owner.client.call('GET', path)).body
    return members.find((member: { user_id: number }) => member.user_id === viewer.userId)
  }
  assert.partialDeepStrictEqual(await setRole('admin'), {
    role: 'viewer',
    waiting_role: { role: 'admin' },
  })
  assert.partialDeepStrictEqual(await setRole('member'), { role: 'member', waiting_role: null })
})
