import { readFileSync } from 'node:fs'
import { findPackageJSON, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CODE_CACHE_FOLDER } from './compile-cache.ts'

/**
 * Libraries of 46 to 373 modules, each of which is one file in the folder of bundles. A module
 * costs 10 to 20 KB in each thread, however small it is: bundles save 14 MB in each
 * (docs/decisions/0074).
 */
export const BUNDLED_LIBRARIES = [
  'typebox',
  'kysely',
  'kysely/migration',
  '@iabgpp/cmpapi',
  '@iabtcf/core',
  'jose',
  'libphonenumber-js/core',
  'libphonenumber-js/min',
  'prom-client',
]

/** `npm ci` writes it (`deploy/package/bundle-libraries.ts`); the npm package comes with one. */
export const BUNDLES_FOLDER = join(
  CODE_CACHE_FOLDER ?? join(import.meta.dirname, '../../..'),
  'libraries',
)
export const BUNDLES_MANIFEST = 'bundles.json'

/** A bundle, and the version of the library that it was made from. */
export interface LibraryBundle {
  specifier: string
  version: string
  /** In the folder of bundles. */
  file: string
}

/**
 * From now on this thread loads the bundles of libraries. A bundle counts for the file that this
 * program would load without it, in the version that it was made from: another version of the
 * library, also one that another library brings along, is loaded as it is installed. Without
 * bundles, all of them are.
 */
export function useBundledLibraries(folder = BUNDLES_FOLDER): void {
  const bundles = readBundles(folder)
  if (bundles.size === 0) return
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const found = nextResolve(specifier, context)
      const bundle = bundles.get(specifier)
      return bundle?.originalUrl === found.url ? { ...found, url: bundle.url } : found
    },
  })
}

interface UsableBundle {
  url: string
  /** The file that Node takes without bundles. */
  originalUrl: string
}

function readBundles(folder: string): Map<string, UsableBundle> {
  try {
    const bundles: LibraryBundle[] = readJson(join(folder, BUNDLES_MANIFEST))
    return new Map(
      bundles.filter(isCurrent).map(({ specifier, file }) => {
        const url = pathToFileURL(join(folder, file)).href
        return [specifier, { url, originalUrl: import.meta.resolve(specifier) }]
      }),
    )
  } catch {
    // Nothing was bundled, or it was bundled by another version of this program.
    return new Map()
  }
}

function isCurrent({ specifier, version }: LibraryBundle): boolean {
  const path = findPackageJSON(specifier, import.meta.url)
  return path !== undefined && readJson<{ version: string }>(path).version === version
}

function readJson<Content>(path: string): Content {
  return JSON.parse(readFileSync(path, 'utf8'))
}
