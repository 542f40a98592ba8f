// Full run only: a drill of operations.
// Runs alone: starts programs.
import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Credentials } from '../../../service/program/provisioning/credentials-file.ts'
import { startEventLoad } from '../../crash/event-load.ts'
import { PageClient } from '../../fixtures/page-client.ts'
import { createInstallation, startSimulatorProcess } from '../../fixtures/program.ts'
import { queryStore } from '../../fixtures/query-store.ts'
import { waitUntil } from '../../fixtures/wait-until.ts'
import { startTcpProxy, withPort } from '../tcp-proxy.ts'
import { readPageScript } from './page-commands.ts'
import { createPostgresHost, isWithoutPostgres } from './postgres-cluster.ts'

const PAGE = 'docs/operations/postgresql.md'
const LAG_SECONDS_MAX = 3
const LOAD_MILLISECONDS = 3_000

it('a replica that lags, hangs or goes away fails no list', {
  skip: isWithoutPostgres,
}, async test => {
  const { standby, address, environment } = await startServers(test)
  const place = createInstallation(test)
  const program = await place.startReady({ environment })
  const keys = place.credentials()
  const [, metricsUrl = ''] = await program.waitForOutput(/^ {2}metrics {6}(\S+)$/m)
  const countReads = async () => readCounts(await (await fetch(metricsUrl)).text())
  const owner = await signIn(program.url, keys)
  const path = `/browser/workspaces/${keys.workspace_id}/trackers/${keys.tracker_id}`

  const load = startEventLoad({ connections: 4, pauseMilliseconds: 20, target: () => keys })
  const statuses = new Map<number, number>()
  let isReading = true
  const reading = readLists(owner, path, () => isReading, statuses)
  const untilCounted = (result: string) => async () => {
    const before = (await countReads())[result] ?? 0
    await waitUntil(`a read is counted as ${result}`, async () => {
      return ((await countReads())[result] ?? 0) > before
    })
  }
  const [fromReplica, forLag, whileAway] = ['replica', 'lag', 'away'].map(untilCounted)

  await fromReplica?.()
  await delay(LOAD_MILLISECONDS)
  const kept = await countReads()
  await queryStore(standby.connectionString, 'select pg_wal_replay_pause()')
  await forLag?.()
  await queryStore(standby.connectionString, 'select pg_wal_replay_resume()')
  await fromReplica?.()
  address.setMode({ mode: 'swallow', direction: 'response' })
  await whileAway?.()
  address.reset()
  await fromReplica?.()
  await standby.stop('immediate')
  await whileAway?.()
  await standby.start()
  await fromReplica?.()

  // A session that changed something sees what it did.
  const { status } = await owner.call('PATCH', path, { body: { name: 'Renamed' } })
  assert.equal(status, 204)
  assert.ok(owner.cookies.has('signalbox_wrote'))
  await untilCounted('own_write')()

  await load.stop()
  isReading = false
  await reading
  assert.deepEqual([...statuses.keys()], [200], JSON.stringify([...statuses]))
  assert.deepEqual(load.unexpectedResponses, [])
  const counts = await countReads()
  test.diagnostic(
    `${statuses.get(200)} lists while the standby lagged, hung and was killed: ` +
      `${JSON.stringify(counts)}; before: ${JSON.stringify(kept)}; ` +
      `${load.acknowledged.size} events accepted meanwhile`,
  )
})

/** A primary with an asynchronous standby, which the service reaches through a proxy. */
async function startServers(test: TestContext) {
  const platformUrl = await startSimulatorProcess(test)
  const host = await createPostgresHost(test)
  const primary = await host.createServer('primary')
  const standby = await host.defineServer('standby')
  const values = { '/var/lib/postgresql/replica': standby.dataFolder }
  const run = (begins: string) =>
    host.runScript(readPageScript({ page: PAGE, begins, values }), primary.environment)
  await run('psql --command="select pg_create_physical_replication_slot')
  await run('pg_basebackup')
  await standby.start()
  const address = await startTcpProxy(standby.port)
  test.after(address.close)
  const environment = {
    DATABASE_URL: primary.connectionString,
    SIGNALBOX_REPLICA_URL: withPort(standby.connectionString, address.port),
    SIGNALBOX_REPLICA_LAG_SECONDS_MAX: String(LAG_SECONDS_MAX),
    SIGNALBOX_PLATFORM_URL: platformUrl,
    SIGNALBOX_TRACKER_RATE_PER_SECOND: '0',
    SIGNALBOX_HTTP_WORKERS: '1',
  }
  return { standby, address, environment }
}

async function signIn(
  url: string,
  { owner_email, owner_password }: Credentials,
): Promise<PageClient> {
  const owner = new PageClient(url)
  await owner.get('/sign-in')
  const fields = { email: owner_email ?? '', password: owner_password ?? '' }
  const { status } = await owner.submit({ action: '/sign-in', fields })
  assert.equal(status, 200)
  return owner
}

const LISTS = ['events', 'flow', 'issues', 'refusals', 'reports/match-quality']

/** Reads one list after another, as pages that are open do. */
async function readLists(
  owner: PageClient,
  path: string,
  isReading: () => boolean,
  statuses: Map<number, number>,
): Promise<void> {
  for (let round = 0; isReading(); round += 1) {
    const { status } = await owner.call('GET', `${path}/${LISTS[round % LISTS.length]}`)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    await delay(50)
  }
}

function readCounts(page: string): Record<string, number> {
  const series = page.matchAll(/^signalbox_replica_reads_total\{result="(\w+)"\} (\d+)$/gm)
  return Object.fromEntries([...series].map(([, result, count]) => [result, Number(count)]))
}
