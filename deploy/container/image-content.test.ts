import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { findFreePort } from '@signalbox/embedded-postgres/free-port.ts'
import { BUNDLED_LIBRARIES } from '../../service/program/roles/bundled-libraries.ts'
import { createDatabaseFromTemplate } from '../../testing/fixtures/database.ts'
import { findShellBlock } from '../../testing/fixtures/page-blocks.ts'
import { runProgram, spawnProgram } from '../../testing/fixtures/program.ts'
import { isShortRun } from '../../testing/fixtures/seeded-random.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { download, openToolchain } from '../../testing/toolchains.ts'
import { ROOT, readYaml, type Variables } from '../check-deployment.ts'
import { packPackage } from '../package/build-package.ts'
import { deliverPurchase } from '../package/deliver-purchase.ts'

/**
 * What the image contains, without a container: the same folder, the same commands, the same
 * settings and the same secrets as compose.yaml, as processes of this machine.
 */
const skip = isShortRun() ? 'in npm run test:full only' : false
const PAGE = 'docs/operations/deploy.md'
const SUCCESS = { code: 0, signal: null }

it('runs every service of compose.yaml from the folder of the image', {
  skip,
}, async test => {
  const home = mkdtempSync(join(tmpdir(), 'signalbox-image-'))
  test.after(() => rmSync(home, { recursive: true, force: true }))
  const tarball = await packPackage(home)
  const app = openToolchain(test, 'typescript', () => installImageFolder(home, tarball))
  if (app === null) return
  const database = await createDatabaseFromTemplate(test, 'template0')
  const [compose] = readYaml('compose.yaml')
  execFileSync('sh', ['-eu'], { cwd: home, input: findShellBlock(PAGE, 'mkdir -m 700 .secrets') })
  const composed = readFileSync(join(home, '.secrets/database-url'), 'utf8')
  assert.match(composed, /^postgres:\/\/signalbox:[0-9a-f]{48}@postgres\/signalbox$/)
  rmSync(join(home, '.secrets/database-url'))
  writeFileSync(join(home, '.secrets/database-url'), database)

  const [http, metrics, workerMetrics, platform] = [
    ...(await Promise.all([1, 2, 3, 4].map(() => findFreePort()))),
  ].map(String)
  const inApp = (path: string) => path.replace(/^\/app\//, `${app}/`)
  const settingsOf = (name: string, more: Variables): Variables => {
    const given = Object.entries<string>(compose.services[name].environment)
    const here = given.map(([key, value]) => [
      key,
      value.replace('/run/secrets', join(home, '.secrets')),
    ])
    return {
      ...Object.fromEntries(here),
      SIGNALBOX_DATA_DIR: join(home, 'data'),
      SIGNALBOX_PLATFORM_URL: `http://127.0.0.1:${platform}`,
      PORT: http ?? '',
      SIGNALBOX_METRICS_PORT: metrics ?? '',
      NODE_OPTIONS: '--no-strip-types',
      ...more,
    }
  }
  const start = (name: string, more: Variables = {}) => {
    const { command, entrypoint = ['node', '/app/deploy/package/launcher.js'] } =
      compose.services[name]
    const program = spawnProgram(
      [...entrypoint.slice(1).map(inApp), ...command],
      settingsOf(name, more),
    )
    test.after(() => program.kill('SIGKILL'))
    return program
  }
  const isHealthy = async (addresses: string[], more: Variables = {}) => {
    const check = [join(app, 'deploy/package/healthcheck.js'), ...addresses]
    return (await runProgram(check, more)).code === 0
  }
  // As the image links it.
  const linked = join(home, 'signalbox-server')
  symlinkSync(join(app, 'deploy/package/launcher.js'), linked)
  accessSync(linked, constants.X_OK)
  const run = async (argumentList: string[]) => {
    const ended = await runProgram([linked, ...argumentList], settingsOf('serve', {}))
    assert.equal(ended.code, 0, ended.stderr)
  }
  assert.deepEqual(listBundled(app), BUNDLED_LIBRARIES)

  assert.equal(await isHealthy([], { PORT: http ?? '' }), false, 'nothing runs yet')
  const simulator = start('simulator', {
    SIMULATOR_HOST: '127.0.0.1',
    SIMULATOR_PORT: platform ?? '',
  })
  await waitUntil('the simulator is healthy', () =>
    isHealthy([`http://127.0.0.1:${platform}/_simulator/health`]),
  )
  const migrate = start('migrate')
  assert.deepEqual(await migrate.exited, SUCCESS, migrate.stderr())
  const serve = start('serve')
  const deliver = start('deliver', { SIGNALBOX_METRICS_PORT: workerMetrics ?? '' })
  await waitUntil('the service is healthy', () => isHealthy([], { PORT: http ?? '' }))
  await waitUntil('the worker is healthy', () =>
    isHealthy([`http://127.0.0.1:${workerMetrics}/livez`]),
  )

  await run(['provision', '--owner', 'ada@shop.example', '--out', join(home, 'shop.json')])
  const { tracker_secret } = JSON.parse(readFileSync(join(home, 'shop.json'), 'utf8'))
  await deliverPurchase({ base_url: `http://127.0.0.1:${http}/api/v1`, tracker_secret })
  for (const program of [serve, deliver, simulator]) {
    assert.deepEqual(await program.kill('SIGTERM'), SUCCESS, program.stderr())
  }
})

/** The libraries that a thread of the image takes from the bundles that came with the package. */
function listBundled(app: string): string[] {
  const path = join(app, 'service/program/roles/bundled-libraries.js')
  const program = `
    import { useBundledLibraries } from ${JSON.stringify(pathToFileURL(path).href)}
    useBundledLibraries()
    for (const name of ${JSON.stringify(BUNDLED_LIBRARIES)}) {
      if (import.meta.resolve(name).includes('/libraries/')) console.log(name)
    }`
  const flags = ['--input-type=module', '--eval', program]
  return execFileSync(process.execPath, flags, { cwd: app, encoding: 'utf8' }).trim().split('\n')
}

/** As the Containerfile does it, with its own command. */
function installImageFolder(home: string, tarball: string): string {
  const app = join(home, 'app')
  mkdirSync(app)
  execFileSync('tar', ['--extract', '--gzip', '--strip-components=1', '--file', tarball], {
    cwd: app,
  })
  const [, options = ''] =
    /npm ci (--omit=dev .*)$/m.exec(readFileSync(join(ROOT, 'Containerfile'), 'utf8')) ?? []
  download(['npm', 'ci', '--prefer-offline', ...options.split(' ')], app)
  return app
}
