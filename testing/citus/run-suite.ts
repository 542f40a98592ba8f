import { spawn } from 'node:child_process'
import { prepareCitusTemplate } from './citus-database.ts'
import {
  CITUS_CLUSTER,
  type CitusCluster,
  findCitusObstacle,
  startCitusCluster,
} from './cluster.ts'

/**
 * `npm run test:citus`: the tests that need a cluster, and every test of a store. With arguments
 * (`npm run test:citus -- FILE...`), only those test files.
 */
const SUITE = ['{testing/citus,benchmarks}/*.on-cluster.ts', 'service/**/*store.test.ts']
/** If a statement waits forever for another node, its test fails and the run continues. */
const TEST_MILLISECONDS_MAX = 180_000

/** Forces the exit, because a failed test may leave a connection open. */
const OPTIONS = [
  '--test',
  '--test-concurrency=1',
  `--test-timeout=${TEST_MILLISECONDS_MAX}`,
  '--test-force-exit',
]

let cluster: CitusCluster | undefined

const reason = findCitusObstacle()
if (reason) {
  process.stdout.write(`Skipped: ${reason}.\n`)
} else {
  // Not as the runner's global setup, because a forced exit skips its teardown.
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

/**
 * Starts one Citus cluster for all test files instead of one PostgreSQL: `createTestDatabase`
 * creates its databases there. If the machine cannot run a cluster, the suites are skipped with
 * the reason.
 */
async function globalSetup(): Promise<void> {
  if (findCitusObstacle()) return
  cluster = await startCitusCluster()
  await prepareCitusTemplate(cluster)
  const { connectionString, ports } = cluster
  process.env[CITUS_CLUSTER] = JSON.stringify({ connectionString, ports })
  process.env.SIGNALBOX_TEST_STORE_URL = connectionString
}

async function globalTeardown(): Promise<void> {
  await cluster?.stop()
}
