import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Locator } from 'playwright-core'
import { createOfflinePlatforms } from '../../service/signals/platforms/registry.ts'
import { openDashboardWorkspace } from '../../testing/fixtures/dashboard.ts'
import { startTestService } from '../../testing/fixtures/service.ts'
import { openJourneyPage } from './journey-page.ts'

/** What no platform takes as an ID, an address or a token. */
const WRONG = 'no such value!'

/** The sentence that stands beside an input and that a screen reader reads with it. */
async function errorBeside(input: Locator): Promise<string> {
  const page = input.page()
  assert.equal(await input.getAttribute('aria-invalid'), 'true')
  const described = (await input.getAttribute('aria-describedby'))?.split(' ') ?? []
  const id = described.find(one => one.endsWith('-error'))
  assert.ok(id, 'the input is described by its error')
  return page.locator(`[id="${id}"]`).innerText()
}

it("puts each refused value's error beside its field, with where to find the right one", async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const journey = { service, person: owner, expectedStatuses: [422] }
  const { page, assertAccessible } = await openJourneyPage(test, journey)
  await page.goto(`${service.url}/w/${tracker.workspaceId}/destinations`)
  await page.getByRole('button', { name: 'Connect a destination' }).click()
  const dialog = page.getByRole('dialog')
  const { all } = createOfflinePlatforms()
  assert.equal(all.length, 10)
  for (const platform of all) {
    await dialog.getByLabel('Platform').selectOption(platform.name)
    for (const { label } of platform.targetFields) {
      await dialog.getByRole('textbox', { name: label, exact: true }).fill(WRONG)
    }
    const form = platform.credentialForms[0]
    assert.ok(form)
    const credential =
      form.kind === 'refresh_token'
        ? dialog.getByRole('textbox', { name: 'Client ID', exact: true })
        : dialog.getByRole('textbox', { name: form.label, exact: true })
    if (form.kind === 'refresh_token') {
      await dialog
        .getByRole('textbox', { name: 'Client secret', exact: true })
        .fill('x'.repeat(9_000))
      await dialog.getByRole('textbox', { name: 'Refresh token', exact: true }).fill(WRONG)
    }
    await credential.fill(WRONG)
    const answered = page.waitForResponse(response => response.status() === 422)
    await dialog.getByRole('button', { name: 'Connect', exact: true }).click()
    await answered
    for (const { label, hint } of platform.targetFields) {
      const input = dialog.getByRole('textbox', { name: label, exact: true })
      await input.and(page.locator('[aria-invalid="true"]')).waitFor()
      assert.equal(await errorBeside(input), `The ${label} has an invalid format. ${hint}`)
    }
    const ofCredential = await errorBeside(credential)
    assert.ok(ofCredential.startsWith(`The ${form.label} must be `), ofCredential)
    assert.ok(ofCredential.includes(form.hint), ofCredential)
    assert.equal(await dialog.getByRole('alert').count(), 0, platform.name)
  }
  await assertAccessible()
})

it('marks the one field that is wrong, and keeps what is right', async test => {
  const service = await startTestService(test)
  const { owner, tracker } = await openDashboardWorkspace(service)
  const journey = { service, person: owner, expectedStatuses: [422] }
  const { page } = await openJourneyPage(test, journey)
  await page.goto(`${service.url}/w/${tracker.workspaceId}/destinations`)
  await page.getByRole('button', { name: 'Connect a destination' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Platform').selectOption('tiktok')
  await dialog.getByRole('textbox', { name: 'Pixel ID' }).fill('C4A0EXAMPLE1GH2IJKLM')
  await dialog.getByRole('textbox', { name: 'Offline event set ID' }).fill('the store')
  await dialog.getByRole('textbox', { name: 'Access token', exact: true }).fill('a-token')
  await dialog.getByRole('button', { name: 'Connect', exact: true }).click()
  const wrong = dialog.locator('[aria-invalid="true"]')
  await wrong.waitFor()
  assert.equal(await wrong.count(), 1)
  assert.match(
    await errorBeside(wrong),
    /^The Offline event set ID has an invalid format\. The digits/,
  )
  await dialog.getByRole('textbox', { name: 'Offline event set ID' }).fill('123456')
  await dialog.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('heading', { name: /^TikTok/ }).waitFor()
})
