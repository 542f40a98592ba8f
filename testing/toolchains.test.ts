import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { findProgram, isRequired, type Language } from './toolchains.ts'

const urlOf = (name: string) => String(pathToFileURL(join(import.meta.dirname, name)))
const SUITE = join(import.meta.dirname, 'generated-clients', 'generated-clients.test.ts')

/** Runs the suites of Python and Go as `npm test` does, with nothing on PATH. */
function runWithEmptyPath(test: TestContext, environment: Record<string, string>): string {
  return runSuite(test, { suite: SUITE, environment })
}

interface SuiteRun {
  suite: string
  environment?: Record<string, string>
}

function runSuite(test: TestContext, { suite, environment = {} }: SuiteRun): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-toolchains-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const program = join(folder, 'run.mjs')
  writeFileSync(
    program,
    `import { run } from 'node:test'
import { reportRun } from '${urlOf('run-report.ts')}'
const results = run({ files: ['${suite}'], testNamePatterns: [/python|oapi|race/] })
reportRun(results).pipe(process.stdout)`,
  )
  const { stdout, stderr } = spawnSync(process.execPath, [program], {
    encoding: 'utf8',
    env: { PATH: '', HOME: folder, ...environment },
  })
  assert.equal(stderr, '')
  return stdout
}

it('repeats what was not run in the last lines of a run', test => {
  const output = runWithEmptyPath(test, {})
  assert.match(output, /^ℹ skipped 2$/m)
  assert.match(output, /^ℹ fail 0$/m)
  assert.deepEqual(output.trimEnd().split('\n').slice(-2), [
    'NOT RUN: go: Go is not on PATH.',
    'NOT RUN: python: Python 3.11 or newer is not on PATH.',
  ])
})

it('fails instead when SIGNALBOX_REQUIRE_SDKS names the languages', test => {
  const output = runWithEmptyPath(test, { SIGNALBOX_REQUIRE_SDKS: 'python,go' })
  assert.match(output, /^ℹ fail 2$/m)
  assert.match(output, /^ℹ skipped 0$/m)
  assert.match(output, /UnavailableError.*: Go is not on PATH\./)
  assert.doesNotMatch(output, /NOT RUN/)
})

it('repeats what a test names as a part that it did not run', test => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-toolchains-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const suite = join(folder, 'part.test.mjs')
  const line = 'NOT RUN: go: -race needs a C compiler.'
  writeFileSync(
    suite,
    `import { it } from 'node:test'
it('without a race', test => test.diagnostic('${line}'))`,
  )
  const lines = runSuite(test, { suite }).trimEnd().split('\n')
  assert.equal(lines.at(-1), line)
})

it('requires the languages that SIGNALBOX_REQUIRE_SDKS lists, and no other', () => {
  const environment = { SIGNALBOX_REQUIRE_SDKS: 'python,go' }
  const languages: Language[] = ['typescript', 'python', 'go']
  assert.deepEqual(
    languages.map(language => isRequired(language, environment)),
    [false, true, true],
  )
  assert.equal(isRequired('go', {}), false)
})

it('refuses a Go that is too old', test => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-go-'))
  test.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'go'), '#!/bin/sh\necho go1.22.12\n', { mode: 0o700 })
  assert.throws(() => findProgram('go', { PATH: `${folder}:/bin` }), {
    name: 'UnavailableError',
    message: 'Go on PATH is go1.22.12, older than 1.23.',
  })
})

it('installs once when several processes need it, also after one was killed', async test => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-toolchains-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const log = join(folder, 'log')
  const program = join(folder, 'install.mjs')
  writeFileSync(
    program,
    `import { appendFileSync, mkdirSync } from 'node:fs'
import { installOnce } from '${urlOf('toolchains.ts')}'
installOnce('${join(folder, 'tools')}', () => {
  appendFileSync('${log}', 'installed\\n')
  mkdirSync('${join(folder, 'tools')}')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
})`,
  )
  // No process has this number: Linux and macOS have smaller ones.
  writeFileSync(join(folder, 'tools.lock'), '99999999')
  const run = promisify(execFile)
  await Promise.all([1, 2, 3].map(() => run(process.execPath, [program])))
  assert.equal(readFileSync(log, 'utf8'), 'installed\n')
  assert.deepEqual(readdirSync(folder).sort(), ['install.mjs', 'log', 'tools'])
})
