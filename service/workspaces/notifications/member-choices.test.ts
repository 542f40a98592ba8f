import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { startNotificationsFixture } from '../../../testing/fixtures/notifications.ts'
import { submitFormPairs } from '../../../testing/fixtures/page-client.ts'
import { addMember, createTestUser, createTestWorkspace } from '../../../testing/fixtures/users.ts'
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
  const { service, workspace, emails, raise, runJob, pathOfPage } = fixture
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
    choose: (user: typeof owner, topics: readonly string[]) =>
      submitFormPairs(
        user.client,
        `${pathOfPage}/mine`,
        topics.map(topic => ['my_topics', topic] as const),
      ),
  }
}

it('sends alerts to owners and administrators unless a member chooses otherwise', async test => {
  const { people, recipientsOf, choose, pathOfPage } = await startWithMembers(test)
  const { owner, admin, member } = people
  assert.deepEqual(await recipientsOf(ALERT), ['admin', 'owner'])
  const page = await member.client.get(pathOfPage)
  assert.match(page.text, /name="my_topics" value="match_quality">/)
  assert.doesNotMatch(page.text, /name="my_topics" value="approvals"/)

  const saved = await choose(member, ['results', 'match_quality'])
  assert.match(saved.text, /Your choice is saved/)
  assert.match(saved.text, /name="my_topics" value="match_quality" checked/)
  await choose(admin, ['approvals', 'results', 'destinations'])
  assert.deepEqual(await recipientsOf(ALERT), ['member', 'owner'])
  assert.deepEqual(await recipientsOf({ ...ALERT, topic: 'destinations' }), ['admin', 'owner'])

  await choose(owner, [])
  assert.deepEqual(await recipientsOf(ALERT), ['member'])
  assert.deepEqual(await recipientsOf({}), ['admin'])
})

it('gives no proposals or results of others to a member by their own choice', async test => {
  const { people, recipientsOf, choose } = await startWithMembers(test)
  await choose(people.member, ['approvals', 'results', 'webhook'])
  assert.deepEqual(await recipientsOf({}), ['admin', 'owner'])
  const recipients = { permission: null, userId: people.owner.userId }
  assert.deepEqual(await recipientsOf({ topic: 'results', recipients }), ['owner'])
})

it('sends nothing that the workspace has switched off', async test => {
  const { people, recipientsOf, choose, pathOfPage } = await startWithMembers(test)
  await choose(people.member, ['match_quality'])
  const fields = { digest_minutes: '5', email_topics: 'approvals' }
  await people.owner.client.post(pathOfPage, fields)
  assert.deepEqual(await recipientsOf(ALERT), [])
  const { text } = await people.member.client.get(pathOfPage)
  assert.match(text, /off for the workspace/)
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

it('sends a test email to the member who asks, one at a time', async test => {
  const { people, emails, runJob, pathOfPage } = await startWithMembers(test)
  const { client, email } = people.member
  const queued = await client.post(`${pathOfPage}/mine/test`, {})
  assert.match(queued.text, /A test email is sent to you within a minute/)
  assert.equal((await client.post(`${pathOfPage}/mine/test`, {})).status, 409)
  await runJob()
  assert.deepEqual(
    emails.map(({ to }) => to),
    [email],
  )
  assert.match(emails[0]?.text ?? '', /This is a test message/)
  await client.post(`${pathOfPage}/mine/test`, {})
  await runJob()
  assert.equal(emails.length, 2)
})

it('hides the forms from people outside and refuses other sites', async test => {
  const { service, people, pathOfPage } = await startWithMembers(test)
  const { owner: stranger } = await createTestWorkspace(service)
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  for (const form of ['/mine', '/mine/test']) {
    const path = pathOfPage + form
    assert.equal((await stranger.client.post(path, {})).status, 404)
    assert.equal((await people.member.client.post(path, {}, headers)).status, 403)
  }
})
