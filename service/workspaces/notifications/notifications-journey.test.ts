import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openMobilePage, signInWithPassword } from '../../../testing/fixtures/mobile-page.ts'
import { startNotificationsFixture } from '../../../testing/fixtures/notifications.ts'
import { startTestService } from '../../../testing/fixtures/service.ts'
import { createTestWorkspace } from '../../../testing/fixtures/users.ts'

it('sets a webhook and the topics on a phone', async test => {
  // Cookies expire by the real clock of the browser.
  const service = await startTestService(test, { startAt: new Date().toISOString() })
  const workspace = await createTestWorkspace(service)
  const fixture = await startNotificationsFixture(test, { service, workspace })
  const { page, assertAccessible, consoleMessages } = await openMobilePage(test)

  await page.goto(`${service.url}${fixture.pathOfPage}`)
  await signInWithPassword(page, workspace.owner.email)
  await page.getByRole('heading', { name: 'What the workspace sends' }).waitFor()
  await assertAccessible()

  const url = page.getByLabel('URL')
  await url.fill('http://hooks.example.com/')
  await page.getByRole('button', { name: 'Add webhook' }).click()
  await page.getByRole('alert').waitFor()
  await assertAccessible()
  await url.fill(fixture.receiver.url)
  await page.getByRole('button', { name: 'Add webhook' }).click()
  await page.getByText(/^whsec_/).waitFor()
  await assertAccessible()

  await page.getByRole('button', { name: 'Send a test message' }).click()
  await page.getByText('waiting', { exact: true }).waitFor()
  fixture.receiver.answer(response => void response.writeHead(410).end())
  await fixture.runJob()
  await page.reload()
  await page
    .getByText(/it answered HTTP 410/)
    .first()
    .waitFor()
  await assertAccessible()
  await page.getByRole('button', { name: 'Turn on' }).click()
  await page.getByText('Webhook turned on.').waitFor()

  const byEmail = page.getByRole('group', { name: 'By email' })
  await byEmail.getByLabel('Results of proposals').uncheck()
  await page.getByLabel('At most one message').selectOption('every hour')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Notifications saved.').waitFor()
  assert.equal(await byEmail.getByLabel('Results of proposals').isChecked(), false)
  await assertAccessible()
  assert.deepEqual(consoleMessages, [])
})
