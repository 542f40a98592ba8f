import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Page } from 'playwright-core'
import { newChromiumPage } from '../../../clients/browser/testing/chromium-page.ts'
import {
  type ChromiumUnderTest,
  findAccessibilityViolations,
} from '../../../clients/browser/testing/chromium-under-test.ts'
import { startTestService, type TestService } from '../../../testing/fixtures/service.ts'
import { createTestUser, findEmailedLink, TEST_PASSWORD } from '../../../testing/fixtures/users.ts'

const EMAIL = 'ada@people.example'
const PHONE = { width: 360, height: 740 }

/** Checks every visited page for accessibility violations, failed requests and script errors. */
function watchPage(page: Page) {
  const messages: string[] = []
  page.on('console', message => {
    // Chromium logs the 401 or 422 of an invalid form as an error.
    const isRefusal = /status of 4(01|22)/.test(message.text())
    if (['error', 'warning'].includes(message.type()) && !isRefusal) messages.push(message.text())
  })
  page.on('pageerror', error => messages.push(error.message))
  const checkPage = async () => {
    assert.deepEqual(await findAccessibilityViolations(page), [])
    const width = await page.evaluate('document.documentElement.scrollWidth')
    assert.ok(Number(width) <= PHONE.width, `${page.url()} is ${width} px wide`)
  }
  return { messages, checkPage }
}

async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, text] of Object.entries(fields)) await page.getByLabel(label).fill(text)
}

it('signs up, verifies the email and creates a workspace on a phone', async test => {
  const service = await startTestService(test)
  const page = await newChromiumPage(test)
  await page.setViewportSize(PHONE)
  const { messages, checkPage } = watchPage(page)

  await page.goto(`${service.url}/sign-in`)
  await checkPage()
  await page.getByRole('link', { name: 'Create an account' }).click()
  await checkPage()
  const entry = { 'Your name': 'Ada', Email: EMAIL, Password: TEST_PASSWORD }
  await fill(page, entry)
  await page.getByRole('button', { name: 'Create an account' }).click()
  await page.getByRole('heading', { name: 'Check your email' }).waitFor()
  await checkPage()

  await page.goto(`${service.url}${findEmailedLink(service.mails, EMAIL, '/verify')}`)
  await checkPage()
  await fill(page, { 'Your password': TEST_PASSWORD })
  await page.getByRole('button', { name: 'Confirm and sign in' }).click()
  await page.getByRole('heading', { name: 'Your workspaces' }).waitFor()
  await checkPage()

  await fill(page, { Name: 'Shop of Ada' })
  await page.getByRole('button', { name: 'Create the workspace' }).click()
  await page.getByRole('heading', { name: 'Start', level: 1 }).waitFor()
  await checkPage()
  assert.deepEqual(messages, [])
})

it('shows and focuses the error summary of an invalid form and keeps its values', async test => {
  const service = await startTestService(test)
  const page = await newChromiumPage(test)
  await page.setViewportSize(PHONE)
  const { messages, checkPage } = watchPage(page)
  await page.goto(`${service.url}/sign-up`)
  await fill(page, { 'Your name': 'Ada', Email: EMAIL, Password: 'short' })
  await page.getByRole('button', { name: 'Create an account' }).click()
  await page.getByRole('alert').waitFor()
  await checkPage()
  const focused = await page.evaluate('document.activeElement.getAttribute("role")')
  assert.equal(focused, 'alert')
  assert.equal(await page.getByLabel('Email').inputValue(), EMAIL)
  assert.equal(await page.getByLabel('Password').inputValue(), '')
  await page.getByRole('link', { name: 'Use at least 10 characters.' }).click()
  assert.equal(await page.evaluate('document.activeElement.id'), 'password')
  assert.deepEqual(messages, [])
})

it('keeps every other page accessible: light, dark and by keyboard alone', async test => {
  const service = await startTestService(test)
  const { page, email } = await signedInPage(service, test)
  const { messages, checkPage } = watchPage(page)
  await fill(page, { Name: 'Shop' })
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Start', level: 1 }).waitFor()
  for (const path of ['/account', '/workspaces', '/invitations/none', '/forgot', '/magic']) {
    await page.goto(`${service.url}${path}`)
    await checkPage()
  }
  for (const path of ['/reset?token=x', '/magic?token=x', '/verify', '/sign-in?done=signed_out']) {
    await page.goto(`${service.url}${path}`)
    await checkPage()
  }
  await page.goto(`${service.url}/account`)
  assert.match((await page.textContent('header')) ?? '', new RegExp(email))
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.className'), 'skip')
  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click()
  await page.getByText('You are signed out').waitFor()
  assert.deepEqual(
    messages.filter(line => !/404/.test(line)),
    [],
  )
})

/** Uses the pages, to cover how a browser handles cookies and redirects. */
async function signedInPage(service: TestService, test: Parameters<typeof startPage>[0]) {
  const { email } = await createTestUser(service)
  const page = await startPage(test)
  await page.goto(`${service.url}/workspaces`)
  await fill(page, { Email: email, Password: TEST_PASSWORD })
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Your workspaces' }).waitFor()
  return { page, email }
}

async function startPage(test: Parameters<ChromiumUnderTest['newPage']>[0]): Promise<Page> {
  const page = await newChromiumPage(test)
  await page.setViewportSize(PHONE)
  return page
}
