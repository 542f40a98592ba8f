import { spawn } from 'node:child_process'
import { whyNoCitus } from './cluster.ts'
import { globalSetup, globalTeardown } from './global-setup.ts'

/**
 * `npm run test:citus`: what only a cluster can show, and every test of a store. With arguments
 * (`npm run test:citus -- FILE...`) those test files only.
 */
const SUITE = ['{testing/citus,benchmarks}/*.on-cluster.ts', 'service/**/*store.test.ts']
/** A statement that waits on another node for ever fails its test instead of the whole run. */
const TEST_MILLISECONDS_MAX = 180_000

/** A test that failed with an open connection must not keep its file from ending. */
const OPTIONS = [
  '--test',
  '--test-concurrency=1',
  `--test-timeout=${TEST_MILLISECONDS_MAX}`,
  '--test-force-exit',
]

const reason = whyNoCitus()
if (reason) {
  process.stdout.write(`Skipped: ${reason}.\n`)
} else {
  // Not by the runner: a forced exit leaves its global teardown out.
  try {
    await globalSetup()
    process.exitCode = await runTests(process.argv.slice(2))
  } finally {
    await globalTeardown()
  }
}

function runTests(files: readonly string[]): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const args = [...OPTIONS, ...(files.length > 0 ? files : SUITE)]
  const tests = spawn(process.execPath, args, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => tests.kill(signal))
  tests.once('error', reject)
  tests.once('exit', status => resolve(status ?? 1))
  return promise
}
