import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { newChromiumPage } from '@signalbox/browser/testing/chromium-page.ts'
import {
  type ColorScheme,
  findAccessibilityViolations,
} from '@signalbox/browser/testing/chromium-under-test.ts'
import type { Page } from 'playwright-core'
import { sessionCookieName } from '../../service/workspaces/users/session-token.ts'
import { isShortRun } from '../../testing/fixtures/seeded-random.ts'
import type { TestService } from '../../testing/fixtures/service.ts'
import type { TestUser } from '../../testing/fixtures/users.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'

/** The widths of a page in pixels, and in which modes axe-core looks at it there. */
const VIEWS: readonly { width: number; schemes: readonly ColorScheme[] }[] = isShortRun()
  ? [
      { width: 320, schemes: ['dark'] },
      { width: 768, schemes: [] },
      { width: 1_280, schemes: ['light'] },
    ]
  : [320, 768, 1_280].map(width => ({ width, schemes: ['light', 'dark'] }))
const HEIGHT = 900

export interface JourneyPage {
  page: Page
  /**
   * Serious axe findings, cut statuses and sideways scrolling at three widths, in light and dark
   * mode. Call it on each page of a journey once its content is there. In `npm test` axe-core looks
   * at the widest page in light and at the narrowest in dark mode.
   */
  assertAccessible(): Promise<void>
}

interface JourneyOptions {
  service: TestService
  /** Left out for pages that need no sign-in. */
  person?: TestUser
  /** Statuses that the journey provokes, which Chromium writes to the console. */
  expectedStatuses?: readonly number[]
  /** False for a browser that runs no scripts of pages. */
  hasScript?: boolean
  /** The journey stops the service, and Chromium writes to the console that it is gone. */
  stopsService?: boolean
}

/**
 * A page of the dashboard in which a person is signed in. After the test it fails when the console
 * has an error, the content security policy refused something, or another host was asked.
 */
export async function openJourneyPage(
  test: TestContext,
  { service, person, ...options }: JourneyOptions,
): Promise<JourneyPage> {
  const { expectedStatuses = [], hasScript = true, stopsService = false } = options
  const page = await newChromiumPage(test, { javaScriptEnabled: hasScript })
  await page.setViewportSize({ width: 1_280, height: HEIGHT })
  if (person) await signIn(page, service, person)
  const faults: string[] = []
  page.on('pageerror', error => faults.push(`uncaught: ${error.message}`))
  page.on('console', message => {
    // Chromium reports violations of the content security policy as errors too.
    if (message.type() !== 'error') return
    if (stopsService && /net::ERR_(CONNECTION|INCOMPLETE)/.test(message.text())) return
    const status = Number(/status of (\d{3})/.exec(message.text())?.[1])
    if (!expectedStatuses.includes(status)) faults.push(`console: ${message.text()}`)
  })
  page.on('request', request => {
    const { origin, protocol } = new URL(request.url())
    if (protocol.startsWith('http') && origin !== service.url) faults.push(`asked ${origin}`)
  })
  test.after(() => assert.deepEqual(faults, []))
  return { page, assertAccessible: () => assertAccessible(page) }
}

async function signIn(page: Page, service: TestService, { client }: TestUser): Promise<void> {
  const name = sessionCookieName(service.url)
  const value = client.cookies.get(name)
  assert.ok(value, 'the person is signed in')
  await page.context().addCookies([{ name, value, url: service.url }])
}

/** Texts of statuses that have less room than they need: "O…" for "Owner". */
const CUT_STATUSES = `[...document.querySelectorAll('.mantine-Badge-label')]
  .filter(label => label.scrollWidth > label.clientWidth + 1)
  .map(label => label.textContent)`

async function assertAccessible(page: Page): Promise<void> {
  for (const { width, schemes } of VIEWS) {
    await page.setViewportSize({ width, height: HEIGHT })
    // A chart takes its new width some frames after the window has it.
    await waitUntil(`${page.url()} is no wider than ${width} px`, async () => {
      return Number(await page.evaluate('document.documentElement.scrollWidth')) <= width
    })
    assert.deepEqual(await findAccessibilityViolations(page, schemes), [], `at ${width} px`)
    assert.deepEqual(await page.evaluate(CUT_STATUSES), [], `cut at ${width} px`)
  }
  await page.setViewportSize({ width: 1_280, height: HEIGHT })
}
