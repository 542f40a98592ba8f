import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { assertCommand, assertSettings, ROOT, type Variables } from '../check-deployment.ts'

const FOLDER = import.meta.dirname
const UNITS = globSync('*.service', { cwd: FOLDER }).sort()
const PROGRAM = '/opt/signalbox/'
/** From 0, locked up, to 100. A service without any hardening has 96. */
const EXPOSURE_MAX = '20'

const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

function valuesOf(unit: string, name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)
}

function parsePairs(lines: readonly string[]): Variables {
  return Object.fromEntries(
    lines.map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}

const environmentFile = parsePairs(
  read('signalbox.env')
    .split('\n')
    .filter(line => /^\w/.test(line)),
)

describe('the units of systemd', () => {
  it('start commands that exist', async () => {
    assert.deepEqual(UNITS, [
      'signalbox-deliver.service',
      'signalbox-migrate.service',
      'signalbox-serve.service',
    ])
    for (const name of UNITS) {
      const [command = ''] = valuesOf(read(name), 'ExecStart')
      const [node, program = '', ...argumentList] = command.split(' ')
      assert.equal(node, '/usr/bin/node')
      const source = program.slice(PROGRAM.length).replace(/\.js$/, '.ts')
      assert.ok(program.startsWith(PROGRAM) && existsSync(join(ROOT, source)), program)
      await assertCommand(argumentList)
    }
  })

  it('set only settings that exist, and read every secret from a credential', () => {
    for (const name of UNITS) {
      const unit = read(name)
      const variables = parsePairs(valuesOf(unit, 'Environment'))
      assertSettings({ ...environmentFile, ...variables })
      const files = Object.values(variables).filter(value => value.startsWith('%d/'))
      const credentials = valuesOf(unit, 'LoadCredential').map(value => value.split(':')[0])
      assert.deepEqual(
        files,
        credentials.map(each => `%d/${each}`),
        name,
      )
    }
  })

  it('give the metrics of each role on one machine a port of its own', () => {
    const portOf = (name: string) => {
      const variables = parsePairs(valuesOf(read(name), 'Environment'))
      return assertSettings({ ...environmentFile, ...variables }).metricsPort
    }
    assert.equal(portOf('signalbox-serve.service'), 0, 'two above PORT, so 3002')
    assert.equal(portOf('signalbox-deliver.service'), 3003)
  })

  it('have no fault that systemd-analyze knows of', test => {
    const { folder, paths } = copyUnits(test)
    if (!hasSystemd(test)) return
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', ...paths], {
      encoding: 'utf8',
    })
    const complaints = `${stdout}${stderr}`.split('\n').filter(line => line.includes(folder))
    assert.deepEqual([status, complaints], [0, []])
  })

  it('are hardened as systemd-analyze measures it', test => {
    const { paths } = copyUnits(test)
    if (!hasSystemd(test)) return
    const args = ['security', '--no-pager', '--offline=true', `--threshold=${EXPOSURE_MAX}`]
    for (const path of paths) execFileSync('systemd-analyze', [...args, path], { stdio: 'pipe' })
  })
})

/** The same units with a Node.js that exists here. */
function copyUnits(test: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-units-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const paths = UNITS.map(name => {
    const path = join(folder, name)
    writeFileSync(path, read(name).replace('/usr/bin/node', process.execPath))
    return path
  })
  return { folder, paths }
}

function hasSystemd(test: TestContext): boolean {
  const { stdout = '' } = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' })
  const [, version = '0'] = /^systemd (\d+)/.exec(stdout ?? '') ?? []
  if (Number(version) >= 250) return true
  test.skip('NOT RUN: systemd-analyze 250 or newer is not on PATH')
  return false
}
