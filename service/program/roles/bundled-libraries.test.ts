import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { bundleLibraries } from '../../../deploy/package/bundle-libraries.ts'
import { BUNDLED_LIBRARIES, BUNDLES_MANIFEST } from './bundled-libraries.ts'

const folder = mkdtempSync(join(tmpdir(), 'signalbox-bundles-'))
before(() => bundleLibraries(folder))
after(() => rmSync(folder, { recursive: true }))

const PROGRAM = `
  import { useBundledLibraries } from ${JSON.stringify(new URL('./bundled-libraries.ts', import.meta.url))}
  useBundledLibraries(process.argv[1])
  const found = {}
  for (const specifier of process.argv.slice(2)) {
    const library = await import(specifier)
    found[specifier] = { url: import.meta.resolve(specifier), exports: Object.keys(library) }
  }
  process.stdout.write(JSON.stringify(found))
`

type Found = Record<string, { url: string; exports: string[] }>

/** What a process of its own loads with the bundles of a folder. */
function load(bundles: string): Found {
  const flags = ['--input-type=module', '--eval', PROGRAM, bundles, ...BUNDLED_LIBRARIES]
  const cwd = join(import.meta.dirname, '../../..')
  return JSON.parse(execFileSync(process.execPath, flags, { cwd, encoding: 'utf8' }))
}

it('loads each library as one file, with the exports of the library', async () => {
  const found = load(folder)
  for (const specifier of BUNDLED_LIBRARIES) {
    assert.ok(found[specifier]?.url.startsWith(pathToFileURL(folder).href), specifier)
    assert.deepEqual(found[specifier]?.exports, Object.keys(await import(specifier)))
  }
})

it('has one copy of what two entries of a library share', async () => {
  const load = (name: string) => import(pathToFileURL(join(folder, `${name}.mjs`)).href)
  const [phones, core] = [await load('libphonenumber-js-min'), await load('libphonenumber-js-core')]
  const { ParseError } = core
  try {
    phones.parsePhoneNumberWithError('1')
    assert.fail('1 is no phone number')
  } catch (error) {
    assert.ok(error instanceof ParseError)
  }
})

it('loads a library as installed when its version is another one', () => {
  const path = join(folder, BUNDLES_MANIFEST)
  const text = readFileSync(path, 'utf8')
  const bundles: { version: string; specifier: string }[] = JSON.parse(text)
  const changed = bundles.map(bundle =>
    bundle.specifier === 'jose' ? { ...bundle, version: '0.0.1' } : bundle,
  )
  writeFileSync(path, JSON.stringify(changed))
  const found = load(folder)
  writeFileSync(path, text)
  assert.match(found.jose?.url ?? '', /node_modules\/jose\//)
  assert.ok(found.kysely?.url.startsWith(pathToFileURL(folder).href))
})

it('loads every library as installed without bundles', () => {
  const found = load(join(folder, 'missing'))
  for (const specifier of BUNDLED_LIBRARIES) {
    assert.match(found[specifier]?.url ?? '', /\/node_modules\//, specifier)
    assert.doesNotMatch(found[specifier]?.url ?? '', /signalbox-bundles/, specifier)
  }
})
