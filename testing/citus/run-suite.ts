import { spawn } from 'node:child_process'
import { prepareCitusTemplate } from './citus-database.ts'
import {
  CITUS_CLUSTER,
  type CitusCluster,
  findCitusObstacle,
  startCitusCluster,
} from './cluster.ts'

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

const reason = findCitusObstacle()
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

let cluster: CitusCluster | undefined

/**
 * One Citus cluster for all test files instead of one PostgreSQL: `createTestDatabase` hands out
 * databases of it. Where there can be none, the suites say why and are skipped.
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
