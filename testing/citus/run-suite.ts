import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startOwnCluster } from './citus-database.ts'
import { CITUS_FOLDER, type CitusCluster, findCitusObstacle } from './cluster.ts'

/**
 * `npm run test:citus`: the tests that need a cluster, and every test of a store. With arguments
 * (`npm run test:citus -- FILE...`), only those test files. On a machine without Citus it prints
 * why and ends with 0.
 */
const SUITE = ['**/*.on-cluster.ts', 'service/**/*store.test.ts']
/** If a statement waits forever for another node, its test fails and the run continues. */
const TEST_MILLISECONDS_MAX = 180_000

/** Forces the exit, because a failed test may leave a connection open. */
const OPTIONS = [
  '--test',
  '--test-concurrency=1',
  `--test-timeout=${TEST_MILLISECONDS_MAX}`,
  '--test-force-exit',
]

const chosen = process.argv.slice(2)
const files = chosen.length > 0 ? globSync(chosen) : findSuite()
const reason = findCitusObstacle()
if (reason) {
  process.stdout.write(`Skipped: ${reason}.\n`)
  process.stdout.write(`Citus: 0 of ${files.length} test files run, all skipped.\n`)
} else {
  process.exitCode = await runOnCluster(files)
}

/** No list of folders to run: a new one, or one that moves, would be forgotten. */
function findSuite(): string[] {
  return globSync(SUITE, { exclude: path => path.split('/').includes('node_modules') })
}

/** The status of the test runner. No process and no file is left, whatever ends the run. */
async function runOnCluster(paths: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-citus-suite-'))
  chmodSync(folder, 0o755)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  process.env[CITUS_FOLDER] = folder
  let tests: ChildProcess | undefined
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => (tests ? tests.kill(signal) : process.exit(1)))
  }
  // Not as the runner's global setup, because a forced exit skips its teardown.
  const cluster = await startSharedCluster()
  try {
    tests = spawn(process.execPath, [...OPTIONS, ...paths], { stdio: 'inherit' })
    return await exitStatus(tests)
  } finally {
    await cluster.stop()
  }
}

/** For all test files: `createTestDatabase` creates its databases there. */
async function startSharedCluster(): Promise<CitusCluster> {
  const cluster = await startOwnCluster()
  process.env.SIGNALBOX_TEST_STORE_URL = cluster.connectionString
  return cluster
}

function exitStatus(child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  child.once('error', reject)
  child.once('exit', status => resolve(status ?? 1))
  return promise
}
