import { hash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'

/**
 * Builds the dashboard into `dashboard/dist` with Vite, unless it is there already and no source
 * has changed. Runs with `npm ci` and before `npm start`: a build takes a few seconds, the check
 * some 60 ms.
 */

const ROOT = join(import.meta.dirname, '..')
export const DASHBOARD_FOLDER = join(import.meta.dirname, 'dist')
/** Where the service serves the scripts and styles; their names change with their content. */
export const DASHBOARD_ASSETS_PATH = '/dashboard-assets/'
const DIGEST_FILE = 'sources.sha256'

/** What the build depends on. The lockfile stands for the versions of all packages. */
const SOURCES = [
  'dashboard/{src/**/*,index.html,build.ts}',
  'contract/**/*.ts',
  // The browser prepares an identifier by the rules of the service.
  'service/signals/identity/{identifier-formats,normalize-phone}.ts',
  // Imports map columns as the command line does.
  'clients/cli/src/{*.ts,import/*.ts}',
  'clients/sdks/typescript/src/*.ts',
  'examples/migrate/*.ts',
  'design/*',
  'package-lock.json',
]

const CHART_PACKAGES = [
  ...['recharts', 'victory-vendor', 'd3-\\w+', 'internmap', '@mantine/charts', 'decimal.js-light'],
  ...['@reduxjs', 'redux', 'redux-thunk', 'react-redux', 'reselect', 'immer', 'es-toolkit'],
  // The part that only Redux uses; the rest is in the first load.
  ...['eventemitter3', 'react-is', 'use-sync-external-store/(cjs/use\\S+-)?with-selector'],
]

/**
 * Large libraries that some pages share, each in a chunk of its own, loaded with the first use.
 * React and others that they import stay where they are: a chunk that held them would be in the
 * first load.
 */
const SHARED_CHUNKS = {
  includeDependenciesRecursively: false,
  groups: [
    { name: 'recharts', test: new RegExp(`node_modules/(${CHART_PACKAGES.join('|')})\\b`) },
    { name: 'libphonenumber', test: /node_modules\/libphonenumber-js/ },
  ],
}

/** Builds what is missing or stale. Returns true when it had to build. */
export async function buildDashboard(): Promise<boolean> {
  const digest = digestSources()
  if (readDigest() === digest) return false
  const staging = `${DASHBOARD_FOLDER}.${process.pid}`
  const { build } = await import('vite')
  const { default: react } = await import('@vitejs/plugin-react')
  await build({
    root: import.meta.dirname,
    configFile: false,
    base: DASHBOARD_ASSETS_PATH,
    logLevel: 'warn',
    plugins: [react()],
    // The one with a Buffer of its own.
    resolve: { alias: { 'csv-parse/sync': 'csv-parse/browser/esm/sync' } },
    build: {
      outDir: staging,
      emptyOutDir: true,
      assetsDir: '',
      // A data URL would need `font-src data:` and `img-src data:`; all files are served.
      assetsInlineLimit: 0,
      manifest: 'manifest.json',
      chunkSizeWarningLimit: 700,
      rolldownOptions: {
        preserveEntrySignatures: 'allow-extension',
        output: { codeSplitting: SHARED_CHUNKS },
      },
    },
  })
  for (const name of globSync('**/*.{js,css}', { cwd: staging })) {
    const content = readFileSync(join(staging, name))
    writeFileSync(join(staging, `${name}.gz`), gzipSync(content, { level: 9 }))
    writeFileSync(join(staging, `${name}.br`), brotliCompressSync(content))
  }
  writeFileSync(join(staging, DIGEST_FILE), digest)
  rmSync(DASHBOARD_FOLDER, { recursive: true, force: true })
  mkdirSync(import.meta.dirname, { recursive: true })
  renameSync(staging, DASHBOARD_FOLDER)
  return true
}

function digestSources(): string {
  const files = globSync(SOURCES, { cwd: ROOT, withFileTypes: true })
    .filter(file => file.isFile() && !file.name.includes('.test.'))
    .map(file => join(file.parentPath, file.name))
    .sort()
  const digests = files.map(file => `${file} ${hash('sha256', readFileSync(file))}`)
  return hash('sha256', digests.join('\n').replaceAll(ROOT, ''))
}

function readDigest(): string | null {
  try {
    return readFileSync(join(DASHBOARD_FOLDER, DIGEST_FILE), 'utf8')
  } catch {
    return null
  }
}

if (import.meta.main) {
  const started = performance.now()
  if (await buildDashboard()) {
    const seconds = ((performance.now() - started) / 1_000).toFixed(1)
    process.stdout.write(`Built the dashboard in ${seconds} s.\n`)
  }
}
