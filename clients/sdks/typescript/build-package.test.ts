import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildSync } from 'esbuild'
import { buildPackage } from './build-package.ts'

const GZIPPED_BYTES_MAX = 12 * 1_024

const folder = mkdtempSync(join(tmpdir(), 'signalbox-sdk-'))
const built = join(folder, 'package')
buildPackage(built)
after(() => rmSync(folder, { recursive: true }))

function bundledBytes(source: string): number {
  const entry = join(built, 'entry.js')
  writeFileSync(entry, source)
  const options = { bundle: true, minify: true, format: 'esm', write: false } as const
  const [file] = buildSync({ entryPoints: [entry], ...options }).outputFiles
  return gzipSync(file?.contents ?? '').byteLength
}

it('has at most 12 KB, minified and gzipped', () => {
  const bytes = bundledBytes("export * from './dist/sdk.js'")
  assert.ok(bytes <= GZIPPED_BYTES_MAX, `${bytes} bytes`)
})

it('leaves out what a program does not import', () => {
  assert.ok(bundledBytes("export { consent } from './dist/sdk.js'") < 1_000)
})

it('has no fault that publint and attw know of', () => {
  const tool = (name: string, args: string[]) => {
    const path = join(import.meta.dirname, '../../../node_modules', name)
    return execFileSync(process.execPath, [path, ...args], { cwd: built, encoding: 'utf8' })
  }
  assert.match(tool('publint/src/cli.js', ['--strict', '.']), /All good/)
  tool('@arethetypeswrong/cli/dist/index.js', ['--pack', '.', '--profile', 'esm-only'])
})

it('works in an empty project when it is packed and installed', () => {
  const npm = (args: string[], cwd: string) =>
    execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const packed = npm(['pack', '--silent', '--pack-destination', folder], built).trim()
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"private": true, "type": "module"}')
  npm(['install', '--offline', '--no-audit', '--no-fund', join(folder, packed)], project)
  writeFileSync(
    join(project, 'main.js'),
    `import { Signalbox, hash } from '@signalbox/sdk'
new Signalbox({ token: 'sbx_sk_1', baseUrl: 'http://127.0.0.1:1' })
console.log(await hash.email('John_Smith@gmail.com'))`,
  )
  const output = execFileSync(process.execPath, ['main.js'], { cwd: project, encoding: 'utf8' })
  assert.match(output, /^62a14e44f765419d/)
})
