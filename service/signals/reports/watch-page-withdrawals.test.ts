import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import { openDashboardWorkspace } from '../../../testing/fixtures/dashboard.ts'
import { startNotificationsFixture } from '../../../testing/fixtures/notifications.ts'
import {
  liftWithdrawals,
  listWithdrawals,
  withdrawOnPage,
} from '../../../testing/fixtures/page-withdrawals.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { addMember, createTestUser } from '../../../testing/fixtures/users.ts'
import {
  countOpenWorkspaceAlerts,
  createWithdrawalAlerts,
  type WorkspaceAlertTransition,
} from '../../workspaces/notifications/audit-alert-store.ts'
import { watchPageWithdrawals } from './watch-page-withdrawals.ts'

const HOUR = 3_600

/** A workspace whose pages raise the alert with three withdrawals in an hour. */
async function startWatching(test: TestContext) {
  const service = await startTestService(test)
  const { database, clock } = service
  const { owner, path } = await openDashboardWorkspace(service)
  const { workspaceId } = service.tracker
  const workspace = { workspaceId, workspaceName: 'Shop', adAccountId: 0, owner }
  const fixture = await startNotificationsFixture(test, { service, workspace })
  await fixture.setWebhook()
  const transitions: WorkspaceAlertTransition[] = []
  const alerts = createWithdrawalAlerts({
    database,
    onWorkspaceAlert: transition => void transitions.push(transition),
  })
  return {
    ...fixture,
    transitions,
    watch: (withdrawalsMin = 3) =>
      watchPageWithdrawals({ database, alerts, withdrawalsMin }, clock.now()),
    withdraw: async (count: number) => {
      for (let sent = 0; sent < count; sent += 1) {
        const { status } = await withdrawOnPage(service, { visitor_id: randomUUID() })
        assert.equal(status, 202)
      }
    },
    /** Sends what waits, an hour later, so that no interval holds a digest back. */
    passHours: async (count: number) => {
      clock.advance(count * HOUR)
      await fixture.runJob()
    },
    readAlerts: async () => (await owner.client.call('GET', `${path}/overview`)).body.alerts,
  }
}

it('tells people and systems about many withdrawals by pages, once, and about their end', async test => {
  const fixture = await startWatching(test)
  const { service, workspace, emails, receiver, watch, withdraw, passHours } = fixture
  const { workspaceId, trackerId } = service.tracker
  await withdraw(2)
  await watch()
  await passHours(1)
  // Two in each of two hours are not three in one.
  await withdraw(2)
  await watch()
  assert.deepEqual([fixture.transitions, await fixture.readAlerts()], [[], []])

  await withdraw(2)
  const at = service.clock.now().toISOString()
  await watch()
  await withdraw(1)
  await watch()
  const sentence =
    'Test tracker: pages of this tracker sent 5 withdrawals of consent within an hour; the alert begins ' +
    'at 3. Lift those that your visitors did not send.'
  assert.deepEqual(await fixture.readAlerts(), [
    { destination_id: null, kind: 'page_withdrawals_many', sentence, raised_at: at },
  ])
  assert.deepEqual(await countOpenWorkspaceAlerts(service.database), { page_withdrawals_many: 1 })
  await passHours(1)
  assert.deepEqual(
    emails.map(({ to, subject }) => [to, subject]),
    [[workspace.owner.email, 'Alert: Test']],
  )

  await passHours(4)
  await watch()
  assert.equal(fixture.transitions.length, 1)
  await passHours(1)
  await watch()
  await watch()
  await passHours(1)
  assert.deepEqual(
    fixture.transitions.map(({ transition }) => transition),
    ['raised', 'resolved'],
  )
  assert.deepEqual(await fixture.readAlerts(), [])
  assert.equal(emails.length, 2)
  const items = receiver.requests.flatMap(({ body }) => JSON.parse(body).data.notifications)
  const privacy = `${service.url}/w/${workspaceId}/privacy`
  assert.deepEqual(
    items.map(({ type, topic, subject, url }) => ({ type, topic, subject, url })),
    [
      ['raised', `${privacy}?tracker=${trackerId}`],
      ['resolved', privacy],
    ].map(([end, url]) => ({
      type: `alert.page_withdrawals_many.${end}`,
      topic: 'page_withdrawals',
      subject: { type: 'workspace', id: String(workspaceId) },
      url,
    })),
  )
})

it('resolves the alert when the withdrawals are lifted, and raises it again', async test => {
  const { service, watch, withdraw, transitions } = await startWatching(test)
  await withdraw(3)
  await watch()
  const forged = await listWithdrawals(service)
  await liftWithdrawals(
    service,
    forged.map(({ id }: { id: string }) => id),
  )
  await watch()
  await withdraw(3)
  await watch()
  assert.deepEqual(
    transitions.map(({ transition }) => transition),
    ['raised', 'resolved', 'raised'],
  )
})

it('emails members who chose the topic, and no owner who did not want it', async test => {
  const fixture = await startWatching(test)
  const { service, workspace, emails, path, watch, withdraw, passHours } = fixture
  const { workspaceId } = workspace
  const member = await createTestUser(service)
  await addMember(service, { workspaceId, userId: member.userId, role: 'member' })
  const choose = ({ client }: typeof member, topic: string) =>
    client.call('PUT', `${path}/mine`, { body: { topics: [topic] } })
  await choose(member, 'page_withdrawals')
  await choose(workspace.owner, 'results')
  await withdraw(3)
  await watch()
  await passHours(1)
  assert.deepEqual(
    emails.map(({ to }) => to),
    [member.email],
  )
})

it('raises no alert when the setting is 0, and ends one that is open', async test => {
  const { watch, withdraw, transitions } = await startWatching(test)
  await withdraw(3)
  await watch(0)
  assert.deepEqual(transitions, [])
  await watch()
  await watch(0)
  assert.deepEqual(
    transitions.map(({ transition }) => transition),
    ['raised', 'resolved'],
  )
})
