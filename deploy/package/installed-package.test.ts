import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { createInstallation, DEFAULT_HTTP_WORKERS } from '../../testing/fixtures/program.ts'
import { isShortRun } from '../../testing/fixtures/seeded-random.ts'
import { download, openToolchain } from '../../testing/toolchains.ts'
import { packPackage } from './build-package.ts'
import { deliverPurchase } from './deliver-purchase.ts'

/** Installing 256 packages takes 15 to 60 seconds, most of them for the embedded PostgreSQL. */
const skip = isShortRun() ? 'in npm run test:full only' : false
/** Node.js refuses TypeScript then, as it does below node_modules anyway. */
const ENVIRONMENT = { ...DEFAULT_HTTP_WORKERS, NODE_OPTIONS: '--no-strip-types' }

it('delivers a first event when it is packed and installed into an empty folder', {
  skip,
}, async test => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-installed-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const tarball = await packPackage(join(folder, 'packed'))
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"private": true}')
  const install = ['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', tarball]
  const installed = openToolchain(test, 'typescript', () => {
    download(install, project)
    return join(project, 'node_modules/.bin/signalbox-server')
  })
  if (installed === null) return

  const place = createInstallation(test, { isEmpty: true })
  const service = await place.startReady({ program: installed, environment: ENVIRONMENT })
  await deliverPurchase(place.credentials())

  await test.test('it serves its pages, its documentation and its contract', async () => {
    for (const [path, pattern] of PAGES) {
      const page = await fetch(`${service.url}${path}`)
      assert.equal(page.status, 200, path)
      assert.match(await page.text(), pattern, path)
    }
  })

  await test.test('it stops on a signal, and another command joins its store', async () => {
    const command = { program: installed, role: 'credential', arguments: ['list'] }
    const listing = place.start({ ...command, environment: ENVIRONMENT })
    assert.deepEqual(await listing.exited, { code: 0, signal: null }, listing.stderr())
    assert.deepEqual(await service.kill('SIGTERM'), { code: 0, signal: null })
  })
})

const PAGES = [
  ['/sign-in', /<form/],
  ['/docs', /<h1/],
  ['/docs/settings', /SIGNALBOX_DATA_DIR/],
  ['/llms.txt', /Signalbox/],
  ['/openapi.json', /"x-signature"/],
] as const
