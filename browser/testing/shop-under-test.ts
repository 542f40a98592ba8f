import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import type { Integrity } from '../build-tag.ts'
import type { ChromiumUnderTest } from './chromium-under-test.ts'
import { type RecordingEndpoint, recordingEndpoint } from './recording-endpoint.ts'

const DIST = join(import.meta.dirname, '..', 'dist')
const read = (file: string) => readFileSync(join(DIST, file), 'utf8')

/** The committed tag: what users load is what is tested. */
export const TAG = read('tag.generated.js')
export const INTEGRITY: Integrity = JSON.parse(read('integrity.json'))

/** The stub of the README, which keeps calls until the tag is there. */
export const STUB =
  'window.signalbox=window.signalbox||function(){(signalbox.q=signalbox.q||[]).push(arguments)};'

export const KEY = 'sbx_pk_example-of-the-documents'
export const INIT = `signalbox('init', { key: '${KEY}', endpoint: '/sb' });`
export const CONSENT = `signalbox('consent', { basis: 'consent' });`

/** A page of a shop, with the tag, in Chromium; the endpoint of its events is the same server. */
export interface ShopUnderTest extends RecordingEndpoint {
  page: Page
  /** Every POST that Chromium has begun, whether it arrives or not. */
  startedRequests: string[]
  /** Errors and warnings on the console, and what nobody caught. */
  consoleMessages: string[]
  /** Runs the script on the page. */
  run(script: string): Promise<unknown>
  /** Waits until `begun` holds everything that the page's scripts have sent so far. */
  settled(): Promise<void>
  cookies(): Promise<string[]>
}

export interface ShopOptions {
  /** Runs before the tag; the stub and init stand before it. */
  script?: string
  /** Instead of a page with all of these. */
  html?: string
  /** Instead of the stub with init. */
  initialScript?: string
  /** Runs before anything else of the page. */
  browserScript?: string
  query?: string
  /** A name for 127.0.0.1 that browsers do not take for this machine. */
  host?: string
  /** Starts what stands between Chromium and these pages, and says where that is. */
  front?: (pagesUrl: string) => Promise<string>
  headers?: Record<string, string>
  tag?: string
}

export async function shopUnderTest(
  test: TestContext,
  chromium: ChromiumUnderTest,
  options: ShopOptions = {},
): Promise<ShopUnderTest> {
  const { host = '127.0.0.1', query = '', front = async url => url } = options
  const endpoint = await recordingEndpoint(test)
  servePages(endpoint, options)
  const url = await front(endpoint.url)
  const page = await chromium.newPage(test)
  const begun: string[] = []
  const said: string[] = []
  page.on('request', request => {
    if (request.method() === 'POST') begun.push(new URL(request.url()).pathname)
  })
  page.on('pageerror', error => said.push(error.message))
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) said.push(message.text())
  })
  if (options.browserScript) await page.addInitScript(options.browserScript)
  await page.goto(`${url.replace('127.0.0.1', host)}/${query}`)
  return {
    ...endpoint,
    page,
    startedRequests: begun,
    consoleMessages: said,
    run: text => page.evaluate(text),
    // Chromium tells of requests in their order, so that those before this one are known.
    settled: async () => {
      await page.evaluate(`fetch('/marker', { method: 'HEAD' }).then(() => 0)`)
    },
    cookies: async () => (await page.context().cookies()).map(({ name }) => name),
  }
}

function servePages(endpoint: RecordingEndpoint, options: ShopOptions): void {
  const {
    script = '',
    initialScript: beginning = STUB + INIT,
    html = HTML,
    headers,
    tag = TAG,
  } = options
  const javascript = { 'content-type': 'text/javascript; charset=utf-8' }
  endpoint.serve('/', { body: html, headers: { 'content-type': 'text/html', ...headers } })
  endpoint.serve('/other', { body: '<p>Elsewhere', headers: { 'content-type': 'text/html' } })
  endpoint.serve('/shop.js', { body: beginning + script, headers: javascript })
  endpoint.serve('/tag.js', { body: tag, headers: javascript })
}

const HTML = `<!doctype html><title>Shop</title><link rel="icon" href="data:,">
<script src="/shop.js"></script>
<script src="/tag.js" integrity="${INTEGRITY.sha384}"></script>`
