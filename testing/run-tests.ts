import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { run } from 'node:test'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { globalTeardown as stopStore } from './global-setup.ts'
import { listDurations, listTitles, reportRun } from './run-report.ts'

/**
 * `npm test` and `npm run test:full`. Loading the service costs 1.1 to 2 CPU seconds, and code that
 * V8 has compiled well is a fifth cheaper, so the files of a top folder share processes, in groups;
 * a file with hooks of its own, or one that says why it runs alone, gets a process for itself.
 * Everything shares one PostgreSQL.
 */
const ROOT = join(import.meta.dirname, '..')
/** No list of folders to run: a new one would be forgotten. */
const NO_SOURCES = /^(node_modules|dist.*|\..+)$/
const GROUP_LINES_MAX = 9_000
/** More than cores: a process waits for PostgreSQL, browsers and programs a third of its time. */
const CONCURRENCY = 5
/** The long proofs say so themselves, with a reason. */
const FULL_RUN_ONLY = /^\/\/ Full run only: /m
const RUNS_ALONE = /^\/\/ Runs alone: |^(before|after|beforeEach|afterEach)\(/m
const STARTS_PROGRAMS = /\bcreateInstallation\(/
/** The others that take 30 CPU seconds or more. */
const LONGEST = ['service/statement-plans.test.ts']

interface TestFile {
  path: string
  source: string
}

const { values, positionals: folders } = readArguments()
const { full: isFull, titles: titlesFile, durations: durationsFile } = values
const isPart = folders.length > 0
process.env.SIGNALBOX_TEST_EXTENT = isFull ? 'full' : 'short'
process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules/.cache/signalbox-tests')

const folder = mkdtempSync(join(tmpdir(), 'signalbox-test-groups-'))
let hasFailed = false

process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
// The types of Node.js do not know globalSetupPath yet.
const options = {
  files: writeGroups(testFiles()),
  concurrency: CONCURRENCY,
  // Only all tests together reach every response of the contract.
  globalSetupPath: join(import.meta.dirname, isPart ? 'global-setup.ts' : 'run-setup.ts'),
}
const results = run(options)
// The runner skips its teardown on a signal, so stop PostgreSQL here.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stopStore().finally(() => process.exit(1)))
}
results.on('test:fail', event => {
  hasFailed ||= event.todo === undefined
})
const titles = listTitles(results)
const seconds = new Map<string, number>()
reportRun(results, seconds).pipe(process.stdout)
results.once('close', () => {
  if (titlesFile !== undefined) writeLines(titlesFile, titles.sort())
  if (durationsFile !== undefined) writeLines(durationsFile, listDurations(seconds))
  if (hasFailed) process.exitCode = 1
})

function writeLines(path: string, lines: readonly string[]): void {
  writeFileSync(path, `${lines.join('\n')}\n`)
}

function readArguments() {
  return parseArgs({
    /** Only the files below these folders: `npm test -- service/delivery docs`. */
    allowPositionals: true,
    options: {
      /** Everything: all seeds, all long proofs. */
      full: { type: 'boolean', default: false },
      /** A file for the sorted titles of all tests, to compare two runs. */
      titles: { type: 'string' },
      /** A file for the seconds of each test file. */
      durations: { type: 'string' },
    },
  })
}

function testFiles(): TestFile[] {
  const paths = globSync('**/*.test.ts', {
    cwd: ROOT,
    exclude: path => NO_SOURCES.test(basename(path)),
  })
  return paths
    .filter(path => !isPart || folders.some(folder => path.startsWith(folder)))
    .sort()
    .map(path => {
      return { path, source: readFileSync(join(ROOT, path), 'utf8') }
    })
    .filter(({ source }) => isFull || !FULL_RUN_ONLY.test(source))
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

/**
 * No test of a group begins before all files are loaded. Otherwise the tests of a small first file
 * may end while the next one loads; Node then takes the group for finished and runs the hooks that
 * end its services, and nothing ends those that later tests start: the group never ends.
 */
function writeGroup(files: TestFile[], index: number): string {
  const path = join(folder, `group-${index}.test.mjs`)
  const imports = files.map(file => `await import('${pathToFileURL(join(ROOT, file.path))}')`)
  const lines = [
    "import { before } from 'node:test'",
    'const { promise, resolve } = Promise.withResolvers()',
    'before(() => promise)',
    ...imports,
    'resolve()',
  ]
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

function topFolder({ path }: TestFile): string {
  return path.slice(0, path.indexOf('/'))
}

function countLines(files: readonly TestFile[]): number {
  return files.reduce((sum, { source }) => sum + source.split('\n').length, 0)
}
