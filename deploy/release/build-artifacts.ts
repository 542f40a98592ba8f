import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, hash } from 'node:crypto'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buildPackage as buildCli } from '../../clients/cli/build-package.ts'
import { buildPackage as buildSdk } from '../../clients/sdks/typescript/build-package.ts'
import { signCommand } from '../../contract/sign-command.ts'
import { findProgram, installPinnedPython } from '../../testing/toolchains.ts'
import { buildPackage as buildServer, packPackage, ROOT } from '../package/build-package.ts'
import { type ChangelogOf, packageChangelog } from './changelogs.ts'
import { zipGoModule } from './go-module.ts'
import { readVersion } from './package-version.ts'

export const PYTHON_FOLDER = 'clients/sdks/python'
export const GO_FOLDER = 'clients/sdks/go'
const CHART_FOLDER = 'deploy/helm/signalbox'
const BYTES_MAX = 64 * 1024 * 1024

/** File names in the folder of artifacts. */
export interface Artifacts {
  server: string
  cli: string
  typescript: string
  wheel: string
  sdist: string
  go: string
  chart: string
  sbom: string
  contract: string
  keys: string
}

/** Builds everything that a release publishes. `keyPath` is the key that signs the contract. */
export async function buildArtifacts(folder: string, keyPath: string | null): Promise<Artifacts> {
  mkdirSync(folder, { recursive: true })
  const pack = async (name: ChangelogOf, build: (into: string) => unknown) => {
    const path = await packPackage(folder, async into => {
      await build(into)
      writeFileSync(join(into, 'CHANGELOG.md'), changelogOf(name))
    })
    return path.slice(folder.length + 1)
  }
  for (const builder of ['dashboard/build.ts', 'docs/site/build.ts']) runNode([builder])
  const packages = {
    server: await pack('server', buildServer),
    cli: await pack('cli', buildCli),
    typescript: await pack('typescript', buildSdk),
    ...buildPython(folder),
    go: buildGo(folder),
    chart: buildChart(folder),
    sbom: buildSbom(folder),
  }
  const contract = await signContract(folder, keyPath)
  const artifacts = { ...packages, ...contract }
  writeFileSync(join(folder, 'SHA256SUMS'), sumFiles(folder, Object.values(artifacts)))
  return artifacts
}

function changelogOf(name: ChangelogOf): string {
  return packageChangelog(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), name)
}

function runNode(parameters: readonly string[]): void {
  execFileSync(process.execPath, parameters, { cwd: ROOT, stdio: 'pipe' })
}

/** A Python with the pinned tools of a release. Throws an UnavailableError without Python. */
export function openReleasePython(): string {
  const requirements = join(import.meta.dirname, 'requirements.txt')
  return installPinnedPython(findProgram('python'), requirements)
}

const BUILD_PYTHON = `
import sys
from flit_core import buildapi
print(buildapi.build_wheel(sys.argv[1]))
print(buildapi.build_sdist(sys.argv[1]))
`

/** In a copy: the packages have a changelog, which the folder has not. */
function buildPython(folder: string): { wheel: string; sdist: string } {
  const copy = mkdtempSync(join(tmpdir(), 'signalbox-python-'))
  try {
    for (const path of listTracked(PYTHON_FOLDER)) {
      cpSync(join(ROOT, PYTHON_FOLDER, path), join(copy, path))
    }
    writeFileSync(join(copy, 'CHANGELOG.md'), changelogOf('python'))
    const args = ['-c', BUILD_PYTHON, resolve(folder)]
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1' }
    const output = execFileSync(openReleasePython(), args, { cwd: copy, env, encoding: 'utf8' })
    const [wheel = '', sdist = ''] = output.trim().split('\n')
    return { wheel, sdist }
  } finally {
    rmSync(copy, { recursive: true })
  }
}

function buildGo(folder: string): string {
  const version = readVersion(ROOT)
  const copy = mkdtempSync(join(tmpdir(), 'signalbox-go-'))
  try {
    const paths = listTracked(GO_FOLDER)
    for (const path of paths) cpSync(join(ROOT, GO_FOLDER, path), join(copy, path))
    writeFileSync(join(copy, 'CHANGELOG.md'), changelogOf('go'))
    const name = `signalbox-go-${version}.zip`
    writeFileSync(join(folder, name), zipGoModule(copy, [...paths, 'CHANGELOG.md'], version))
    return name
  } finally {
    rmSync(copy, { recursive: true })
  }
}

/** As `helm package` packs it, without Helm and without the time of the build. */
export function buildChart(folder: string): string {
  const name = `signalbox-chart-${readVersion(ROOT)}.tgz`
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mtime=@0', '--sort=name']
  const paths = listTracked(CHART_FOLDER).map(path => `signalbox/${path}`)
  const args = ['--create', '--gzip', ...owner, '--file', join(resolve(folder), name), ...paths]
  execFileSync('tar', args, { cwd: join(ROOT, CHART_FOLDER, '..') })
  return name
}

/** The files of a folder that belong to the repository: in a copy, all but what was built there. */
function listTracked(folder: string): string[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '.']
  const listed = execFileSync('git', args, { cwd: join(ROOT, folder), encoding: 'utf8' })
  return listed.split('\0').filter(path => path !== '')
}

function buildSbom(folder: string): string {
  const name = 'signalbox.cdx.json'
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only']
  const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: BYTES_MAX } as const
  writeFileSync(join(folder, name), execFileSync('npm', args, options))
  return name
}

/** Without a key, a throwaway key signs: enough to see that the document can be signed. */
async function signContract(folder: string, keyPath: string | null) {
  const files = { contract: 'openapi.signed.json', keys: 'jwks.json' }
  const sign = (path: string) =>
    signCommand([
      ...['--key-from', path, '--out', join(folder, files.contract)],
      ...['--jwks-out', join(folder, files.keys)],
    ])
  if (keyPath !== null) {
    await sign(keyPath)
    return files
  }
  const temporary = mkdtempSync(join(tmpdir(), 'signalbox-key-'))
  try {
    const path = join(temporary, 'key.pem')
    const { privateKey } = generateKeyPairSync('ed25519')
    writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
    await sign(path)
    return files
  } finally {
    rmSync(temporary, { recursive: true })
  }
}

/** For `sha256sum --check`. */
function sumFiles(folder: string, names: readonly string[]): string {
  const present = readdirSync(folder)
  const lines = names.toSorted().map(name => {
    if (!present.includes(name)) throw new Error(`${name} was not built.`)
    return `${hash('sha256', readFileSync(join(folder, name)), 'hex')}  ${name}\n`
  })
  return lines.join('')
}
