import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import {
  type AgentFixture,
  createFixtureMember,
  propose,
} from '../../../testing/fixtures/agents.ts'
import { readAuditEntries } from '../../../testing/fixtures/audit.ts'
import {
  APPROVAL,
  createExecutionFixture,
  isRefusal,
  RAISE,
} from '../../../testing/fixtures/executions.ts'
import { HOUR_SECONDS } from '../../runtime/util/time.ts'
import { setUserStatus } from '../../workspaces/users/user-store.ts'
import type { UsersContext } from '../../workspaces/users/users-context.ts'
import { changeMemberRole, removeMember } from '../../workspaces/users/workspaces.ts'
import { cancelPolicyOfFormerOwner } from '../policy/pending-policy.ts'
import { readQueuedBatch } from './approval-queue.ts'
import { decideActions } from './decide-actions.ts'

async function stage(test: TestContext, options?: { isAlone: boolean }) {
  const fixture = await createExecutionFixture(test, 'ask', options)
  const { batchId } = await propose(fixture, RAISE)
  return { fixture, batchId }
}

/** Roles are changed with these members of the context only. */
function usersContext({ context }: AgentFixture): UsersContext {
  const onRoleLost = cancelPolicyOfFormerOwner
  return { ...context, onRoleLost, logger: { info: () => {} } } as unknown as UsersContext
}

function setRole(fixture: AgentFixture, userId: number, role: string) {
  const { workspaceId, responsible } = fixture
  return changeMemberRole(usersContext(fixture), responsible, {
    workspaceId,
    userId,
    body: { role },
  })
}

/** As the user who is responsible for the proposing credential. */
function approveOwn({ context, workspaceId, responsible: user }: AgentFixture, batchId: number) {
  return decideActions(context, { user, workspaceId, batchId }, APPROVAL)
}

it('refuses the own proposal of an owner who demotes the other owner first', async test => {
  const { fixture, batchId } = await stage(test)
  const { context, workspaceId, owner, responsible } = fixture
  await setRole(fixture, owner.userId, 'member')
  await assert.rejects(approveOwn(fixture, batchId), isRefusal(403, /in the last 72 hours/))
  const request = { user: responsible, workspaceId, batchId }
  const { batch, recent_changes } = await readQueuedBatch(context, request)
  assert.equal(batch.may_decide, false)
  assert.match(batch.may_not_reason ?? '', /in the last 72 hours/)
  const [change] = recent_changes
  assert.deepEqual(
    [change?.action, change?.actor.id, change?.subject.id, change?.details],
    [
      'member.role_changed',
      String(responsible.userId),
      String(owner.userId),
      { role_before: 'owner', role: 'member' },
    ],
  )
  await setRole(fixture, owner.userId, 'owner')
  const roles = await readAuditEntries(fixture.database, workspaceId, 'member.role_changed')
  assert.equal(roles.length, 2)
  // A role that was just given back does not decide either.
  const again = decideActions(context, { ...request, user: owner }, APPROVAL)
  await assert.rejects(again, isRefusal(403, /became an owner or admin in the last 72 hours/))
  const third = await createFixtureMember(fixture, 'owner')
  const [approved] = await decideActions(context, { ...request, user: third }, APPROVAL)
  assert.deepEqual(
    approved?.decisionContext?.recent_changes.map(({ action }) => action),
    ['member.role_changed', 'member.role_changed', 'policy.changed', 'policy.changed'],
  )
})

it('refuses the approval of a second mailbox that the owner just promoted', async test => {
  const { fixture, batchId } = await stage(test)
  const { context, workspaceId } = fixture
  const mailbox = await createFixtureMember(fixture, 'member')
  await setRole(fixture, mailbox.userId, 'admin')
  const request = { user: mailbox, workspaceId, batchId }
  const denial = /became an owner or admin in the last 72 hours/
  await assert.rejects(decideActions(context, request, APPROVAL), isRefusal(403, denial))
  fixture.clock.advance(72 * HOUR_SECONDS + 1)
  const { batchId: later } = await propose(fixture, RAISE)
  const [action] = await decideActions(context, { ...request, batchId: later }, APPROVAL)
  assert.equal(action?.status, 'executing')
})

it('refuses the approval of an owner who just promoted the person behind it', async test => {
  const { fixture, batchId } = await stage(test)
  const { context, workspaceId, responsible, owner } = fixture
  const byOwner = (role: string) =>
    changeMemberRole(usersContext(fixture), owner, {
      workspaceId,
      userId: responsible.userId,
      body: { role },
    })
  await createFixtureMember(fixture, 'owner')
  await byOwner('member')
  await byOwner('owner')
  const request = { user: owner, workspaceId, batchId }
  const denial = /gave them their role/
  await assert.rejects(decideActions(context, request, APPROVAL), isRefusal(403, denial))
})

it('refuses the own proposal of an owner who removes the only admin first', async test => {
  const { fixture, batchId } = await stage(test, { isAlone: true })
  const admin = await createFixtureMember(fixture, 'admin')
  await assert.rejects(approveOwn(fixture, batchId), isRefusal(403, /Another owner or admin/))
  const { workspaceId, responsible } = fixture
  const member = { workspaceId, userId: admin.userId }
  await removeMember(usersContext(fixture), responsible, member)
  await assert.rejects(approveOwn(fixture, batchId), isRefusal(403, /in the last 72 hours/))
})

it('counts other owners until 72 hours after they lost the role', async test => {
  const { fixture } = await stage(test)
  await setRole(fixture, fixture.owner.userId, 'member')
  fixture.clock.advance(72 * HOUR_SECONDS)
  const { batchId } = await propose(fixture, RAISE)
  await assert.rejects(approveOwn(fixture, batchId), isRefusal(403, /in the last 72 hours/))
  fixture.clock.advance(1)
  const [action] = await approveOwn(fixture, batchId)
  assert.equal(action?.status, 'executing')
})

it('lets the only person who could decide approve an own proposal', async test => {
  const { fixture, batchId } = await stage(test, { isAlone: true })
  await createFixtureMember(fixture, 'member')
  const [action] = await approveOwn(fixture, batchId)
  assert.equal(action?.status, 'executing')
})

it('does not count an owner whom the operator disabled', async test => {
  const { fixture, batchId } = await stage(test)
  const { rows } = await fixture.database.pool.query(
    'select email from people.users where id = $1',
    [fixture.owner.userId],
  )
  await setUserStatus(fixture.database, rows[0].email, 'disabled')
  const [action] = await approveOwn(fixture, batchId)
  assert.equal(action?.status, 'executing')
})
