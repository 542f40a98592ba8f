import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type NotificationsFixture,
  startNotificationsFixture,
} from '../../testing/fixtures/notifications.ts'
import { addMember, createTestUser } from '../../testing/fixtures/users.ts'
import { openJourneyPage } from './journey-page.ts'

const CONFIRM_AGAIN_SECONDS = 16 * 60

const urlOf = ({ service, workspace }: NotificationsFixture) =>
  `${service.url}/w/${workspace.workspaceId}/notifications`

it('sets a webhook, shows its secret once, and says why a message failed', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, workspace, receiver } = fixture
  const options = { service, person: workspace.owner, expectedStatuses: [422] }
  const { page, assertAccessible } = await openJourneyPage(test, options)
  await page.goto(urlOf(fixture))
  const webhook = page.getByRole('region', { name: 'Webhook' })
  await webhook.getByRole('button', { name: 'Add a webhook' }).click()
  await assertAccessible()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('URL').fill('http://hooks.example.com/')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await dialog.getByText('Enter a URL that starts with https://.').waitFor()
  await dialog.getByLabel('URL').fill(receiver.url)
  await page.keyboard.press('Enter')
  await dialog.getByText('it is shown only once').waitFor()
  const secret = await dialog.locator('pre').innerText()
  assert.match(secret, /^whsec_/)
  await assertAccessible()
  await dialog.getByRole('button', { name: 'I have copied it' }).click()
  await webhook.getByText(new URL(receiver.url).host).waitFor()
  await page.reload()
  await webhook.getByRole('button', { name: 'Send a test message' }).click()
  await webhook.getByText('Waiting', { exact: true }).waitFor()
  const content = await page.content()
  assert.ok(!content.includes(secret) && !content.includes('path-secret'))

  receiver.answer(response => void response.writeHead(410).end())
  await fixture.runJob()
  await page.reload()
  await webhook.getByText('it answered HTTP 410').last().waitFor()
  await assertAccessible()
  await webhook.getByRole('button', { name: 'Turn on' }).click()
  await webhook.getByText('On', { exact: true }).waitFor()

  service.clock.advance(CONFIRM_AGAIN_SECONDS)
  await webhook.getByRole('button', { name: 'New signing secret' }).click()
  await dialog.getByRole('link', { name: 'Confirm your identity' }).waitFor()
  await page.keyboard.press('Escape')
  await webhook.getByRole('button', { name: 'Remove' }).click()
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await webhook.getByText('The workspace has no webhook.').waitFor()
})

it('keeps the topics of the workspace and of the person', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, workspace } = fixture
  const options = { service, person: workspace.owner }
  const { page, assertAccessible } = await openJourneyPage(test, options)
  await page.goto(urlOf(fixture))
  const sent = page.getByRole('region', { name: 'What the workspace sends' })
  await sent.getByLabel('By email: Results of proposals').uncheck()
  await sent.getByLabel('At most one message').selectOption('every hour')
  await sent.getByRole('button', { name: 'Save' }).click()
  await sent.getByText('Saved.').waitFor()
  const own = page.getByRole('region', { name: 'Your email' })
  await own.getByLabel('Alerts: match quality').uncheck()
  await own.getByRole('button', { name: 'Save your choice' }).click()
  await own.getByText('Your choice is saved.').waitFor()
  await assertAccessible()
  await page.reload()
  await own.getByLabel('Results of proposals (off for the workspace)').waitFor()
  assert.equal(await own.getByLabel('Alerts: match quality').isChecked(), false)
  assert.equal(await sent.getByLabel('At most one message').inputValue(), '60')
  await own.getByRole('button', { name: 'Send me a test email' }).click()
  await own.getByText('A test email is sent to you within a minute.').waitFor()
  await fixture.runJob()
  assert.match(fixture.emails[0]?.text ?? '', /This is a test message/)
})

it('lets a member read what the workspace sends, and choose for themselves', async test => {
  const fixture = await startNotificationsFixture(test)
  const { service, workspace } = fixture
  await fixture.setWebhook()
  const member = await createTestUser(service)
  const { workspaceId } = workspace
  await addMember(service, { workspaceId, userId: member.userId, role: 'member' })
  const { page, assertAccessible } = await openJourneyPage(test, { service, person: member })
  await page.goto(urlOf(fixture))
  await page.getByText('Only an owner of the workspace can change it.').waitFor()
  const webhook = page.getByRole('region', { name: 'Webhook' })
  assert.equal(await webhook.getByRole('button').count(), 0)
  const own = page.getByRole('region', { name: 'Your email' })
  assert.equal(await own.getByLabel('Proposals that wait for approval').count(), 0)
  await assertAccessible()
})
