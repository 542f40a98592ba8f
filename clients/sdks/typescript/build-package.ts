import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DISTRIBUTIONS, describeSource } from '../../../deploy/release/distributions.ts'

const SOURCE = import.meta.dirname
const COMPILER = join(SOURCE, '../../../node_modules/typescript/bin/tsc')

/**
 * Writes the package as it is published: JavaScript with its types, README and license. In the
 * repository the package is its TypeScript, so that a change needs no build.
 */
export function buildPackage(folder: string): void {
  mkdirSync(join(folder, 'dist'), { recursive: true })
  const project = join(folder, 'tsconfig.json')
  writeFileSync(project, JSON.stringify(projectFor(folder)))
  execFileSync(process.execPath, [COMPILER, '--project', project])
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
  copyFileSync(join(SOURCE, 'README.md'), join(folder, 'README.md'))
  copyFileSync(join(SOURCE, '../../../LICENSE'), join(folder, 'LICENSE'))
}

function projectFor(folder: string) {
  return {
    compilerOptions: {
      target: 'es2022',
      module: 'nodenext',
      lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
      types: [],
      strict: true,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      verbatimModuleSyntax: true,
      rootDir: join(SOURCE, 'src'),
      outDir: join(folder, 'dist'),
    },
    files: [join(SOURCE, 'src/sdk.ts')],
  }
}

function manifest() {
  const { version, license } = JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8'))
  return {
    name: DISTRIBUTIONS.typescript,
    version,
    description: 'Client of the Signalbox API for server-side conversion events.',
    license,
    ...describeSource('clients/sdks/typescript'),
    type: 'module',
    engines: { node: '>=20.19' },
    sideEffects: false,
    exports: { '.': { types: './dist/sdk.d.ts', default: './dist/sdk.js' } },
    files: ['dist', 'CHANGELOG.md'],
  }
}

if (import.meta.main) buildPackage(process.argv[2] ?? join(SOURCE, 'package'))
