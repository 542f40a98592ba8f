import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isShortRun } from '../../testing/fixtures/seeded-random.ts'
import { findProgram, installPinnedPython, openToolchain } from '../../testing/toolchains.ts'
import {
  assertCommand,
  assertSettings,
  assertSimulatorSettings,
  DEPENDENCIES,
  ROOT,
  readYaml,
  type Variables,
  VERSION,
} from '../check-deployment.ts'
import { REPOSITORY } from '../release/distributions.ts'

const containerfile = readFileSync(join(ROOT, 'Containerfile'), 'utf8')
const instructions = containerfile
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\s*\\\n\s*/g, ' ')
  .trim()
  .split(/\n+/)
const finalStage = instructions.slice(instructions.findLastIndex(line => line.startsWith('FROM ')))

function argumentsOf(instruction: string): string[] {
  return finalStage
    .filter(line => line.startsWith(`${instruction} `))
    .map(line => line.slice(instruction.length + 1))
}

/** The values of the image's own environment. */
function imageVariables(): Variables {
  const pairs = argumentsOf('ENV').join(' ').split(' ')
  return Object.fromEntries(pairs.map(pair => pair.split('=') as [string, string]))
}

/** Programs of the image are compiled from a file of the repository. */
function assertProgram(path: string): void {
  assert.match(path, /^\/app\/.*\.js$/)
  assert.ok(existsSync(join(ROOT, path.slice('/app/'.length).replace(/\.js$/, '.ts'))), path)
}

/** The program under the name that the pages use. */
const LINK = /ln --symbolic (\S+) \/usr\/local\/bin\/signalbox-server/

describe('Containerfile', () => {
  it('has the version of Node.js and of Signalbox that the repository has', () => {
    assert.match(containerfile, new RegExp(`^ARG NODE_IMAGE=\\S+/node:${DEPENDENCIES.node}-`, 'm'))
    assert.ok(argumentsOf('LABEL')[0]?.includes(`image.version="${VERSION}"`))
  })

  it('is labeled with its source, the commit and the time of the build', () => {
    const labels = argumentsOf('LABEL').join(' ')
    assert.ok(labels.includes(`org.opencontainers.image.source="${REPOSITORY}"`))
    for (const [label, argument] of [
      ['revision', 'REVISION'],
      ['created', 'CREATED'],
    ]) {
      assert.ok(labels.includes(`org.opencontainers.image.${label}="\${${argument}}"`), label)
      assert.ok(argumentsOf('ARG').includes(`${argument}=""`), argument)
    }
  })

  it('runs as a user without privileges, and its code belongs to root', () => {
    assert.deepEqual(argumentsOf('USER'), ['1000:1000'])
    assert.deepEqual(argumentsOf('COPY'), ['--from=build /app /app'])
    const [, target = ''] = LINK.exec(argumentsOf('RUN').join('\n')) ?? []
    assertProgram(target)
    assert.ok(argumentsOf('RUN').every(line => !line.replace(LINK, '').includes('/app')))
  })

  it('sets only settings that exist, and listens where its ports are published', () => {
    const settings = assertSettings(imageVariables())
    assert.deepEqual(argumentsOf('EXPOSE'), [`${settings.port} ${settings.metricsPort}`])
    assert.deepEqual([settings.host, settings.metricsHost], ['0.0.0.0', '0.0.0.0'])
  })

  it('starts and checks programs of the package, and defaults to a command that exists', async () => {
    const [, node, program = ''] =
      /\["(node)", "(.*)"\]/.exec(argumentsOf('ENTRYPOINT')[0] ?? '') ?? []
    assert.equal(node, 'node')
    assertProgram(program)
    assertProgram(/CMD \["node", "(.*)"\]/.exec(argumentsOf('HEALTHCHECK')[0] ?? '')?.[1] ?? '')
    await assertCommand(JSON.parse(argumentsOf('CMD')[0] ?? ''))
  })

  it('contains no secret: none is named, and the build never sees any', () => {
    assert.doesNotMatch(instructions.join('\n'), /SECRET|PASSWORD|TOKEN|_KEY|DATABASE_URL/)
    const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
    for (const path of ['.git', '.data', '.secrets', '.env*'])
      assert.ok(ignored.includes(path), path)
  })

  it('has no fault that hadolint knows of', {
    skip: isShortRun() ? 'in npm run test:full only' : false,
  }, test => {
    const python = openToolchain(test, 'python', () =>
      installPinnedPython(findProgram('python'), join(import.meta.dirname, 'requirements.txt')),
    )
    if (python === null) return
    const hadolint = join(dirname(python), 'hadolint')
    const options = { cwd: ROOT, encoding: 'utf8' } as const
    assert.equal(execFileSync(hadolint, ['--no-color', 'Containerfile'], options), '')
  })
})

describe('compose.yaml', () => {
  const [compose] = readYaml('compose.yaml')
  const programs = ['migrate', 'serve', 'deliver', 'simulator'].map(name => compose.services[name])

  it('follows the Compose Specification', () => {
    const path = join(import.meta.dirname, 'vectors/compose-spec.json')
    const schema = JSON.parse(readFileSync(path, 'utf8'))
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema)
    assert.ok(validate(compose), JSON.stringify(validate.errors, null, 2))
  })

  it('sets only settings that exist', () => {
    for (const name of ['migrate', 'serve', 'deliver']) {
      const { environment } = compose.services[name]
      assertSettings({ ...imageVariables(), ...environment })
      const files = Object.values<string>(environment).filter(value => value.startsWith('/run/'))
      assert.deepEqual(
        files,
        compose.services[name].secrets.map((secret: string) => `/run/secrets/${secret}`),
      )
    }
    assertSimulatorSettings(compose.services.simulator.environment)
  })

  it('runs commands that exist, without privileges', async () => {
    for (const service of programs) {
      assert.equal(service.image, `signalbox:${VERSION}`)
      assert.deepEqual([service.read_only, service.cap_drop], [true, ['ALL']])
      if (service.entrypoint) assertProgram(service.entrypoint[1])
      else await assertCommand(service.command)
    }
  })

  it('checks the health of each service at a port that it has', () => {
    const addressOf = (name: string) => compose.services[name].healthcheck.test.at(-1)
    const { SIGNALBOX_METRICS_PORT } = imageVariables()
    const { SIMULATOR_PORT } = compose.services.simulator.environment
    assert.equal(addressOf('deliver'), `http://127.0.0.1:${SIGNALBOX_METRICS_PORT}/livez`)
    assert.equal(addressOf('simulator'), `http://127.0.0.1:${SIMULATOR_PORT}/_simulator/health`)
    assert.equal(compose.services.serve.healthcheck, undefined, 'that of the image')
  })

  it('publishes nothing but the HTTP service, to this machine only', () => {
    const published = Object.entries<{ ports?: string[] }>(compose.services).flatMap(
      ([name, { ports = [] }]) => ports.map(port => [name, port]),
    )
    assert.deepEqual(published, [['serve', '127.0.0.1:3000:3000']])
  })

  it('reads every secret from a folder that git and the image leave out', () => {
    for (const { file } of Object.values<{ file: string }>(compose.secrets)) {
      assert.match(file, /^\.secrets\/[\w-]+$/)
    }
    assert.match(readFileSync(join(ROOT, '.gitignore'), 'utf8'), /^\.secrets\/$/m)
  })
})
