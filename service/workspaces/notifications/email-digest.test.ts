import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startNotificationsFixture } from '../../../testing/fixtures/notifications.ts'
import { addMember, createTestUser } from '../../../testing/fixtures/users.ts'
import { plainName } from '../../runtime/util/plain-name.ts'

it('sends one email with a link to each person who may decide', async test => {
  const { service, workspace, emails, raise, runJob } = await startNotificationsFixture(test)
  const { workspaceId, owner } = workspace
  const admin = await createTestUser(service)
  const member = await createTestUser(service)
  await addMember(service, { workspaceId, userId: admin.userId, role: 'admin' })
  await addMember(service, { workspaceId, userId: member.userId, role: 'member' })
  await raise()
  await runJob()
  await runJob()
  assert.deepEqual(emails.map(({ to }) => to).toSorted(), [admin.email, owner.email].toSorted())
  const [email] = emails
  assert.equal(email?.subject, 'A proposal waits for approval: Shop')
  assert.match(email?.text ?? '', /^- Budget robot proposes a change \(proposal 7\)\.$/m)
  assert.ok(email?.text.includes(`${service.url}/w/${workspaceId}/approvals/7\n`))
  assert.ok(email?.text.includes(`${service.url}/w/${workspaceId}/notifications\n`))
})

it('sends what is for one person to no one else', async test => {
  const { service, workspace, emails, raise, runJob } = await startNotificationsFixture(test)
  const { workspaceId } = workspace
  const member = await createTestUser(service)
  await addMember(service, { workspaceId, userId: member.userId, role: 'member' })
  await raise({ topic: 'results', recipients: { permission: null, userId: member.userId } })
  await runJob()
  assert.deepEqual(
    emails.map(({ to, subject }) => [to, subject]),
    [[member.email, 'An update in Shop']],
  )
})

it('sends no email to members who left, were disabled or have no verified address', async test => {
  const { service, workspace, emails, raise, runJob } = await startNotificationsFixture(test)
  const { workspaceId } = workspace
  const people = await Promise.all([1, 2, 3].map(() => createTestUser(service)))
  const [left, disabled, unverified] = people.map(({ userId }) => userId)
  for (const { userId } of people) await addMember(service, { workspaceId, userId, role: 'admin' })
  const { pool } = service.database
  await pool.query(`update people.users set status = 'disabled' where id = $1`, [disabled])
  await pool.query('update people.users set email_verified = false where id = $1', [unverified])
  await raise()
  await pool.query('delete from members where user_id = $1', [left])
  await runJob()
  assert.deepEqual(
    emails.map(({ to }) => to),
    [workspace.owner.email],
  )
})

it('collects a flood into one digest per interval', async test => {
  const { service, emails, raise, runJob } = await startNotificationsFixture(test)
  await raise()
  await runJob()
  for (let id = 1; id <= 60; id += 1) {
    await raise({ subject: { type: 'proposal', id: String(id) }, text: `Change ${id}.` })
    service.clock.advance(14)
    await runJob()
  }
  assert.equal(emails.length, 1)
  service.clock.advance(60)
  await runJob()
  assert.equal(emails.length, 2)
  const { subject = '', text = '' } = emails[1] ?? {}
  assert.equal(subject, '60 proposals wait for approval: Shop')
  assert.equal(text.match(/^- Change \d+\.$/gm)?.length, 20)
  assert.match(text, /^There are 40 more:$/m)
  await runJob()
  assert.equal(emails.length, 2)
})

it('leaves out muted topics', async test => {
  const fixture = await startNotificationsFixture(test)
  const { emails, raise, runJob, path, workspace } = fixture
  const body = { digest_minutes: 5, email_topics: ['results'], webhook_topics: [] }
  await workspace.owner.client.call('PUT', `${path}/topics`, { body })
  await raise()
  await raise({ topic: 'results', text: 'Made and verified.' })
  await runJob()
  assert.equal(emails.length, 1)
  assert.doesNotMatch(emails[0]?.text ?? '', /proposal 7/)
})

it('tries again after a failure, and keeps one digest for an outage', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, workspace, emails, failures, raise, runJob, refuseEmail } = fixture
  const { email } = workspace.owner
  refuseEmail(email, Object.assign(new Error('no'), { code: 'ECONNREFUSED' }))
  await raise()
  await runJob()
  for (let minute = 1; minute <= 5; minute += 1) {
    await raise({ text: `Later ${minute}.` })
    service.clock.advance(60)
    await runJob()
  }
  refuseEmail(email, null)
  service.clock.advance(300)
  await runJob()
  assert.equal(emails.length, 1)
  service.clock.advance(900)
  await runJob()
  assert.equal(emails.length, 2)
  assert.equal(emails[1]?.text.match(/^- Later \d\.$/gm)?.length, 5)
  assert.deepEqual(failures, [])
})

it('gives up after half an hour, and at once when the mail server refuses for good', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, workspace, failures, raise, runJob, refuseEmail } = fixture
  const { email } = workspace.owner
  const refusal = Object.assign(new Error('no'), { code: 'EENVELOPE', responseCode: 550 })
  refuseEmail(email, refusal)
  await raise()
  await runJob()
  assert.equal(failures.length, 1)
  refuseEmail(email, Object.assign(new Error('no'), { code: 'ETIMEDOUT' }))
  service.clock.advance(900)
  await raise()
  for (let minute = 0; minute < 40; minute += 1) {
    await runJob()
    service.clock.advance(60)
  }
  assert.deepEqual(
    failures.map(({ channel, code }) => [channel, code]),
    [
      ['email', 'EENVELOPE'],
      ['email', 'ETIMEDOUT'],
    ],
  )
  const { rows } = await service.database.pool.query(
    'select status, attempts, body from notification_messages order by created_at',
  )
  assert.deepEqual(rows, [
    { status: 'failed', attempts: 1, body: '' },
    { status: 'failed', attempts: 4, body: '' },
  ])
})

it('turns no name into a link', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, workspace, emails, raise, runJob } = fixture
  await service.database.pool.query('update workspaces set name = $1 where id = $2', [
    'visit evil.example NOW\r\nBcc: a@b.example https://evil.example www.evil.example',
    workspace.workspaceId,
  ])
  await raise()
  await runJob()
  const { subject = '', text = '' } = emails[0] ?? {}
  assert.doesNotMatch(subject + text, /evil\.example|a@b|www\.|^Bcc/m)
  assert.deepEqual([...new Set(text.match(/https?:\/\/[^/]+/g))], [service.url])
})

it('keeps the letters of names, and what makes no link', () => {
  for (const name of ['Shop EU', 'Ada & Co. KG', 'Café № 1'.normalize('NFKC'), 'Läden/Süd', '店']) {
    assert.equal(plainName(name), name)
  }
  for (const [name, plain] of [
    ['a.example', 'a. example'],
    ['a\uff0eexample', 'a. example'],
    ['a。example', 'a。 example'],
    ['10.0.0.1', '10. 0. 0. 1'],
    ['mailto:a@b.example', 'a@ b. example'],
    ['https://x', 'https: x'],
    ['a\u200b\r\nb', 'a b'],
  ]) {
    assert.equal(plainName(name ?? ''), plain)
  }
})
