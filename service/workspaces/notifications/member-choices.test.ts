import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startNotificationsFixture } from '../../../testing/fixtures/notifications.ts'
import { addMember, createTestUser } from '../../../testing/fixtures/users.ts'
import type { Notification } from './notification.ts'

const ALERT: Partial<Notification> = {
  topic: 'match_quality',
  type: 'alert.emq_low.raised',
  recipients: { permission: 'manage_deliveries', userId: null },
  text: 'The score is 3.9.',
}

/** An owner, an administrator and a member, and who got an email since the last call. */
async function startWithMembers(test: TestContext) {
  const fixture = await startNotificationsFixture(test)
  const { service, workspace, emails, raise, runJob, path } = fixture
  const { workspaceId, owner } = workspace
  const admin = await createTestUser(service)
  const member = await createTestUser(service)
  await addMember(service, { workspaceId, userId: admin.userId, role: 'admin' })
  await addMember(service, { workspaceId, userId: member.userId, role: 'member' })
  const names = new Map([
    [owner.email, 'owner'],
    [admin.email, 'admin'],
    [member.email, 'member'],
  ])
  return {
    ...fixture,
    people: { owner, admin, member },
    recipientsOf: async (changes: Partial<Notification>) => {
      const before = emails.length
      await raise(changes)
      service.clock.advance(3_600)
      await runJob()
      return emails
        .slice(before)
        .map(({ to }) => names.get(to) ?? to)
        .toSorted()
    },
    choose: ({ client }: typeof owner, topics: readonly string[]) =>
      client.call('PUT', `${path}/mine`, { body: { topics } }),
    /** What a person gets, of what they may choose. */
    topicsOf: async ({ client }: typeof owner) => {
      const { body } = await client.call('GET', path)
      const topics: { topic: string; is_wanted: boolean; is_muted: boolean }[] = body.own_topics
      return new Map(topics.map(({ topic, ...state }) => [topic, state]))
    },
  }
}

it('sends alerts to owners and administrators unless a member chooses otherwise', async test => {
  const { people, recipientsOf, choose, topicsOf } = await startWithMembers(test)
  const { owner, admin, member } = people
  assert.deepEqual(await recipientsOf(ALERT), ['admin', 'owner'])
  assert.equal((await topicsOf(member)).get('match_quality')?.is_wanted, false)
  assert.ok(!(await topicsOf(member)).has('approvals'))

  assert.equal((await choose(member, ['results', 'match_quality'])).status, 204)
  assert.equal((await topicsOf(member)).get('match_quality')?.is_wanted, true)
  await choose(admin, ['approvals', 'results', 'destinations'])
  assert.deepEqual(await recipientsOf(ALERT), ['member', 'owner'])
  assert.deepEqual(await recipientsOf({ ...ALERT, topic: 'destinations' }), ['admin', 'owner'])

  await choose(owner, [])
  assert.deepEqual(await recipientsOf(ALERT), ['member'])
  assert.deepEqual(await recipientsOf({}), ['admin'])
})

it('gives no proposals or results of others to a member by their own choice', async test => {
  const { people, recipientsOf, choose } = await startWithMembers(test)
  assert.equal((await choose(people.member, ['webhook'])).status, 422)
  await choose(people.member, ['approvals', 'results'])
  assert.deepEqual(await recipientsOf({}), ['admin', 'owner'])
  const recipients = { permission: null, userId: people.owner.userId }
  assert.deepEqual(await recipientsOf({ topic: 'results', recipients }), ['owner'])
})

it('sends nothing that the workspace has switched off', async test => {
  const { people, recipientsOf, choose, topicsOf, path } = await startWithMembers(test)
  await choose(people.member, ['match_quality'])
  const body = { digest_minutes: 5, email_topics: ['approvals'], webhook_topics: [] }
  await people.owner.client.call('PUT', `${path}/topics`, { body })
  assert.deepEqual(await recipientsOf(ALERT), [])
  const muted = { is_wanted: true, is_muted: true }
  assert.deepEqual((await topicsOf(people.member)).get('match_quality'), muted)
})

it('follows the role where a member chose the default, and forgets who leaves', async test => {
  const { service, workspace, people, recipientsOf, choose } = await startWithMembers(test)
  const { pool } = service.database
  const { member } = people
  await choose(member, ['results'])
  const setRole = (role: string) =>
    pool.query('update members set role = $1 where user_id = $2', [role, member.userId])
  await setRole('admin')
  assert.deepEqual(await recipientsOf(ALERT), ['admin', 'member', 'owner'])
  await choose(member, [])
  assert.deepEqual(await recipientsOf(ALERT), ['admin', 'owner'])
  await pool.query('delete from members where user_id = $1', [member.userId])
  const { workspaceId } = workspace
  await addMember(service, { workspaceId, userId: member.userId, role: 'admin' })
  assert.deepEqual(await recipientsOf(ALERT), ['admin', 'member', 'owner'])
})

it('sends an events viewer nothing, whatever they chose in another role', async test => {
  const { service, people, recipientsOf, choose, path } = await startWithMembers(test)
  const { member } = people
  await choose(member, ['match_quality', 'results'])
  await service.database.pool.query("update members set role = 'viewer' where user_id = $1", [
    member.userId,
  ])
  assert.deepEqual(await recipientsOf(ALERT), ['admin', 'owner'])
  const recipients = { permission: null, userId: member.userId }
  assert.deepEqual(await recipientsOf({ topic: 'results', recipients }), [])
  assert.equal((await member.client.call('GET', path)).status, 403)
})

it('sends a test email to the member who asks, one at a time', async test => {
  const { people, emails, runJob, path } = await startWithMembers(test)
  const { client, email } = people.member
  const ask = async () => (await client.call('POST', `${path}/mine/test`)).status
  assert.equal(await ask(), 204)
  assert.equal(await ask(), 409)
  await runJob()
  assert.deepEqual(
    emails.map(({ to }) => to),
    [email],
  )
  assert.match(emails[0]?.text ?? '', /This is a test message/)
  assert.equal(await ask(), 204)
  await runJob()
  assert.equal(emails.length, 2)
})
