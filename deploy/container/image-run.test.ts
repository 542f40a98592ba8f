// Full run only: makes a Debian base and builds the image, some three minutes.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { createDatabaseFromTemplate } from '../../testing/fixtures/database.ts'
import { samplePurchase } from '../../testing/fixtures/sample-events.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { installOnce, notRun } from '../../testing/toolchains.ts'
import { DEPENDENCIES, ROOT, type Variables } from '../check-deployment.ts'

/** Debian's release of the Containerfile's base. */
const RELEASE = 'bookworm'
const BASE = 'localhost/signalbox-test-base'
const IMAGE = 'localhost/signalbox-test'
const PROGRAMS = ['buildah', 'mmdebstrap']
/** The format of OCI has no health check. */
const BUILD = ['--isolation', 'chroot', '--format', 'docker', '--pull-never', '--quiet']
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt'

it('builds the image, which keeps an acknowledged event through a kill', async test => {
  const reason = whyUnavailable()
  if (reason !== null) return test.skip(notRun(`container: ${reason}`))
  const images = createImages(test)
  images.build(writeBase(test), ['--tag', BASE])
  images.build(ROOT, ['--build-arg', `NODE_IMAGE=${BASE}`, '--tag', IMAGE, '-f', 'Containerfile'])
  const container = images.start(IMAGE, {
    DATABASE_URL: await createDatabaseFromTemplate(test, 'template0'),
    HOST: '127.0.0.1',
    PORT: String(await findLastingPort()),
    SIGNALBOX_METRICS_HOST: '127.0.0.1',
    SIGNALBOX_METRICS_PORT: String(await findLastingPort()),
    SIGNALBOX_CREDENTIAL_KEY: 'f'.repeat(64),
  })
  const { url } = container
  assert.equal(container.run(['id', '-u']), '1000\n')
  assert.throws(() => container.run(['touch', '/app/changed']), /Permission denied/)
  assert.throws(() => container.run(container.healthcheck), 'nothing runs yet')

  container.run([...container.entrypoint, 'migrate'])
  const provision = ['signalbox-server', 'provision', '--owner', 'ada@shop.example']
  container.run([...provision, '--out', 'shop.json'])
  const { tracker_secret } = JSON.parse(container.run(['cat', 'shop.json']))
  const headers = {
    authorization: `Bearer ${tracker_secret}`,
    'content-type': 'application/json',
  }
  const serve = await container.serve()
  // The programs run by the real clock, so nothing in the purchase may have a date.
  const purchase = samplePurchase({ consent: { ad_user_data: 'granted' } })
  const body = JSON.stringify(purchase)
  const sent = await fetch(`${url}/api/v1/events`, { method: 'POST', headers, body })
  assert.equal(sent.status, 202, await sent.text())
  await kill(serve, 'SIGKILL')

  const again = await container.serve()
  const read = await fetch(`${url}/api/v1/events/${purchase.event_id}`, { headers })
  assert.equal(read.status, 200, await read.text())
  const repeated = await fetch(`${url}/api/v1/events`, { method: 'POST', headers, body })
  assert.equal(repeated.status, 200, 'a duplicate')
  assert.equal(await kill(again, 'SIGTERM'), 0)
})

function whyUnavailable(): string | null {
  const missing = PROGRAMS.filter(name => spawnSync(name, ['--version']).status !== 0)
  if (missing.length > 0) return `${missing.join(' and ')} of Debian not on PATH.`
  return process.getuid?.() === 0 ? null : 'Only root can make a base from packages of Debian.'
}

/** The folder of a base image: a minimal Debian, and Node.js and npm of this machine. */
function writeBase(test: TestContext): string {
  const cache = join(ROOT, 'node_modules/.cache/container-base', RELEASE)
  const debian = join(cache, 'debian.tar')
  installOnce(cache, () => {
    mkdirSync(cache, { recursive: true })
    const packages = ['--variant=minbase', '--include=ca-certificates']
    execFileSync('mmdebstrap', ['--quiet', ...packages, RELEASE, debian])
  })
  const folder = temporaryFolder(test)
  cpSync(debian, join(folder, 'debian.tar'))
  cpSync(join(ROOT, 'node_modules/node/bin/node'), join(folder, 'node'), { dereference: true })
  const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()
  cpSync(dirname(dirname(realpathSync(npm))), join(folder, 'npm'), { recursive: true })
  // A registry may stand behind a proxy with an authority of its own.
  cpSync(AUTHORITIES, join(folder, 'authorities.crt'), { dereference: true })
  const modules = '/usr/local/lib/node_modules'
  const lines = [
    'FROM scratch',
    'ADD debian.tar /',
    'COPY node /usr/local/bin/node',
    `COPY npm ${modules}/npm`,
    `RUN ln -s ${modules}/npm/bin/npm-cli.js /usr/local/bin/npm`,
    `COPY authorities.crt ${AUTHORITIES}`,
    `ENV NODE_EXTRA_CA_CERTS=${AUTHORITIES} NODE_VERSION=${DEPENDENCIES.node}`,
  ]
  writeFileSync(join(folder, 'Containerfile'), `${lines.join('\n')}\n`)
  return folder
}

interface Container {
  url: string
  /** From the image's configuration. */
  entrypoint: string[]
  healthcheck: string[]
  /** Runs a command to its end and returns what it wrote. Throws with its errors when it fails. */
  run(command: string[]): string
  /** Starts what the image starts, and waits until it is healthy. */
  serve(): Promise<ChildProcess>
}

/**
 * The container starts minutes later, when a connection or another test may have a port that the
 * system chose. It chooses none of these.
 */
async function findLastingPort(): Promise<number> {
  for (;;) {
    const server = createServer()
    const port = randomInt(10_000, 32_000)
    const isFree = once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.listen({ host: '127.0.0.1', port })
    if (await isFree) {
      server.close()
      await once(server, 'close')
      return port
    }
  }
}

/** Builds and runs without a daemon, below a folder that goes with the test. */
function createImages(test: TestContext) {
  const folder = temporaryFolder(test)
  const store = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run')]
  const buildah = (command: string, given: readonly string[]) =>
    execFileSync('buildah', [...store, '--storage-driver', 'vfs', command, ...given], {
      encoding: 'utf8',
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 100_000_000,
    })
  return {
    build: (context: string, options: string[]) =>
      buildah('build', [...BUILD, ...options, context]),
    start: (image: string, settings: Variables & { PORT: string }): Container => {
      const name = buildah('from', ['--pull-never', image]).trim()
      const { OCIv1, Docker } = JSON.parse(buildah('inspect', [name]))
      const { Entrypoint, Cmd } = OCIv1.config
      const [, ...healthcheck] = Docker.config.Healthcheck.Test
      const environment = Object.entries(settings).flatMap(([key, value]) => [
        '--env',
        `${key}=${value}`,
      ])
      const options = ['--isolation', 'chroot', ...environment, name, '--']
      const run = (command: string[]) => buildah('run', [...options, ...command])
      const serve = async () => {
        const command = [...store, '--storage-driver', 'vfs', 'run', ...options]
        const program = spawn('buildah', [...command, ...Entrypoint, ...Cmd], {
          detached: true,
          stdio: ['ignore', 'ignore', 'pipe'],
        })
        let said = ''
        program.stderr?.setEncoding('utf8').on('data', chunk => {
          said += chunk
        })
        test.after(() => kill(program, 'SIGKILL'))
        await waitUntil('the container is healthy', () => {
          assert.equal(program.exitCode, null, `the container has ended: ${said}`)
          try {
            return run(healthcheck) !== null
          } catch {
            return false
          }
        })
        return program
      }
      const url = `http://127.0.0.1:${settings.PORT}`
      return { url, entrypoint: Entrypoint, healthcheck, run, serve }
    },
  }
}

/**
 * Ends the container as its platform does, and resolves with its exit code. Only the container's own
 * program gets a signal to stop: buildah passes on its own, and on a busy machine so late that the
 * program takes it for a second wish to stop, which ends it at once.
 */
async function kill(container: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (container.exitCode !== null || container.signalCode !== null) return container.exitCode
  const ended = new Promise<number | null>(resolve => container.once('exit', resolve))
  const group = container.pid as number
  if (signal === 'SIGKILL') process.kill(-group, signal)
  else for (const id of programsOf(group)) process.kill(id, signal)
  return ended
}

/** The IDs of the Node.js processes in a process group, by `proc_pid_stat(5)`. */
function programsOf(group: number): number[] {
  const ids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return ids.map(Number).filter(id => {
    try {
      const afterName = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ').at(-1) ?? ''
      const [, , processGroup] = afterName.split(' ')
      return Number(processGroup) === group && basename(readlinkSync(`/proc/${id}/exe`)) === 'node'
    } catch {
      return false // It has ended meanwhile.
    }
  })
}

function temporaryFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-container-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
