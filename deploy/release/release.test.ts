// Full run only: builds every artifact; package-version.test.ts is in every run.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { findProgram, openToolchain } from '../../testing/toolchains.ts'
import { ROOT } from '../package/build-package.ts'
import { openReleasePython } from './build-artifacts.ts'

const timeout = 400_000
const run = (...args: string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, 'release-command.ts'), ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  })
const listChanges = () =>
  execFileSync('git', ['status', '--porcelain', '--untracked-files=all'], { cwd: ROOT }).toString()

it('builds and checks every artifact of a version, and changes no file', { timeout }, test => {
  if (openToolchain(test, 'python', openReleasePython) === null) return
  if (openToolchain(test, 'go', () => findProgram('go')) === null) return
  const out = mkdtempSync(join(tmpdir(), 'signalbox-artifacts-'))
  test.after(() => rmSync(out, { recursive: true }))
  const before = listChanges()
  const { status, stdout, stderr } = run('--dry-run', '1.999.0', '--out', out)
  assert.equal(status, 0, stderr)
  assert.equal(listChanges(), before)
  assert.deepEqual(readdirSync(out).toSorted(), [
    'SHA256SUMS',
    'jwks.json',
    'openapi.signed.json',
    'signalbox-1.999.0.tgz',
    'signalbox-chart-1.999.0.tgz',
    'signalbox-go-1.999.0.zip',
    'signalbox-sdk-1.999.0.tgz',
    'signalbox-server-1.999.0.tgz',
    'signalbox.cdx.json',
    'signalbox_events-1.999.0-py3-none-any.whl',
    'signalbox_events-1.999.0.tar.gz',
  ])
  for (const check of [
    'publint',
    'attw',
    'twine check',
    'go vet',
    'schema of the values',
    'signature is valid',
  ]) {
    assert.ok(stdout.includes(check), check)
  }
  const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n')
  assert.equal(sums.length, 10)
  for (const [sum = '', name = ''] of sums.map(line => line.split('  '))) {
    assert.equal(hash('sha256', readFileSync(join(out, name)), 'hex'), sum, name)
  }
  const packages = ['signalbox-sdk-1.999.0.tgz', 'signalbox-1.999.0.tgz']
  const program = join(installInEmptyProject(out, packages), 'node_modules/.bin/signalbox')
  assert.equal(execFileSync(program, ['--version'], { encoding: 'utf8' }), '1.999.0\n')
})

function installInEmptyProject(out: string, packages: readonly string[]): string {
  const project = join(out, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"private": true}')
  const paths = packages.map(name => join(out, name))
  const args = ['install', '--offline', '--no-audit', '--no-fund', ...paths]
  execFileSync('npm', args, { cwd: project, stdio: 'pipe' })
  return project
}

it('says how it is used, and refuses a version that is not newer', () => {
  for (const args of [[], ['--dry-run'], ['--build'], ['--unknown'], ['1.7.0', '1.8.0']]) {
    const { status, stderr } = run(...args)
    assert.equal(status, 1)
    assert.match(stderr, /^Usage:/)
  }
  const { status, stderr } = run('0.0.1')
  assert.equal(status, 1)
  assert.match(stderr, /^0\.0\.1 is not newer than \d/)
})
