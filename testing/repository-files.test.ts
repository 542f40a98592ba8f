import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { parse } from 'yaml'
import { REPOSITORY } from '../deploy/release/distributions.ts'
import {
  download,
  findProgram,
  installOnce,
  openToolchain,
  runTool,
  UnavailableError,
} from './toolchains.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const WORKFLOWS = globSync('.github/workflows/*.yml', { cwd: ROOT })
const ACTIONLINT = '1.7.12'
const GO_MINOR_MIN = 25

it('the workflows have no fault that actionlint knows of', { timeout: 300_000 }, test => {
  const folder = join(ROOT, 'node_modules/.cache', `actionlint-${ACTIONLINT}`)
  const program = openToolchain(test, 'go', () => {
    const go = findProgram('go')
    const version = runTool([go, 'env', 'GOVERSION'], ROOT).trim()
    if (Number(version.split('.')[1]) < GO_MINOR_MIN) {
      throw new UnavailableError(`actionlint needs Go 1.${GO_MINOR_MIN}, and this is ${version}.`)
    }
    const source = `github.com/rhysd/actionlint/cmd/actionlint@v${ACTIONLINT}`
    installOnce(folder, () => download(['env', `GOBIN=${folder}`, go, 'install', source], ROOT))
    return join(folder, 'actionlint')
  })
  if (program === null) return
  const lint = (...paths: string[]) =>
    runTool([program, '-no-color', '-shellcheck=', '-pyflakes=', ...paths], ROOT)
  lint(...WORKFLOWS)
  const wrong = join(ROOT, 'testing/fixtures/wrong-workflow.yml')
  assert.throws(() => lint(wrong), /undefined variable "secret"/)
})

interface Job {
  'timeout-minutes'?: number
  steps: { uses?: string; run?: string }[]
}
interface Workflow {
  permissions?: unknown
  jobs: Record<string, Job>
}

it('every action is named by its commit, with the version beside it', () => {
  const used = WORKFLOWS.flatMap(path => [...read(path).matchAll(/uses: (.*)$/gm)])
  assert.ok(used.length > 10)
  for (const [, action = ''] of used)
    assert.match(action, /^[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
})

it('every workflow may only read unless a job says otherwise, and every job ends', () => {
  for (const path of WORKFLOWS) {
    const { permissions, jobs } = parse(read(path)) as Workflow
    assert.deepEqual(permissions, { contents: 'read' }, path)
    for (const [name, job] of Object.entries(jobs)) assert.ok(job['timeout-minutes'], name)
  }
})

it('no script of a workflow pastes in what others may have written', () => {
  for (const path of WORKFLOWS) {
    const { jobs } = parse(read(path)) as Workflow
    const scripts = Object.values(jobs).flatMap(({ steps }) => steps.map(({ run = '' }) => run))
    assert.deepEqual(
      scripts.filter(script => script.includes('${{')),
      [],
      path,
    )
  }
})

it('the workflows run the scripts that exist', () => {
  const { scripts } = JSON.parse(read('package.json'))
  const named = WORKFLOWS.flatMap(path => [...read(path).matchAll(/npm run ([\w:]+)/g)])
  assert.ok(named.length >= 3)
  for (const [, name = ''] of named) assert.ok(Object.hasOwn(scripts, name), name)
})

it('issue forms have what GitHub asks for, and each field a name of its own', () => {
  for (const path of ['bug', 'feature'].map(name => `.github/ISSUE_TEMPLATE/${name}.yml`)) {
    const { name, description, body } = parse(read(path))
    assert.ok(name && description, path)
    const fields = body.filter(({ type }: { type: string }) => type !== 'markdown')
    const ids = fields.map(({ id }: { id: string }) => id)
    assert.equal(new Set(ids).size, ids.length)
    for (const { type, attributes } of fields) {
      assert.match(type, /^(textarea|input|dropdown|checkboxes)$/)
      assert.ok(attributes.label, path)
    }
  }
  const [{ url }] = parse(read('.github/ISSUE_TEMPLATE/config.yml')).contact_links
  assert.equal(url, `${REPOSITORY}/security/policy`)
})

it('dependabot looks at folders that hold what it updates', () => {
  const manifests: Record<string, string> = {
    npm: 'package.json',
    pip: '*.txt',
    gomod: 'go.mod',
    'github-actions': '.github/workflows/*.yml',
  }
  const { updates } = parse(read('.github/dependabot.yml'))
  for (const { 'package-ecosystem': kind, directory, directories = [directory] } of updates) {
    for (const folder of directories) {
      assert.ok(globSync(join(ROOT, folder, manifests[kind] ?? '')).length > 0, `${kind} ${folder}`)
    }
  }
})

it('the code belongs to teams, and not to people', () => {
  const owners = read('.github/CODEOWNERS').match(/@\S+/g) ?? []
  assert.ok(owners.length > 0)
  const [owner] = REPOSITORY.split('/').slice(-2)
  for (const each of owners) assert.match(each, new RegExp(`^@${owner}/[a-z-]+$`))
})

it('every tool gets the pinned Node.js, and engines what the lockfile asks for', () => {
  const { dependencies, engines } = JSON.parse(read('package.json'))
  assert.equal(read('.node-version'), `${dependencies.node}\n`)
  const { features } = JSON.parse(read('.devcontainer/devcontainer.json'))
  assert.equal(features['ghcr.io/devcontainers/features/node:1'].version, dependencies.node)
  const { packages } = JSON.parse(read('package-lock.json'))
  assert.equal(packages[''].engines.node, engines.node)
  const lowest = toNumber(engines.node.replace('>=', ''))
  const entries = Object.entries<{ engines?: { node?: string }; optional?: boolean }>(packages)
  const tooNew = entries
    .filter(([path, { optional }]) => path !== '' && optional !== true)
    .filter(([, entry]) => !isAllowed(entry.engines?.node ?? '*', lowest))
    .map(([path]) => path)
  assert.deepEqual(tooNew, [])
})

/** Whether a version fits an alternative of a range, by the lower bound and the major of `^`. */
function isAllowed(range: string, version: number): boolean {
  return range.split('||').some(alternative => {
    const [, operator = '', lower = '0'] = /^\s*(>=|\^|~)?\s*v?([\d.]+)/.exec(alternative) ?? []
    if (operator === '>=' || alternative.trim() === '*') return toNumber(lower) <= version
    return toNumber(lower) <= version && lower.split('.')[0] === String(Math.floor(version / 1e6))
  })
}

function toNumber(version: string): number {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  return major * 1e6 + minor * 1e3 + patch
}
