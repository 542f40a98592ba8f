import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'

const LIBRARIES = join(import.meta.dirname, '../../node_modules')

/** The license of every library in a bundle, as most licenses ask. */
export function collectLicenses({ inputs }: Pick<Metafile, 'inputs'>): string {
  const libraries = Object.keys(inputs).flatMap(
    path => /(?<=(^|\/)node_modules\/)(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  )
  return [...new Set(libraries)].sort().map(describeLibrary).join('\n\n')
}

function describeLibrary(library: string): string {
  const path = join(LIBRARIES, library)
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license'].find(each =>
    existsSync(join(path, each)),
  )
  const text = file ? readFileSync(join(path, file), 'utf8').trim() : ''
  return `${name} ${version} (${license})\n${'='.repeat(72)}\n${text}\n`
}
