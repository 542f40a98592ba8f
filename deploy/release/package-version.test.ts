import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { API_VERSION } from '../../contract/api-version.ts'
import { ROOT } from '../package/build-package.ts'
import { packageChangelog, releaseChangelog } from './changelogs.ts'
import { fillTemplate, listPlaces, readVersion, setVersion } from './package-version.ts'

const { workspaces } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const MANIFESTS = ['package.json', 'package-lock.json'].concat(
  workspaces.map((folder: string) => `${folder}/package.json`),
)
const PLACES = listPlaces()
/** Versions of the contract and of others, history, and what a release prints again. */
const OTHER_VERSIONS = [
  /^contract\//,
  /^clients\/sdks\/(generate|go\/types\.go|python\/src\/signalbox\/_types\.py)/,
  /^clients\/sdks\/typescript\/src\/contract\.generated\.ts/,
  /^clients\/browser\/dist\//,
  /^(CHANGELOG\.md|docs\/(decisions|guides|filled-gaps\.md)|design\/|deploy\/release\/)/,
  /^docs\/operations\/(erasure|reconciliation|threat-model|test-report)\.md/,
  /^service\/workspaces\/users\/password-hash/,
  /package-lock\.json$|requirements.*\.txt$|(^|\/)vectors\/|go\.sum$/,
]

/** A folder with every file that a release changes. */
function copyPlaces(test: TestContext): string {
  const copy = mkdtempSync(join(tmpdir(), 'signalbox-version-'))
  test.after(() => rmSync(copy, { recursive: true }))
  for (const path of [...MANIFESTS, ...PLACES.map(([place]) => place)]) {
    cpSync(join(ROOT, path), join(copy, path))
  }
  return copy
}

it('knows every file that names the version of the packages', () => {
  const version = readVersion(ROOT)
  const forms = ['{version}', '{dashed}', '{escaped}'].map(form => fillTemplate(form, version))
  const args = forms.flatMap(form => ['-e', form])
  const found = execFileSync('git', ['grep', '-lFI', ...args], { cwd: ROOT, encoding: 'utf8' })
  const unknown = found
    .trim()
    .split('\n')
    .filter(path => !OTHER_VERSIONS.some(other => other.test(path)))
    .filter(path => !MANIFESTS.includes(path) && !PLACES.some(([place]) => place === path))
  assert.deepEqual(unknown, [])
})

it('sets the version in every place, and leaves that of the contract', test => {
  const copy = copyPlaces(test)
  const old = readVersion(ROOT)
  const version = '1.70.0-rc.2'
  const changed = setVersion(copy, version)
  assert.equal(changed.length, PLACES.length + MANIFESTS.length - 1)
  for (const [path, templates] of PLACES) {
    const text = readFileSync(join(copy, path), 'utf8')
    for (const template of templates) {
      assert.ok(text.includes(fillTemplate(template, version)), path)
      assert.ok(!text.includes(fillTemplate(template, old)), path)
    }
  }
  const lockfile = JSON.parse(readFileSync(join(copy, 'package-lock.json'), 'utf8'))
  for (const folder of workspaces as string[]) {
    const manifest = JSON.parse(readFileSync(join(copy, folder, 'package.json'), 'utf8'))
    const expected = folder === 'contract' ? API_VERSION : version
    assert.equal(manifest.version, expected, folder)
    assert.equal(lockfile.packages[folder].version, expected, folder)
  }
  assert.equal(lockfile.packages[''].version, version)
})

it('takes only a newer version, of the forms that every registry takes', test => {
  const copy = copyPlaces(test)
  setVersion(copy, '1.70.0-rc.2')
  const refused = [
    '1.70.0-rc.2',
    '1.70.0-rc.1',
    '1.69.9',
    '1.71',
    'v1.71.0',
    '1.71.0-beta',
    '1.071.0',
  ]
  // From 2.0.0 on, the path of a Go module ends with the major version.
  for (const version of [...refused, '2.0.0']) {
    assert.throws(() => setVersion(copy, version), { name: 'VersionError' }, version)
  }
  assert.equal(readVersion(copy), '1.70.0-rc.2')
  setVersion(copy, '1.70.0-rc.10')
  setVersion(copy, '1.70.0')
  assert.equal(readVersion(copy), '1.70.0')
})

it('changes nothing when one place is not as expected', test => {
  const copy = copyPlaces(test)
  const old = readVersion(copy)
  writeFileSync(join(copy, 'compose.yaml'), 'services: {}\n')
  assert.throws(() => setVersion(copy, '1.70.0'), /compose\.yaml has no text image: signalbox:/)
  assert.equal(readVersion(copy), old)
  const untouched = 'clients/sdks/go/client.go'
  const read = (root: string) => readFileSync(join(root, untouched), 'utf8')
  assert.equal(read(copy), read(ROOT))
})

const CHANGELOG = `# Changelog

## [Unreleased]: next

### Added

- The SDKs send batches ([guide](docs/guides/batches.md)),
  many in one request.
- The dashboard is blue.

### Fixed

- \`signalbox events list\` ends.

## [0.1.0] - 2026-01-01

- The Go client.
`

it('gives each package the entries that name it', () => {
  const released = releaseChangelog(CHANGELOG, '0.2.0', '2026-02-03')
  assert.match(released, /^## \[Unreleased\]\n\n## \[0\.2\.0\] - 2026-02-03\n/m)
  const go = packageChangelog(released, 'go')
  assert.match(go, /^## \[0\.2\.0\] - 2026-02-03\n\n### Added\n\n- The SDKs send batches/m)
  assert.match(
    go,
    /\]\(https:[^)]+\/blob\/main\/docs\/guides\/batches\.md\)\),\n {2}many in one request/,
  )
  assert.doesNotMatch(go, /blue|events list|Go client\.|### Fixed/)
  assert.match(
    packageChangelog(released, 'cli'),
    /### Fixed\n\n- `signalbox events list` ends\.\n$/,
  )
  assert.match(packageChangelog(released, 'server'), /is blue[\s\S]*events list/)
  const again = releaseChangelog(released, '0.3.0', '2026-03-04')
  assert.match(packageChangelog(again, 'go'), /\[0\.3\.0\][\s\S]*unchanged\.\n$/)
  assert.throws(() => releaseChangelog('# Changelog\n', '0.2.0', '2026-02-03'), /no heading/)
})
