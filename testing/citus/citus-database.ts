import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { STORE_SCHEMA } from '../../service/program/roles/migrate-command.ts'
import { openDatabase } from '../../service/runtime/db/database.ts'
import { distributeTables } from '../../service/runtime/db/distribute-tables.ts'
import { migrate } from '../../service/runtime/db/migrate.ts'
import { runOnServer } from '../fixtures/database-pool.ts'
import {
  CITUS_CLUSTER,
  type CitusAddresses,
  type CitusCluster,
  startCitusCluster,
} from './cluster.ts'

const TEMPLATE = 'signalbox_citus_template'
const COPY_TRIES_MAX = 20
const COPY_PAUSE_MILLISECONDS = 100

/** A prepared cluster for the tests of one file only, which may stop or add nodes. */
export async function startOwnCluster(): Promise<CitusCluster> {
  const cluster = await startCitusCluster()
  await prepareCitusTemplate(cluster)
  const { connectionString, ports } = cluster
  process.env[CITUS_CLUSTER] = JSON.stringify({ connectionString, ports })
  return cluster
}

/** Tests copy this migrated and distributed database on every node: creating one takes seconds. */
export async function prepareCitusTemplate(cluster: CitusAddresses): Promise<void> {
  await onEachNode(cluster, `create database ${TEMPLATE}`)
  for (const port of cluster.ports) {
    await runOnServer(databaseUrlOf(cluster, port, TEMPLATE), 'create extension citus')
  }
  const coordinator = databaseUrlOf(cluster, coordinatorPort(cluster), TEMPLATE)
  const [first, ...workers] = cluster.ports
  await runOnServer(coordinator, `select citus_set_coordinator_host('127.0.0.1', ${first})`)
  for (const port of workers) {
    await runOnServer(coordinator, `select citus_add_node('127.0.0.1', ${port})`)
  }
  const database = open(coordinator, 2)
  try {
    await migrate(database, STORE_SCHEMA)
    await distributeTables(database, STORE_SCHEMA.placements)
  } finally {
    await database.close()
  }
  await onEachNode(cluster, `alter database ${TEMPLATE} allow_connections false`)
}

/** A migrated, empty database on every node, dropped at the end of the test. */
export async function createCitusDatabase(test: TestContext, cluster: CitusAddresses) {
  const name = `test_${randomBytes(8).toString('hex')}`
  await Promise.all(cluster.ports.map(port => copyTemplate(cluster, port, name)))
  test.after(() => dropDatabases(cluster, name))
  const connectionString = databaseUrlOf(cluster, coordinatorPort(cluster), name)
  const database = open(connectionString, 10)
  test.after(() => database.close())
  return { database, connectionString }
}

/** Ends the maintenance daemon of Citus, which reconnects to the template and prevents a copy. */
async function copyTemplate(cluster: CitusAddresses, port: number, name: string): Promise<void> {
  const server = databaseUrlOf(cluster, port, 'postgres')
  for (let tries = 1; ; tries += 1) {
    try {
      await runOnServer(
        server,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${TEMPLATE}'`,
      )
      await runOnServer(server, `create database ${name} template ${TEMPLATE} strategy file_copy`)
      return
    } catch (error) {
      if (tries === COPY_TRIES_MAX) throw error
      await new Promise(resolve => setTimeout(resolve, COPY_PAUSE_MILLISECONDS))
    }
  }
}

/** Retries, because Citus briefly reconnects to a database whose connections were ended. */
async function dropDatabases(cluster: CitusAddresses, name: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await onEachNode(cluster, `drop database if exists ${name} with (force)`)
      return
    } catch (error) {
      if (tries === COPY_TRIES_MAX) throw error
      await new Promise(resolve => setTimeout(resolve, COPY_PAUSE_MILLISECONDS))
    }
  }
}

async function onEachNode(cluster: CitusAddresses, statement: string): Promise<void> {
  for (const port of cluster.ports)
    await runOnServer(databaseUrlOf(cluster, port, 'postgres'), statement)
}

function coordinatorPort({ ports: [first] }: CitusAddresses): number {
  return first as number
}

function databaseUrlOf({ connectionString }: CitusAddresses, port: number, name: string): string {
  const url = new URL(connectionString)
  url.port = String(port)
  url.pathname = `/${name}`
  return url.href
}

function open(connectionString: string, connectionsMax: number) {
  const options = { connectionString, connectionsMax, applicationName: 'signalbox citus test' }
  return openDatabase({ ...options, hasNoTimeouts: true, onIdleError: () => {} })
}
