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
  const libraries = BUNDLED_LIBRARIES.map(specifier => ({
    specifier,
    name: specifier.replace(/^@/, '').replaceAll('/', '-'),
  }))
  const { metafile } = await build({
    entryPoints: Object.fromEntries(
      libraries.map(({ name, specifier }) => [name, fileURLToPath(import.meta.resolve(specifier))]),
    ),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    outExtension: { '.js': '.mjs' },
    // Names stay as they are, for stacks.
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'error',
    metafile: true,
  })
  const bundles = libraries.map(({ specifier, name }): LibraryBundle => {
    const manifestPath = findPackageJSON(specifier, import.meta.url)
    if (manifestPath === undefined) throw new Error(`${specifier} has no package.json`)
    const { version } = JSON.parse(readFileSync(manifestPath, 'utf8'))
    return { specifier, version, file: `${name}.mjs` }
  })
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), collectLicenses(metafile))
  writeFileSync(join(folder, BUNDLES_MANIFEST), JSON.stringify(bundles, null, 2))
}

if (import.meta.main) await bundleLibraries(BUNDLES_FOLDER)
