import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import type { Integrity } from '../build-tag.ts'
import { newChromiumPage } from './chromium-page.ts'
import { type RecordingEndpoint, recordingEndpoint } from './recording-endpoint.ts'

const DIST = join(import.meta.dirname, '..', 'dist')
const read = (file: string) => readFileSync(join(DIST, file), 'utf8')

/** The committed tag, so that the tests run what users load. */
export const TAG = read('tag.generated.js')
export const INTEGRITY: Integrity = JSON.parse(read('integrity.json'))

/** The stub of the README, which queues calls until the tag loads. */
export const STUB =
  'window.signalbox=window.signalbox||function(){(signalbox.q=signalbox.q||[]).push(arguments)};'

export const KEY = 'sbx_pk_example-of-the-documents'
export const INIT = `signalbox('init', { key: '${KEY}', endpoint: '/sb' });`
export const CONSENT = `signalbox('consent', { basis: 'consent' });`

/** A shop page with the tag in Chromium. The same server is the endpoint of its events. */
export interface ShopUnderTest extends RecordingEndpoint {
  page: Page
  /** Every POST that Chromium has started, whether it arrives or not. */
  startedRequests: string[]
  /** Console errors and warnings, and uncaught exceptions. */
  consoleMessages: string[]
  /** Runs the script on the page. */
  run(script: string): Promise<unknown>
  /** Waits until `startedRequests` contains everything that the page has sent so far. */
  settled(): Promise<void>
  cookies(): Promise<string[]>
}

export interface ShopOptions {
  /** Runs before the tag, after the stub and init. */
  script?: string
  /** Replaces the whole page. */
  html?: string
  /** Replaces the stub and init. */
  initialScript?: string
  /** Runs before any script of the page. */
  browserScript?: string
  query?: string
  /** A name for 127.0.0.1 that browsers do not treat as loopback. */
  host?: string
  /** Starts a proxy between Chromium and these pages, and returns its URL. */
  front?: (pagesUrl: string) => Promise<string>
  headers?: Record<string, string>
  tag?: string
}

export async function shopUnderTest(
  test: TestContext,
  options: ShopOptions = {},
): Promise<ShopUnderTest> {
  const { host = '127.0.0.1', query = '', front = async url => url } = options
  const endpoint = await recordingEndpoint(test)
  servePages(endpoint, options)
  const url = await front(endpoint.url)
  const page = await newChromiumPage(test)
  const startedRequests: string[] = []
  const consoleMessages: string[] = []
  page.on('request', request => {
    if (request.method() === 'POST') startedRequests.push(new URL(request.url()).pathname)
  })
  page.on('pageerror', error => consoleMessages.push(error.message))
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) consoleMessages.push(message.text())
  })
  if (options.browserScript) await page.addInitScript(options.browserScript)
  await page.goto(`${url.replace('127.0.0.1', host)}/${query}`)
  return {
    ...endpoint,
    page,
    startedRequests,
    consoleMessages,
    run: text => page.evaluate(text),
    // Chromium reports requests in order, so this one comes after all earlier ones.
    settled: async () => {
      await page.evaluate(`fetch('/marker', { method: 'HEAD' }).then(() => 0)`)
    },
    cookies: async () => (await page.context().cookies()).map(({ name }) => name),
  }
}

function servePages(endpoint: RecordingEndpoint, options: ShopOptions): void {
  const { script = '', initialScript = STUB + INIT, html = HTML, headers, tag = TAG } = options
  const javascript = { 'content-type': 'text/javascript; charset=utf-8' }
  endpoint.serve('/', { body: html, headers: { 'content-type': 'text/html', ...headers } })
  endpoint.serve('/other', { body: '<p>Elsewhere', headers: { 'content-type': 'text/html' } })
  endpoint.serve('/shop.js', { body: initialScript + script, headers: javascript })
  endpoint.serve('/tag.js', { body: tag, headers: javascript })
}

const HTML = `<!doctype html><title>Shop</title><link rel="icon" href="data:,">
<script src="/shop.js"></script>
<script src="/tag.js" integrity="${INTEGRITY.sha384}"></script>`
