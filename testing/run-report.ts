import { join, relative } from 'node:path'
import { Transform } from 'node:stream'
import type { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { notRunLine } from './toolchains.ts'

const ROOT = join(import.meta.dirname, '..')
const SLOWEST_COUNT = 10
const PROGRESS_TESTS = 200

/**
 * What a run prints: failures and counts immediately, because the runner reports files in their
 * order; then the slowest files, the failures and the summary of the runner; and at the end, where
 * it cannot be missed, which SDKs were not tested and why. `seconds` takes the time of each file.
 */
export function reportRun(
  results: ReturnType<typeof run>,
  seconds = new Map<string, number>(),
): NodeJS.ReadableStream {
  const notRun = new Set<string>()
  return results.compose(progress(notRun, seconds)).compose(spec).compose(appendLines(notRun))
}

/** Passes on failures, skips and the summary, and notes what was not run. */
function progress(notRun: Set<string>, seconds: Map<string, number>): Transform {
  const startedAt = performance.now()
  let testCount = 0
  let hasNamedSlowest = false
  return new Transform({
    objectMode: true,
    transform(event, _encoding, done) {
      const { type, data } = event
      const isTest = data.file && data.name !== data.file && !data.name?.endsWith('.test.mjs')
      if (type === 'test:complete' && data.details?.type === 'test' && isTest) {
        testCount += 1
        noteTest(data, seconds)
        const elapsed = Math.round((performance.now() - startedAt) / 1_000)
        if (testCount % PROGRESS_TESTS === 0) write(`${testCount} tests, ${elapsed} s\n`)
      }
      const line = notRunLine(data.skip) ?? notRunLine(data.message)
      if (line !== null) notRun.add(line)
      const isSummary = type === 'test:diagnostic' && /^tests \d+$/.test(data.message)
      if (isSummary && !hasNamedSlowest) {
        hasNamedSlowest = true
        write(slowestFiles(seconds))
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

function noteTest({ name, file, details }: CompletedTest, seconds: Map<string, number>): void {
  seconds.set(file, (seconds.get(file) ?? 0) + details.duration_ms / 1_000)
  if (!details.passed) write(`failed: ${relative(ROOT, file)}: ${name}\n`)
}

/**
 * Lists the tests of a run, so that two runs can be compared: the file, then the titles from the
 * outermost to the test's own, separated by tabs. `test:start` names the parents.
 */
export function listTitles(results: ReturnType<typeof run>): string[] {
  const lines: string[] = []
  const open: string[] = []
  results.on('test:start', ({ name, nesting }) => {
    open.length = nesting
    open.push(name)
  })
  const note = (test: EndedTest) => {
    if (test.details.type === 'suite' || test.file === undefined) return
    lines.push([relative(ROOT, test.file), ...open.slice(0, test.nesting), test.name].join('\t'))
  }
  results.on('test:pass', note)
  results.on('test:fail', note)
  return lines
}

interface EndedTest {
  name: string
  nesting: number
  file?: string
  details: { type?: string | undefined }
}

function isShown(type: string, data: { skip?: unknown; todo?: unknown }): boolean {
  if (type === 'test:start' || type === 'test:complete') return false
  return type !== 'test:pass' || data.skip !== undefined || data.todo !== undefined
}

function slowestFiles(seconds: ReadonlyMap<string, number>): string {
  const lines = listDurations(seconds).slice(0, SLOWEST_COUNT)
  return `\nThe slowest test files:\n${lines.join('\n')}\n\n`
}

/** The files with the seconds of their tests, the slowest first. */
export function listDurations(seconds: ReadonlyMap<string, number>): string[] {
  return [...seconds]
    .sort(([, a], [, b]) => b - a)
    .map(([file, duration]) => `${duration.toFixed(1).padStart(7)} s  ${relative(ROOT, file)}`)
}

/** Before the runner's own text, which waits until a file ends. */
function write(text: string): void {
  process.stdout.write(text)
}

function appendLines(lines: ReadonlySet<string>): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      done(null, chunk)
    },
    flush(done) {
      const text = [...lines].sort().map(line => `${line}\n`)
      done(null, text.join(''))
    },
  })
}
