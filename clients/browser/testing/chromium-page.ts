import { after, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { type ChromiumUnderTest, type PageOptions, startChromium } from './chromium-under-test.ts'

let chromium: Promise<ChromiumUnderTest> | undefined

after(async () => (await chromium)?.close())

/**
 * A page with its own cookies and storage, closed with the test. All tests of a process share one
 * Chromium, which starts with the first page.
 */
export async function newChromiumPage(test: TestContext, options?: PageOptions): Promise<Page> {
  chromium ??= startChromium()
  return (await chromium).newPage(test, options)
}
