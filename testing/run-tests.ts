import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { Transform } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { globalTeardown as stopStore } from './global-setup.ts'

/**
 * `npm test` and `npm run test:full`. Loading the service costs 1.1 to 2 CPU seconds, so the files
 * of a top folder share a process, in groups; a file with hooks of its own, or one that says why it
 * runs alone, gets a process for itself. Everything shares one PostgreSQL.
 */
const ROOT = join(import.meta.dirname, '..')
const FOLDERS =
  '{contract,design,service,graph-simulator,embedded-postgres,browser,sdks,cli,examples,' +
  'benchmarks,docs,testing}'
const GROUP_LINES_MAX = 3_000
const CONCURRENCY = 3
const SLOWEST_COUNT = 10
const PROGRESS_TESTS = 200
const FULL_RUN_ONLY = /^benchmarks\//
const RUNS_ALONE = /^\/\/ Runs alone: |^(before|after|beforeEach|afterEach)\(/m
const STARTS_PROGRAMS = /\bcreateInstallation\(/
/** The others that take 30 CPU seconds or more. */
const LONGEST = ['service/statement-plans.test.ts']

interface TestFile {
  path: string
  source: string
}

const isFull = process.argv.includes('--full')
process.env.SIGNALBOX_TEST_EXTENT = isFull ? 'full' : 'short'
process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules/.cache/signalbox-tests')

const folder = mkdtempSync(join(tmpdir(), 'signalbox-test-groups-'))
const seconds = new Map<string, number>()
let testCount = 0
let hasFailed = false

process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
// The types of Node.js do not know globalSetupPath yet.
const options = {
  files: writeGroups(testFiles()),
  concurrency: CONCURRENCY,
  globalSetupPath: join(import.meta.dirname, 'run-setup.ts'),
}
const results = run(options)
// The runner skips its teardown on a signal, so stop PostgreSQL here.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stopStore().finally(() => process.exit(1)))
}
results.on('test:fail', event => {
  hasFailed ||= event.todo === undefined
})
results.compose(progress()).compose(spec).pipe(process.stdout)
results.once('close', () => {
  if (hasFailed) process.exitCode = 1
})

function testFiles(): TestFile[] {
  const paths = globSync(`${FOLDERS}/**/*.test.ts`, {
    cwd: ROOT,
    exclude: path => path.includes('node_modules'),
  })
  return paths
    .filter(path => isFull || !FULL_RUN_ONLY.test(path))
    .sort()
    .map(path => {
      return { path, source: readFileSync(join(ROOT, path), 'utf8') }
    })
}

/**
 * A group is a generated file that imports its test files. Files that start whole programs and
 * those of LONGEST are each a process of their own, and start first, so that none is left at the
 * end.
 */
function writeGroups(files: TestFile[]): string[] {
  const long = files.filter(isLong)
  const short = files.filter(file => !long.includes(file))
  const alone = short.filter(({ source }) => RUNS_ALONE.test(source))
  const groups: TestFile[][] = []
  for (const file of short.filter(each => !alone.includes(each))) {
    const group = groups.at(-1)
    const isOfGroup =
      group !== undefined &&
      topFolder(group[0] as TestFile) === topFolder(file) &&
      countLines([...group, file]) <= GROUP_LINES_MAX
    if (isOfGroup) group.push(file)
    else groups.push([file])
  }
  return [...[...long, ...alone].map(file => join(ROOT, file.path)), ...groups.map(writeGroup)]
}

function isLong({ path, source }: TestFile): boolean {
  return STARTS_PROGRAMS.test(source) || LONGEST.includes(path)
}

function writeGroup(files: TestFile[], index: number): string {
  const path = join(folder, `group-${index}.test.mjs`)
  const imports = files.map(file => `await import('${pathToFileURL(join(ROOT, file.path))}')\n`)
  writeFileSync(path, imports.join(''))
  return path
}

function topFolder({ path }: TestFile): string {
  return path.slice(0, path.indexOf('/'))
}

function countLines(files: readonly TestFile[]): number {
  return files.reduce((sum, { source }) => sum + source.split('\n').length, 0)
}

/**
 * Prints failures and counts immediately, because the runner reports files in their order. Passes
 * on failures, skips and the summary, and prints the slowest files before the summary.
 */
function progress(): Transform {
  const startedAt = performance.now()
  let hasNamedSlowest = false
  return new Transform({
    objectMode: true,
    transform(event, _encoding, done) {
      const { type, data } = event
      const isTest = data.file && data.name !== data.file && !data.name?.endsWith('.test.mjs')
      if (type === 'test:complete' && data.details?.type === 'test' && isTest) {
        noteTest(data, Math.round((performance.now() - startedAt) / 1_000))
      }
      const isSummary = type === 'test:diagnostic' && /^tests \d+$/.test(data.message)
      if (isSummary && !hasNamedSlowest) {
        hasNamedSlowest = true
        process.stdout.write(slowestFiles())
      }
      if (isShown(type, data)) this.push(event)
      done()
    },
  })
}

interface CompletedTest {
  name: string
  file: string
  details: { passed: boolean; duration_ms: number }
}

function noteTest({ name, file, details }: CompletedTest, elapsed: number): void {
  testCount += 1
  seconds.set(file, (seconds.get(file) ?? 0) + details.duration_ms / 1_000)
  if (!details.passed) process.stdout.write(`failed: ${relative(ROOT, file)}: ${name}\n`)
  if (testCount % PROGRESS_TESTS === 0) process.stdout.write(`${testCount} tests, ${elapsed} s\n`)
}

function isShown(type: string, data: { skip?: unknown; todo?: unknown }): boolean {
  if (type === 'test:start' || type === 'test:complete') return false
  return type !== 'test:pass' || data.skip !== undefined || data.todo !== undefined
}

function slowestFiles(): string {
  const slowest = [...seconds].sort(([, a], [, b]) => b - a).slice(0, SLOWEST_COUNT)
  const lines = slowest.map(
    ([file, duration]) => `${duration.toFixed(1).padStart(7)} s  ${relative(ROOT, file)}`,
  )
  return `\nThe slowest test files:\n${lines.join('\n')}\n\n`
}
