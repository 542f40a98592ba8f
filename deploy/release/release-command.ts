import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { UnavailableError } from '../../testing/toolchains.ts'
import { ROOT } from '../package/build-package.ts'
import { buildArtifacts } from './build-artifacts.ts'
import { releaseChangelog } from './changelogs.ts'
import { checkArtifacts } from './check-artifacts.ts'
import { readVersion, setVersion, VersionError } from './package-version.ts'

const USAGE = `Usage:
  npm run release -- VERSION                               sets the version in this checkout
  npm run release -- --build --out FOLDER [--key-from FILE]  builds and checks this version
  npm run release -- --dry-run VERSION [--out FOLDER]      does both in a copy

Nothing is published: the workflow release.yml does that with what --build wrote.`

/** Sets a version, or builds and checks what a release publishes. */
async function runRelease(argumentList: string[]): Promise<number> {
  const options = readArguments(argumentList)
  if (options === null) return fail(USAGE)
  const { version, isDryRun, isBuild, out, keyPath } = options
  if (isDryRun && version !== null) return buildCopy(version, out)
  if (isBuild && out !== null) return build(out, keyPath)
  if (version === null) return fail(USAGE)
  for (const path of prepare(ROOT, version)) process.stdout.write(`${path}\n`)
  return 0
}

function readArguments(args: string[]) {
  const options = {
    'dry-run': { type: 'boolean', default: false },
    build: { type: 'boolean', default: false },
    out: { type: 'string' },
    'key-from': { type: 'string' },
  } as const
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    if (positionals.length > 1 || (values.build && positionals.length > 0)) return null
    return {
      version: positionals[0] ?? null,
      isDryRun: values['dry-run'],
      isBuild: values.build,
      out: values.out === undefined ? null : resolve(values.out),
      keyPath: values['key-from'] ?? null,
    }
  } catch {
    return null
  }
}

function fail(message: string): number {
  process.stderr.write(`${message}\n`)
  return 1
}

/** Sets the version and the heading of the changelog, and prints the tag of pages again. */
function prepare(root: string, version: string): readonly string[] {
  const changelog = join(root, 'CHANGELOG.md')
  const today = new Date().toISOString().slice(0, 10)
  // Before the first write, so that a changelog without its heading changes nothing.
  const released = releaseChangelog(readFileSync(changelog, 'utf8'), version, today)
  const paths = setVersion(root, version)
  writeFileSync(changelog, released)
  const integrity = join(root, 'clients/browser/dist/integrity.json')
  const readDigest = () => JSON.parse(readFileSync(integrity, 'utf8')).sha384
  const old = readDigest()
  execFileSync(process.execPath, ['clients/browser/print-tag.ts'], { cwd: root, stdio: 'pipe' })
  const readme = join(root, 'clients/browser/README.md')
  writeFileSync(readme, readFileSync(readme, 'utf8').replaceAll(old, readDigest()))
  return [...paths, 'CHANGELOG.md', 'clients/browser/dist']
}

async function build(out: string, keyPath: string | null): Promise<number> {
  const version = readVersion(ROOT)
  const artifacts = await buildArtifacts(out, keyPath)
  const lines = await checkArtifacts(out, artifacts, version)
  process.stdout.write(`${lines.join('\n')}\nBuilt and checked ${version} in ${out}.\n`)
  return 0
}

/** Releases in a copy of the files that git knows, so that this checkout stays as it is. */
function buildCopy(version: string, out: string | null): number {
  const home = mkdtempSync(join(tmpdir(), 'signalbox-release-'))
  try {
    const copy = copyRepository(join(home, 'signalbox'))
    prepare(copy, version)
    const program = join(copy, 'deploy/release/release-command.ts')
    const args = [program, '--build', '--out', out ?? join(home, 'artifacts')]
    const { status } = spawnSync(process.execPath, args, { cwd: copy, stdio: 'inherit' })
    return status ?? 1
  } finally {
    rmSync(home, { recursive: true })
  }
}

function copyRepository(copy: string): string {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const listed = execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 })
  for (const path of listed.split('\0')) {
    // A file that was deleted and not yet committed is still listed.
    if (path !== '' && existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(copy, path))
  }
  linkPackages(copy)
  execFileSync('git', ['init', '--quiet'], { cwd: copy })
  return copy
}

/** The installed packages as links, but our own workspaces, which are those of the copy. */
function linkPackages(copy: string): void {
  const installed = join(ROOT, 'node_modules')
  mkdirSync(join(copy, 'node_modules'))
  for (const name of readdirSync(installed)) {
    if (name === '@signalbox') continue
    symlinkSync(join(installed, name), join(copy, 'node_modules', name))
  }
  const { workspaces } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  mkdirSync(join(copy, 'node_modules/@signalbox'))
  for (const folder of workspaces as string[]) {
    const { name } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
    symlinkSync(join(copy, folder), join(copy, 'node_modules', name))
  }
}

try {
  process.exitCode = await runRelease(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof VersionError || error instanceof UnavailableError)) throw error
  process.exitCode = fail(error.message)
}
