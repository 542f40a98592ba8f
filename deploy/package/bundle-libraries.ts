import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import {
  BUNDLED_LIBRARIES,
  BUNDLES_FOLDER,
  BUNDLES_MANIFEST,
  type LibraryBundle,
} from '../../service/program/roles/bundled-libraries.ts'
import { collectLicenses } from '../release/library-licenses.ts'

/**
 * Writes the bundles of `useBundledLibraries`: all exports of each library, from the files that
 * Node loads. What two entries of a library share is in a file of its own, so that it exists once.
 * `npm ci` writes them for a checkout, `build-package.ts` for the npm package.
 */
export async function bundleLibraries(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const libraries = await Promise.all(BUNDLED_LIBRARIES.map(readLibrary))
  const commonjs = libraries.filter(({ isCommonjs }) => isCommonjs)
  const builds = await Promise.all([
    bundleModules(
      folder,
      libraries.filter(({ isCommonjs }) => !isCommonjs),
    ),
    ...commonjs.map(library => bundleCommonjs(folder, library)),
  ])
  const inputs = Object.assign({}, ...builds.map(({ metafile }) => metafile.inputs))
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), collectLicenses({ inputs }))
  const bundles = libraries.map(({ specifier, version, file }): LibraryBundle => {
    return { specifier, version, file }
  })
  writeFileSync(join(folder, BUNDLES_MANIFEST), JSON.stringify(bundles, null, 2))
}

interface Library extends LibraryBundle {
  path: string
  /** Of the bundle, without its extension. */
  name: string
  exports: string[]
  isCommonjs: boolean
}

async function readLibrary(specifier: string): Promise<Library> {
  const manifestPath = findPackageJSON(specifier, import.meta.url)
  if (manifestPath === undefined) throw new Error(`${specifier} has no package.json`)
  const { version } = JSON.parse(readFileSync(manifestPath, 'utf8'))
  const exports = Object.keys(await import(specifier))
  // Node names it so in what it makes of CommonJS.
  const isCommonjs = exports.includes('module.exports')
  const name = specifier.replace(/^@/, '').replaceAll('/', '-')
  const file = `${name}.${isCommonjs ? 'cjs' : 'mjs'}`
  const path = fileURLToPath(import.meta.resolve(specifier))
  return { specifier, version, file, path, name, exports, isCommonjs }
}

const OPTIONS = {
  bundle: true,
  platform: 'node',
  target: 'node22',
  // Names stay as they are, for stacks.
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'error',
  metafile: true,
} as const

function bundleModules(outdir: string, libraries: readonly Library[]) {
  return build({
    ...OPTIONS,
    outdir,
    entryPoints: Object.fromEntries(libraries.map(({ name, path }) => [name, path])),
    format: 'esm',
    splitting: true,
    outExtension: { '.js': '.mjs' },
  })
}

/** Node reads the names of its exports from the text of CommonJS, which has none of a bundle. */
function bundleCommonjs(outdir: string, { file, path, exports }: Library) {
  const names = exports.filter(name => !['default', 'module.exports'].includes(name))
  return build({
    ...OPTIONS,
    outfile: join(outdir, file),
    entryPoints: [path],
    format: 'cjs',
    footer: { js: `0 && (module.exports = { ${names.join(', ')} });` },
  })
}

if (import.meta.main) {
  await bundleLibraries(BUNDLES_FOLDER).catch(error => {
    // They are loaded as they are installed then.
    process.stdout.write(`The libraries were not bundled: ${error}\n`)
  })
}
