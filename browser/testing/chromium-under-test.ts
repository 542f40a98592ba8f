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

/** A real headless Chromium for one test file. */
export interface ChromiumUnderTest {
  /** A page with cookies and storage of its own, closed with the test. */
  newPage(test: TestContext): Promise<Page>
  close(): Promise<void>
}

/** Names that no resolver knows, so that a page can be on a host that is not loopback. */
export const SHOP_HOST = 'shop.example'

const FLAGS = [
  // Chromium refuses to run as root with its sandbox; the pages are our own.
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--host-resolver-rules=MAP ${SHOP_HOST} 127.0.0.1`,
]

/** Starts the Chromium of the npm package; on other systems the one in SIGNALBOX_TEST_CHROMIUM. */
export async function startChromium(): Promise<ChromiumUnderTest> {
  const installed = process.env.SIGNALBOX_TEST_CHROMIUM
  const browser = await chromium.launch(
    installed ? { executablePath: installed, args: FLAGS } : await packagedChromium(),
  )
  return { newPage: test => newPage(browser, test), close: () => browser.close() }
}

async function packagedChromium(): Promise<LaunchOptions> {
  const folder = await unpackedChromium()
  const env = { ...process.env, LD_LIBRARY_PATH: join(folder, 'lib') }
  return { executablePath: join(folder, 'chromium'), env, args: FLAGS }
}

async function newPage(browser: Browser, test: TestContext): Promise<Page> {
  const context = await browser.newContext()
  test.after(() => context.close())
  context.setDefaultTimeout(10_000)
  return context.newPage()
}

/**
 * Unpacks the package's archives once, below node_modules/.cache. Its own way unpacks into the
 * system's temporary folder, leaves that behind, and lets two processes trip over each other.
 */
async function unpackedChromium(): Promise<string> {
  const build = dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium')))
  const archives = join(build, '..', 'bin')
  const folder = join(build, '../../../.cache/signalbox-chromium-153.0.0')
  if (existsSync(folder)) return folder
  const aside = `${folder}.${process.pid}`
  mkdirSync(aside, { recursive: true })
  await unbrotli(join(archives, 'chromium.br'), join(aside, 'chromium'))
  // NSS and Expat, which a small container does not have.
  await unbrotli(join(archives, 'al2023.tar.br'), join(aside, 'libraries.tar'))
  execFileSync('tar', ['-xf', join(aside, 'libraries.tar'), '-C', aside])
  rmSync(join(aside, 'libraries.tar'))
  try {
    renameSync(aside, folder)
  } catch {
    // Another process was faster; its folder is as good.
    rmSync(aside, { recursive: true })
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

/**
 * What axe-core finds on the page that keeps people from using it, in light and in dark: the rules
 * of WCAG 2.2 A and AA and the good habits, from "serious" upwards. One line each.
 */
export async function findAccessibilityViolations(page: Page): Promise<string[]> {
  const findings: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // Not by a script tag, which the page's policy refuses, and rightly.
    await page.evaluate(AXE)
    const violations = (await page.evaluate(
      `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)`,
    )) as Violation[]
    const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
    for (const { id, nodes } of serious) {
      const where = new URL(page.url()).pathname
      findings.push(`${where} ${colorScheme} ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
    }
  }
  return findings
}
