import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import {
  type ChromiumUnderTest,
  findAccessibilityViolations,
} from '../browser/testing/chromium-under-test.ts'
import { TEST_PASSWORD } from './people-under-test.ts'

const PHONE = { width: 360, height: 740 }

export interface PhoneUnderTest {
  page: Page
  /** Nothing on the page keeps anybody out, in light and in dark, and nothing is wider than it. */
  look: () => Promise<void>
  /** What the browser complained of. */
  said: string[]
}

/** A page of the width of a phone. */
export async function phoneUnderTest(
  test: TestContext,
  chromium: ChromiumUnderTest,
): Promise<PhoneUnderTest> {
  const page = await chromium.newPage(test)
  await page.setViewportSize(PHONE)
  const said: string[] = []
  page.on('console', message => {
    // A refused form is answered 422, which Chromium writes down as an error.
    const isRefusal = /status of 422/.test(message.text())
    if (['error', 'warning'].includes(message.type()) && !isRefusal) said.push(message.text())
  })
  const look = async () => {
    assert.deepEqual(await findAccessibilityViolations(page), [])
    const width = await page.evaluate('document.documentElement.scrollWidth')
    assert.ok(Number(width) <= PHONE.width, `${page.url()} is ${width} px wide`)
  }
  return { page, look, said }
}

/** Fills in the page of signing in, which has to be there. */
export async function signInOn(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email').first().fill(email)
  await page.getByLabel('Password').first().fill(TEST_PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
