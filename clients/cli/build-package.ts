import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { DISTRIBUTIONS, describeSource } from '../../deploy/release/distributions.ts'
import { collectLicenses } from '../../deploy/release/library-licenses.ts'

const SOURCE = import.meta.dirname
const ROOT = join(SOURCE, '../..')

/**
 * Writes the package as it is published: one file for what every command needs and one for each
 * group, so that a start reads little. Libraries are in it, except the SDK.
 */
export function buildPackage(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const { metafile } = buildSync({
    entryPoints: [join(SOURCE, 'src/main.ts')],
    absWorkingDir: ROOT,
    outdir: join(folder, 'dist'),
    bundle: true,
    splitting: true,
    minify: true,
    keepNames: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.12',
    external: [DISTRIBUTIONS.typescript],
    banner: { js: REQUIRE },
    metafile: true,
  })
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), collectLicenses(metafile))
  copyFileSync(join(SOURCE, 'README.md'), join(folder, 'README.md'))
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
}

/** Libraries of CommonJS ask for modules of Node.js with `require`. */
const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module';" +
  'const require = __createRequire(import.meta.url);'

function manifest() {
  const { version, license } = JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8'))
  return {
    name: DISTRIBUTIONS.cli,
    version,
    description: 'Command line of the Signalbox API for server-side conversion events.',
    license,
    ...describeSource('clients/cli'),
    type: 'module',
    engines: { node: '>=22.12' },
    bin: { signalbox: './dist/main.js' },
    files: ['dist', 'CHANGELOG.md', 'THIRD-PARTY-LICENSES'],
    dependencies: { [DISTRIBUTIONS.typescript]: version },
  }
}

if (import.meta.main) buildPackage(process.argv[2] ?? join(SOURCE, 'package'))
