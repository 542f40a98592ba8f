import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { openToolchain, UnavailableError } from '../../../testing/toolchains.ts'
import { assertEveryCaseRan } from '../behavior-table.ts'
import { printUnicodeTables, UNICODE_TABLES } from './print-unicode.ts'
import {
  GO_MILLISECONDS_MAX,
  GO_TEST,
  MODULE,
  openGo,
  temporaryFolder,
  writeModule,
} from './testing/run-go.ts'

const timeout = GO_MILLISECONDS_MAX
/** The package testing/synctest. The client itself needs Go 1.23. */
const SYNCTEST_MINOR_MIN = 25

it('runs every case of the table, without a race', { timeout }, async test => {
  const go = openGo(test)
  if (!go) return
  const isRecent = openToolchain(test, 'go', () => {
    if (go.minorVersion >= SYNCTEST_MINOR_MIN) return true
    throw new UnavailableError('The table of cases needs Go 1.25, for its simulated time.')
  })
  if (!isRecent) return
  const race = go.hasRaceDetector ? ['-race'] : []
  if (!go.hasRaceDetector) test.diagnostic('NOT RUN: go: -race needs a C compiler.')
  const { code, stdout, output } = await go.run(['test', ...race, '-json', ...GO_TEST, '.'])
  assert.equal(code, 0, output.slice(-4_000))
  const passed = stdout
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as { Action: string; Test?: string })
    .filter(({ Action, Test }) => Action === 'pass' && Test?.startsWith('TestBehavior/'))
  assertEveryCaseRan(passed.map(({ Test = '' }) => Test.slice('TestBehavior/'.length)))
})

it('is formatted, vetted, for WebAssembly too, and has no dependency', { timeout }, async test => {
  const go = openGo(test)
  if (!go) return
  assert.equal(spawnSync('gofmt', ['-l', MODULE], { encoding: 'utf8' }).stdout, '')
  assert.equal((await go.run(['vet', './...'])).output, '')
  const wasm = { GOOS: 'js', GOARCH: 'wasm' }
  assert.equal((await go.run(['vet', '.'], { environment: wasm })).output, '')
  const { stdout } = await go.run(['list', '-m', 'all'])
  assert.equal(stdout, 'github.com/signalbox-events/signalbox/clients/sdks/go\n')
})

it('is held to the language and the library of Go 1.23', { timeout }, async test => {
  const go = openGo(test)
  if (!go) return
  assert.match(readFileSync(join(MODULE, 'go.mod'), 'utf8'), /^go 1\.23$/m)
  const copy = join(temporaryFolder(test), 'module')
  cpSync(MODULE, copy, { recursive: true, filter: path => !path.endsWith('examples') })
  const vetWith = (declaration: string) => {
    writeFileSync(join(copy, 'newer.go'), `package signalbox\n\n${declaration}\n`)
    return go.run(['vet', '.'], { folder: copy })
  }
  const library = await vetWith('import "strings"\n\nvar newer = strings.Lines')
  assert.match(library.output, /strings\.Lines requires go1\.24/)
  const language = await vetWith('var newer = new(1)')
  assert.match(language.output, /requires go1\.26|is not a type/)
})

it('has the tables for Unicode normalization of Node.js', () => {
  assert.equal(readFileSync(UNICODE_TABLES, 'utf8'), printUnicodeTables())
})

it('has no example that starts without its token', { timeout }, async test => {
  const go = openGo(test)
  if (!go) return
  const environment = { SIGNALBOX_TOKEN: '', SIGNALBOX_BASE_URL: 'http://127.0.0.1:1' }
  for (const example of ['nethttp', 'cdnow']) {
    const { code, output } = await go.run(['run', `./examples/${example}`], { environment })
    assert.equal(code, 1, example)
    assert.match(output, /set SIGNALBOX_TOKEN/)
  }
})

it('makes spans of OpenTelemetry with its hooks', { timeout }, async test => {
  const folder = join(MODULE, 'examples/opentelemetry')
  const go = openGo(test, folder)
  if (!go) return
  const { code, output } = await go.run(['test', ...GO_TEST, '-v', '.'], { folder })
  assert.equal(code, 0, output)
  assert.match(output, /--- PASS: TestAttemptsAreSpans/)
})

it('refuses a browser, where anyone could read the token', { timeout }, async test => {
  const go = openGo(test)
  if (!go) return
  const folder = temporaryFolder(test)
  const program = join(folder, 'main.wasm')
  const environment = { GOOS: 'js', GOARCH: 'wasm' }
  writeModule(folder, BROWSER_PROGRAM)
  const built = await go.run(['build', '-o', program, '.'], { folder, environment })
  assert.equal(built.code, 0, built.output)
  const { stdout: root } = await go.run(['env', 'GOROOT'])
  const runIn = (globals: string) => {
    const start = join(folder, 'start.cjs')
    writeFileSync(start, globals)
    const runner = join(root.trim(), 'lib/wasm/wasm_exec_node.js')
    const parameters = ['--require', start, runner, program]
    return spawnSync(process.execPath, parameters, { encoding: 'utf8' }).stdout
  }
  assert.match(runIn('globalThis.window = globalThis.document = {}'), /this is a browser/)
  assert.equal(runIn(''), '<nil>\n')
})

const BROWSER_PROGRAM = `package main

import (
	"fmt"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

func main() {
	_, err := signalbox.New(signalbox.WithToken("t"), signalbox.WithBaseURL("http://127.0.0.1:1"))
	fmt.Println(err)
}
`
