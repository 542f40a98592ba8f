import { execFileSync } from 'node:child_process'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createBrotliDecompress } from 'node:zlib'
import { type Browser, chromium, type LaunchOptions, type Page } from 'playwright-core'

/** A real headless Chromium. */
export interface ChromiumUnderTest {
  /** A page with its own cookies and storage, closed with the test. */
  newPage(test: TestContext, options?: PageOptions): Promise<Page>
  /** The same outside of a test; closed with its context, or with the browser. */
  openPage(): Promise<Page>
  close(): Promise<void>
}

export interface PageOptions {
  /** False for a browser that runs no scripts of pages. */
  javaScriptEnabled?: boolean
}

/** A host name that does not resolve, for pages on a host that is not loopback. */
export const SHOP_HOST = 'shop.example'

const FLAGS = [
  // Chromium does not run as root with its sandbox. All pages are ours.
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--host-resolver-rules=MAP ${SHOP_HOST} 127.0.0.1`,
]

/** Starts the Chromium of SIGNALBOX_TEST_CHROMIUM if set, else that of the npm package. */
export async function startChromium(): Promise<ChromiumUnderTest> {
  const installed = process.env.SIGNALBOX_TEST_CHROMIUM
  const browser = await chromium.launch(
    installed ? { executablePath: installed, args: FLAGS } : await packagedChromium(),
  )
  return {
    newPage: async (test, options) => {
      const page = await openPage(browser, options)
      test.after(() => page.context().close())
      return page
    },
    openPage: () => openPage(browser),
    close: () => browser.close(),
  }
}

async function packagedChromium(): Promise<LaunchOptions> {
  const folder = await unpackedChromium()
  const env = { ...process.env, LD_LIBRARY_PATH: join(folder, 'lib') }
  return { executablePath: join(folder, 'chromium'), env, args: FLAGS }
}

async function openPage(browser: Browser, options?: PageOptions): Promise<Page> {
  const context = await browser.newContext(options)
  // Only a test that hangs meets it.
  context.setDefaultTimeout(120_000)
  return context.newPage()
}

/**
 * Unpacks the package's archives once, below node_modules/.cache. The package itself would unpack
 * into the temporary folder, leave the files there, and race with other processes.
 */
async function unpackedChromium(): Promise<string> {
  const build = dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium')))
  const archives = join(build, '..', 'bin')
  const folder = join(build, '../../../.cache/signalbox-chromium-153.0.0')
  if (existsSync(folder)) return folder
  const staging = `${folder}.${process.pid}`
  mkdirSync(staging, { recursive: true })
  await unbrotli(join(archives, 'chromium.br'), join(staging, 'chromium'))
  // NSS and Expat, which a small container lacks.
  await unbrotli(join(archives, 'al2023.tar.br'), join(staging, 'libraries.tar'))
  execFileSync('tar', ['-xf', join(staging, 'libraries.tar'), '-C', staging])
  rmSync(join(staging, 'libraries.tar'))
  try {
    renameSync(staging, folder)
  } catch {
    // Another process was faster; use its folder.
    rmSync(staging, { recursive: true })
  }
  return folder
}

async function unbrotli(from: string, to: string): Promise<void> {
  const out = createWriteStream(to, { mode: 0o755 })
  await pipeline(createReadStream(from), createBrotliDecompress(), out)
}

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

interface Violation {
  id: string
  impact: string
  nodes: { html: string }[]
}

const TWO_FRAMES = 'new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))'

/** The rules that read colors. The color scheme of a page changes nothing else. */
const COLOR_RULES = { runOnly: ['color-contrast', 'link-in-text-block'] }

const COLOR_SCHEMES = ['light', 'dark'] as const

export type ColorScheme = (typeof COLOR_SCHEMES)[number]

/**
 * The axe-core violations of the page in these modes, one line each: the rules of WCAG 2.2 A and AA
 * and best practices, with impact "serious" or "critical". In dark mode it asks only about colors,
 * because axe-core takes half of the CPU time of the pages in the tests.
 */
export async function findAccessibilityViolations(
  page: Page,
  schemes: readonly ColorScheme[] = COLOR_SCHEMES,
): Promise<string[]> {
  const findings: string[] = []
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // A page that follows the scheme by script has done so after a frame.
    await page.evaluate(TWO_FRAMES)
    const rules = colorScheme === 'light' ? {} : COLOR_RULES
    for (const { id, impact, nodes } of await runAxe(page, rules)) {
      if (!['serious', 'critical'].includes(impact)) continue
      const where = new URL(page.url()).pathname
      findings.push(`${where} ${colorScheme} ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
    }
  }
  return findings
}

async function runAxe(page: Page, rules: object): Promise<Violation[]> {
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules })
  const run = `axe.run(${options}).then(({ violations }) => violations)`
  // The page's content security policy refuses a script tag.
  const hasAxe = await page.evaluate('typeof axe === "object"')
  if (!hasAxe) await page.evaluate(AXE)
  return (await page.evaluate(run)) as Violation[]
}
