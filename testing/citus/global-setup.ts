import { prepareCitusTemplate } from './citus-store.ts'
import { CITUS_CLUSTER, type CitusCluster, startCitusCluster, whyNoCitus } from './cluster.ts'

let cluster: CitusCluster | undefined

/**
 * One Citus cluster for all test files instead of one PostgreSQL: `testStore` hands out databases
 * of it. Where there can be none, the suites say why and are skipped.
 */
export async function globalSetup(): Promise<void> {
  if (whyNoCitus()) return
  cluster = await startCitusCluster()
  await prepareCitusTemplate(cluster)
  const { connectionString, ports } = cluster
  process.env[CITUS_CLUSTER] = JSON.stringify({ connectionString, ports })
  process.env.SIGNALBOX_TEST_STORE_URL = connectionString
}

export async function globalTeardown(): Promise<void> {
  await cluster?.stop()
}
